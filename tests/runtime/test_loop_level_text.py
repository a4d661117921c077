"""The loop level as text: a fixed point of print and parse, and valid for MLIR's own tools."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from native_harness import function, ix
from test_emit_python import PROGRAMS
from test_executor import gather

from gradc.ir.interp import run_function
from gradc.ir.ops import memref
from gradc.ir.ops.func import ModuleOp
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module
from gradc.ir.types import MemRefType, f64
from gradc.passes.lower.emit_llvm import emit


def scratch(b, x, out, _arena):
    held = memref.alloca(b, MemRefType((3,), f64))
    b.memref_store(b.memref_load(x, ix(b, 0)), held, ix(b, 1))
    b.memref_copy(x, out)
    b.kernel_set_size(ix(b, 3), name="n0")


def functions():
    made = [function(arrays, body, name) for name, (body, arrays, _, _) in PROGRAMS.items()]
    return [*made, gather(30, True), function([((3,), f64)] * 2, scratch, "scratch")]


def test_print_and_parse_are_a_fixed_point():
    text = print_module(ModuleOp.build(functions()))
    again = parse_module(text)
    assert print_module(again) == text
    for first, second in zip(functions(), again.functions, strict=True):
        assert emit(first).text == emit(second).text


def test_parsed_functions_run():
    text = print_module(ModuleOp.build(functions()[-1:]))
    x, out = np.arange(3.0), np.zeros(3)
    run_function(parse_module(text).function("scratch"), [x, out, np.zeros(0, np.int8)])
    np.testing.assert_array_equal(out, x)


@pytest.mark.skipif(not shutil.which("mlir-opt-22"), reason="mlir-opt-22 is not installed")
def test_mlir_verifies_the_loop_level():
    found = subprocess.run(
        ["mlir-opt-22", "--allow-unregistered-dialect", "-"],
        input=print_module(ModuleOp.build(functions())),
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert "scf.parallel" in found.stdout and "memref.view" in found.stdout
