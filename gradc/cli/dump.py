"""`gradc dump`: what becomes of a function's gradient, at any stage."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import click

from gradc.cli.arguments import Arguments, describe_argument
from gradc.cli.opt import write_text
from gradc.cli.program_file import ProgramFile, shown
from gradc.compiled import CompiledFunction
from gradc.frontend.location import describe, error_location
from gradc.ir.diagnostic import GradcError
from gradc.signature import Static
from gradc.stages import IR_STAGES, STAGES, Stages


@click.command("dump", short_help="Print a function's gradient at a stage of the compiler.")
@click.argument("target", metavar="FILE.py:FUNCTION")
@click.option("--args", "arguments", default="", help="Example arguments, separated by commas.")
@click.option("--stage", type=click.Choice(STAGES), default="grad", show_default=True)
@click.option("--argnums", help="Positions to differentiate, such as 0 or 0,2.  [default: 0]")
@click.option("--mlir/--pretty", "generic", default=False, help="MLIR's form, or one for people.")
@click.option("-o", "output", default="-", metavar="FILE", help="Where to write the text.")
def command(
    target: str, arguments: str, stage: str, argnums: str | None, generic: bool, output: str
) -> None:
    """Print FUNCTION of FILE.py and its gradient at a stage of the compiler.

    The stages, in order: trace (the function alone), grad, simplified, fused, memory, loops, then
    numba, llvm and asm. A function whose result is not one real scalar gains a cotangent argument.

    \b
    --args describes the arguments, separated by commas:
      f32[128,784]       an array (f64[] is a scalar)
      0.5, 'mean', None  a Python literal, part of the program
      [...], {'k': ...}  a list, a dict (and (...) a tuple) of such values
      name=...           a keyword argument
      @NAME              a value of the file, or what its function NAME returns;
                         a tuple gives several arguments

    Without --argnums a function decorated with gradc.compile keeps its own.
    """
    if generic and stage not in IR_STAGES:
        raise click.ClickException(
            f"the stage {stage} is no MLIR: expected --mlir with a stage of {', '.join(IR_STAGES)}"
        )
    path, colon, name = target.rpartition(":")
    if not (path and colon and name):
        raise click.ClickException(
            f"expected FILE.py:FUNCTION, such as model.py:loss, got {target!r}"
        )
    positions = _positions(argnums)
    example = Arguments(arguments)
    program = ProgramFile(path)
    function = program.find(name)
    args, kwargs = example.build(program.example)
    compiled = _compiled(target, function, positions)
    stages = _traced(target, compiled, args, kwargs)
    if stage != "trace":
        _check_literals(compiled, args)
        with _refusals(target, args, kwargs):
            stages.function("grad")
    write_text(output, _line(stages.text(stage, pretty=not generic)))


def _line(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _positions(text: str | None) -> int | tuple[int, ...] | None:
    if text is None:
        return None
    if not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*,?\s*", text):
        raise click.ClickException(
            f"--argnums: expected positions counted from 0, such as 0 or 0,2, got {text!r}"
        )
    found = tuple(int(part) for part in text.split(",") if part.strip())
    return found[0] if "," not in text else found


def _compiled(
    target: str, function: Any, argnums: int | tuple[int, ...] | None
) -> CompiledFunction:
    if not callable(function) or isinstance(function, type):
        kind = "a class" if isinstance(function, type) else describe_argument(function)
        raise click.ClickException(f"{target} is {kind}: expected a function")
    try:
        compiled = function
        if not isinstance(function, CompiledFunction):
            compiled = CompiledFunction(function)
        return compiled if argnums is None else compiled.with_argnums(argnums)
    except (TypeError, ValueError) as error:
        raise click.ClickException(f"{target}: {error}") from error


def _traced(
    target: str, function: CompiledFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Stages:
    """The stages of the function, traced at the example arguments."""
    _check_call(target, function, args, kwargs)
    with _refusals(target, args, kwargs), contextlib.redirect_stdout(sys.stderr):
        return function.stages_at(args, kwargs)


def _check_literals(function: CompiledFunction, args: tuple[Any, ...]) -> None:
    """ClickException where a number that is to be differentiated is given as a literal."""
    for k in function.argnums:
        value = args[k].value if k < len(args) and isinstance(args[k], Static) else None
        if isinstance(value, float | complex):
            kind = "c128" if isinstance(value, complex) else "f64"
            raise click.ClickException(
                f"argument {k} is the literal {value!r}, which is part of the program and has no "
                f"gradient: write {kind}[] for a number that has one, or choose --argnums"
            )


def _check_call(
    name: str, function: CompiledFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """ClickException where the function does not take arguments of this number and these names."""
    target = function.resolved()
    try:
        signature = inspect.signature(target.function)
    except (TypeError, ValueError):
        return  # written in C: the call itself will tell
    try:
        signature.bind(*target.args, *args, **{**target.keywords, **kwargs})
    except TypeError as error:
        raise click.ClickException(
            f"{name} takes {signature}: {error} for --args {_given(args, kwargs)!r}"
        ) from None


@contextlib.contextmanager
def _refusals(target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Errors about the function or its arguments as one message."""
    try:
        yield
    except GradcError:
        raise
    except click.ClickException:
        raise
    except Exception as error:
        place = describe(error_location(error))
        raise click.ClickException(
            f"{target} with --args {_given(args, kwargs)!r}: {shown(error)}{place}"
        ) from error


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    words = [describe_argument(value) for value in args]
    words += [f"{name}={describe_argument(value)}" for name, value in kwargs.items()]
    return ", ".join(words)
