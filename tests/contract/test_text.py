"""Every operation's programs as text: a fixed point, and MLIR that parsers which are not ours
read."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from contract_cases import SAMPLED, cases, operands, samples
from contract_programs import pullback, sample_program

from gradc.ir.opdef import NOT_DIFFERENTIABLE
from gradc.ir.ops.func import FuncOp, ModuleOp
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module
from gradc.ir.verify import verify


def programs(name: str, dtype: str) -> list[FuncOp]:
    """The op itself, and its rule where it has one, for each sample."""
    found = []
    for sample in samples(name, dtype):
        function = sample_program(SAMPLED[name], operands(sample), sample.attributes)
        found.append(function)
        if SAMPLED[name].vjp is not NOT_DIFFERENTIABLE:
            found.append(pullback(function))
    return found


@pytest.mark.parametrize(("name", "dtype"), cases())
def test_text_is_a_fixed_point(name: str, dtype: str) -> None:
    for function in programs(name, dtype):
        text = print_module(ModuleOp.build([function]))
        module = parse_module(text)
        verify(module)
        assert print_module(module) == text


def one_module() -> str:
    """A program of every operation, or of its rule, for one dtype of each kind, in one module."""
    functions = []
    for name, dtype in cases(("i1", "i8", "ui32", "bf16", "f64", "c64")):
        (function,) = programs(name, dtype)[:2][-1:]
        function.attributes["sym_name"] = f"f{len(functions)}"
        functions.append(function)
    return print_module(ModuleOp.build(functions))


def test_mlir_opt_reads_every_operation() -> None:
    tool = shutil.which("mlir-opt") or shutil.which("mlir-opt-22") or shutil.which("mlir-opt-19")
    if tool is None:
        pytest.skip("mlir-opt is not installed")
    found = subprocess.run(
        [tool, "--allow-unregistered-dialect", "-o", "/dev/null", "-"],
        input=one_module(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[:2000]


def test_xdsl_reads_every_operation() -> None:
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.parser import Parser

    functions = []
    for name, dtype in cases(("f32", "c64", "i32", "i1")):
        function = programs(name, dtype)[0]
        function.attributes["sym_name"] = f"f{len(functions)}"
        functions.append(function)
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    context.load_dialect(Func)
    module = Parser(context, print_module(ModuleOp.build(functions))).parse_module()
    module.verify()
    assert len(list(module.body.block.ops)) == len(functions)
