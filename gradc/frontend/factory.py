"""Compiling a function's syntax tree by itself, in the place of its original.

The tree is put into a factory function whose parameters are the original's free variables, so that
the compiler makes closure variables of them; methods also into a class of the right name, so that
it mangles private names. The factory is never called: the code object inside it is what we want.
"""

from __future__ import annotations
import __future__

import ast
import dis
import sys
from types import CodeType
from typing import Any

_FACTORY = "__gradc_factory__"
_FUTURE_FLAGS = sum(getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
_FUTURE_FLAGS &= ~0x10  # CO_NESTED, a flag of the code and not of the source, has this bit too


def compiled(
    node: ast.FunctionDef | ast.Lambda, code: CodeType, class_name: str, extra: tuple[str, ...] = ()
) -> CodeType | None:
    """The code of `node`, with the free variables of `code` and the names in `extra`.

    node: as `code` was compiled from, or a rewritten form; without decorators and defaults
    class_name: the class around the function, or ''
    """
    body: list[ast.stmt] = [ast.Expr(node) if isinstance(node, ast.Lambda) else node]
    if class_name:
        body = [ast.ClassDef(name=class_name, bases=[], keywords=[], body=body, decorator_list=[])]
    names = [*extra, *code.co_freevars]
    bound = class_name or getattr(node, "name", "")
    if bound and bound not in names:
        # The factory's own binding must not capture the function's use of its (global) name.
        body.insert(0, ast.Global([bound]))
    if class_name:
        # The class makes its own __class__ cell; the function takes the original's by that name.
        names = [name for name in names if name != "__class__"]
    factory = ast.FunctionDef(name=_FACTORY, args=_arguments(names), body=body, decorator_list=[])
    for made in ast.walk(factory):
        if isinstance(made, ast.FunctionDef | ast.ClassDef) and not hasattr(made, "type_params"):
            setattr(made, "type_params", [])  # noqa: B010  (a field since Python 3.12)
    module = ast.Module(body=[factory], type_ignores=[])
    ast.copy_location(factory, node)
    ast.fix_missing_locations(module)
    flags = code.co_flags & _FUTURE_FLAGS
    whole = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    found = _find(whole, code)
    return found.replace(co_qualname=code.co_qualname) if found is not None else None


def is_same_program(one: CodeType, other: CodeType) -> bool:
    """Do two code objects do the same, whatever their positions and the imports around them?"""
    return (
        one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and one.co_freevars == other.co_freevars
        and len(one.co_consts) == len(other.co_consts)
        and _operations(one) == _operations(other)
        and all(map(_is_same_constant, one.co_consts, other.co_consts))
    )


# The compiler calls `module.function()` otherwise than `x.method()`, by the imports it has seen
# in the file; and that moves jumps.
_SKIPPED = frozenset(dis.opmap.get(name, 0) for name in ("CACHE", "PUSH_NULL", "EXTENDED_ARG"))
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_LOAD_ATTR = dis.opmap["LOAD_ATTR"]
_LOAD_METHOD = dis.opmap.get("LOAD_METHOD", _LOAD_ATTR)
_LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
_ATTR_SHIFT = int(sys.version_info >= (3, 12))  # the lowest bit says "method" since then


def _operations(code: CodeType) -> list[tuple[int, int]]:
    """Opcodes and arguments, without what depends on where the function stands."""
    text = code.co_code
    found = []
    for op, argument in zip(text[::2], text[1::2]):
        if op in _SKIPPED:
            continue
        if op in _JUMPS:
            argument = 0
        elif op == _LOAD_GLOBAL:
            argument >>= 1
        elif op == _LOAD_ATTR or op == _LOAD_METHOD:
            op, argument = _LOAD_ATTR, argument >> _ATTR_SHIFT
        found.append((op, argument))
    return found


def _is_same_constant(a: Any, b: Any) -> bool:
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return is_same_program(a, b)
    return type(a) is type(b) and repr(a) == repr(b)


def _arguments(names: list[str]) -> Any:
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )


def _find(container: CodeType, code: CodeType) -> CodeType | None:
    """The first code object named as `code`, searching factory and class bodies only."""
    for constant in container.co_consts:
        if not isinstance(constant, CodeType):
            continue
        if constant.co_name == code.co_name and container.co_name != "<module>":
            return constant
        found = _find(constant, code)
        if found is not None:
            return found
    return None
