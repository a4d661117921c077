"""The rewrite of a user's function to staged operators (AST to AST).

Calls, loads of free variables and globals, attribute and item loads, conditions, iterations, stores
and formatted values go through an `Operators` object (control.py), which the rewritten function
holds in a hidden cell. Everything else is left as it is, with its file name, lines and columns, so
tracebacks and locations are the user's:

    y = np.sin(w) if x.ndim else d["k"]
    y = __gradc__.call(__gradc__.attribute(__gradc__.load_global(np, "np"), "sin"), w)
        if __gradc__.truth(__gradc__.attribute(x, "ndim"), "a conditional expression")
        else __gradc__.indexed(d)["k"]

Stores keep their statement; the object stored into passes through `stored`, so every form of target
works: `a.b, c[i] = v` becomes `__gradc__.stored(a, "b").b, __gradc__.stored(c, None)[i] = v`.

The rewritten function shares the original's globals, closure cells, defaults and name.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from gradc.frontend.codes import when_gone
from gradc.frontend.factory import compiled, is_same_program
from gradc.frontend.scopes import Scope, comprehension_scope, scope_of, stored_names
from gradc.frontend.source import Located, locate, mangle

OPERATORS = "__gradc__"

# These look at their caller's frame, so they must be called from the user's own.
_FRAME_FUNCTIONS = frozenset(
    ("super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__")
)

# By id, as long as the code lives: hashing a code object walks all of its constants.
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.BitOr: "or", ast.BitXor: "xor", ast.BitAnd: "and",
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}

_CODES: dict[int, CodeType | None] = {}  # the rewritten code
_STAGED: set[int] = set()  # codes that are themselves results of the rewrite


def staged(function: FunctionType, operators: Callable[[FunctionType], Any]) -> FunctionType | None:
    """`function` rewritten to staged operators; itself if it already is; None without source.

    operators(function) makes the object whose methods the rewritten code calls.
    """
    code = function.__code__
    if id(code) in _STAGED:
        return function
    new_code = staged_code(code, function.__globals__)
    if new_code is None:
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[OPERATORS] = CellType(operators(function))
    new = FunctionType(
        new_code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in new_code.co_freevars),
    )
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__ = function.__qualname__
    new.__module__ = function.__module__
    new.__doc__ = function.__doc__
    return new


def staged_code(code: CodeType, module_globals: dict[str, Any]) -> CodeType | None:
    """The rewritten code object of a function's code; None without source."""
    key = id(code)
    if key in _CODES:
        return _CODES[key]
    located = locate(code, module_globals)
    new = _rewrite(located, code) if located is not None else None
    if new is not None:
        _remember(new)
    _CODES[key] = new
    when_gone(code, _CODES.pop, key, None)
    return new


def is_staged(function: FunctionType) -> bool:
    """Was this function made by the rewrite (the function itself, or one defined inside it)?"""
    return id(function.__code__) in _STAGED


def _remember(code: CodeType) -> None:
    _STAGED.add(id(code))
    when_gone(code, _STAGED.discard, id(code))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _remember(constant)


def _rewrite(located: Located, code: CodeType) -> CodeType | None:
    plain = _bare(copy.deepcopy(located.node))
    if not _belongs(compiled(plain, code, located.class_name), code, plain):
        return None
    rewriter = Rewriter(frozenset(code.co_freevars), located.class_name)
    new = rewriter.function_body(_bare(copy.deepcopy(located.node)))
    return compiled(new, code, located.class_name, (OPERATORS,))


def _bare(node: Any) -> Any:
    """The function itself: decorators, defaults and annotations belong to the original."""
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    if isinstance(node, ast.FunctionDef):
        node.decorator_list = []
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
    return node


def _belongs(found: CodeType | None, code: CodeType, node: ast.AST) -> bool:
    """Is `code` what the source at its place gives? Not after the file was edited. Test runners
    rewrite `assert` statements, so functions with one are taken on trust."""
    if found is None:
        return False
    trusted = any(isinstance(inner, ast.Assert) for inner in ast.walk(node))
    return trusted or is_same_program(found, code)


class Rewriter(ast.NodeTransformer):
    """Rewrites one function. `free` are its free variables, `class_name` the class around it."""

    def __init__(self, free: frozenset[str], class_name: str) -> None:
        self.free = free
        self.class_name = class_name
        self.scopes: list[Scope] = []

    # -------------------------------------------------------------------------- functions
    def function_body(self, node: Any) -> Any:
        self.scopes.append(scope_of(node))
        if isinstance(node.body, list):
            node.body = self.statements(node.body)
        else:
            node.body = self.visit(node.body)
        self.scopes.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        return self.function_body(node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self.visit(node.args)
        return self.function_body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.bases = [self.visit(b) for b in node.bases]
        node.keywords = [self.visit(k) for k in node.keywords]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        outer = self.class_name
        self.class_name = node.name
        self.scopes.append(scope_of(node))
        node.body = self.statements(node.body)
        self.scopes.pop()
        self.class_name = outer
        return node

    def _comprehension(self, node: Any) -> Any:
        # The first iterable is evaluated outside the comprehension's scope.
        first = node.generators[0]
        first.iter = self.operator("iterate", self.visit(first.iter))
        self.scopes.append(comprehension_scope(node.generators))
        for k, generator in enumerate(node.generators):
            if k and not generator.is_async:
                generator.iter = self.operator("iterate", self.visit(generator.iter))
            generator.target = self.visit(generator.target)
            generator.ifs = [self.truth(i, "`if` of a comprehension") for i in generator.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.scopes.pop()
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # ------------------------------------------------------------------------- statements
    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            result += self._outliving_stores(statement)
            result.append(self.visit(statement))
        return result

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, old in ast.iter_fields(node):
            if isinstance(old, list) and old and isinstance(old[0], ast.stmt):
                setattr(node, field, self.statements(old))
            elif isinstance(old, list):
                old[:] = [self.visit(x) if isinstance(x, ast.AST) else x for x in old]
            elif isinstance(old, ast.AST):
                setattr(node, field, self.visit(old))
        return node

    def _outliving_stores(self, statement: ast.stmt) -> list[ast.stmt]:
        """Checks before a statement that stores to globals or to the root's closure variables."""
        names: list[str] = []
        for target in _targets(statement):
            names += [target] if isinstance(target, str) else stored_names(target)
        checks: list[ast.stmt] = []
        for name in names:
            kind = self.resolve(name)
            if kind != "local":
                check = self.operator("rebound", _constant(name), _constant(kind), like=statement)
                checks.append(ast.copy_location(ast.Expr(check), statement))
        return checks

    def visit_If(self, node: ast.If) -> Any:
        node.test = self.truth(node.test, "`if`")
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> Any:
        node.test = self.truth(node.test, "`while`")
        node.body = self.statements(node.body)
        node.orelse = self.statements(node.orelse)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        target = node.target
        old = self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        name = _constant(_OPERATORS[type(node.op)])
        new = self.operator("augmented", old, self.visit(node.value), name, like=node)
        return ast.copy_location(ast.Assign([target], new), node)

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = self.operator("entered", item.context_expr)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        node.test = self.truth(node.test, "`assert`")
        node.msg = self.visit(node.msg) if node.msg is not None else None
        return node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = self.operator("iterate", node.iter)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        named = [] if node.type is None else ast.walk(node.type)
        if any("TracingError" in (getattr(n, "attr", ""), getattr(n, "id", "")) for n in named):
            return self.generic_visit(node)
        check = ast.Expr(self.operator("caught", like=node))
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(check, node))
        return node

    def visit_match_case(self, node: ast.match_case) -> Any:
        if node.guard is not None:
            node.guard = self.truth(node.guard, "the guard of `case`")
        node.body = self.statements(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if self.scopes[-1].is_class:
            return self.generic_visit(node)
        # Annotations of local variables are never evaluated.
        node.target = self.visit(node.target)
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    # ------------------------------------------------------------------------ expressions
    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node.test = self.truth(node.test, "a conditional expression")
        node.body = self.visit(node.body)
        node.orelse = self.visit(node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        word = "`and`" if isinstance(node.op, ast.And) else "`or`"
        node.values = [self.operator("operand", v, _constant(word)) for v in node.values[:-1]] + [
            node.values[-1]
        ]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        is_text = isinstance(node.left, ast.JoinedStr) or (
            isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes)
        )
        self.generic_visit(node)
        if is_text and isinstance(node.op, ast.Mod):
            node.right = self.operator("formatted", node.right)
            return node
        name = _constant(_OPERATORS[type(node.op)])
        return self.operator("binary", node.left, node.right, name, like=node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        name = _COMPARISONS.get(type(node.ops[0]))
        if name is None or len(node.ops) > 1:
            return node
        left, right = node.left, node.comparators[0]
        if name in ("in", "not in"):  # the methods are the container's
            return self.operator("contained", left, right, _constant(name), like=node)
        return self.operator("binary", left, right, _constant(name), like=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = self.operator("operand", node.operand, _constant("`not`"))
            return node
        if isinstance(node.operand, ast.Constant):
            return node
        name = _constant(_UNARY[type(node.op)])
        return self.operator("unary", node.operand, name, like=node)

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id in ("__class__", "__debug__", OPERATORS):
            return node
        kind = self.resolve(node.id)
        if kind == "local":
            return node
        name = _constant(mangle(node.id, self.class_name))
        return self.operator("load_free" if kind == "free" else "load_global", node, name)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        name = mangle(node.attr, self.class_name)
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return self.operator("attribute", node.value, _constant(name), like=node)
        node.value = self.operator("stored", node.value, _constant(name))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self.operator("indexed", node.value)
        else:
            node.value = self.operator("stored", node.value, _constant(None))
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _FRAME_FUNCTIONS:
            looks_here = function.id not in ("vars", "dir") or not node.args
            if self.resolve(function.id) == "global" and looks_here:
                node.args = [self.visit(a) for a in node.args]
                node.keywords = [self.visit(k) for k in node.keywords]
                return node
        self.generic_visit(node)
        called = ast.Attribute(_operators(), "call", ast.Load())
        new = ast.Call(called, [node.func, *node.args], node.keywords)
        return ast.fix_missing_locations(ast.copy_location(new, node))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        self.generic_visit(node)
        node.value = self.operator("formatted", node.value)
        return node

    # ----------------------------------------------------------------------------- pieces
    def resolve(self, name: str) -> str:
        """'local' (bound in the rewritten text), 'free' (a closure variable) or 'global'."""
        for depth, scope in enumerate(reversed(self.scopes)):
            if name in scope.globals:
                return "global"
            if name in scope.bound and (depth == 0 or not scope.is_class):
                return "local"
        return "free" if mangle(name, self.class_name) in self.free else "global"

    def operator(self, method: str, *arguments: ast.expr, like: ast.AST | None = None) -> ast.Call:
        called = ast.Attribute(_operators(), method, ast.Load())
        new = ast.Call(called, list(arguments), [])
        ast.copy_location(new, like if like is not None else arguments[0])
        return ast.fix_missing_locations(new)

    def truth(self, test: ast.expr, construct: str) -> ast.Call:
        return self.operator("truth", self.visit(test), _constant(construct))


def _targets(statement: ast.stmt) -> list[Any]:
    if isinstance(statement, ast.Assign | ast.Delete):
        return list(statement.targets)
    if isinstance(statement, ast.AugAssign | ast.AnnAssign | ast.For):
        return [statement.target]
    if isinstance(statement, ast.With):
        return [item.optional_vars for item in statement.items if item.optional_vars is not None]
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).split(".")[0] for a in statement.names]
    return []


def _operators() -> ast.Name:
    return ast.Name(OPERATORS, ast.Load())


def _constant(value: Any) -> ast.Constant:
    return ast.Constant(value)
