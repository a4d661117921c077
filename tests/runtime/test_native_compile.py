"""From LLVM text to machine code: vector instructions, other targets, symbols, laziness."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from importlib import metadata

import numpy as np
import pytest
from native_harness import function, ix, program
from test_emit_llvm import elementwise, total

from gradc.ir.ops import arith, scf
from gradc.ir.types import f16, f32, f64
from gradc.passes.lower.emit_llvm import emit
from gradc.runtime import compile, support
from gradc.runtime.compile import CompileError
from gradc.runtime.executor import Executor
from gradc.runtime.objectfile import ObjectFileError, undefined_symbols

X86 = platform.machine() in ("x86_64", "AMD64")
WIDE = ("zmm", "ymm", "xmm")


def assembly(body, arrays):
    return compile.assembly(emit(function(arrays, body)).text)


def packed(text, stem):
    """Is there a vector form of a floating-point instruction, such as vaddpd for "add"?"""
    return any(f"{stem}{kind}" in text for kind in ("pd", "ps"))


@pytest.mark.skipif(not X86, reason="looks at x86 instructions")
def test_elementwise_nests_are_vectorised():
    text = assembly(elementwise(lambda b, x, y: b.arith_addf(x, y), 1000), [((1000,), f64)] * 3)
    assert packed(text, "add")


@pytest.mark.skipif(not X86, reason="looks at x86 instructions")
def test_thirty_arrays_are_vectorised_without_checks():
    """Alias scopes: with run-time checks LLVM gives up above some ten arrays."""

    def scalar(b, *values):
        found = values[0]
        for value in values[1:]:
            found = b.arith_addf(b.arith_mulf(found, value), value)
        return found

    text = assembly(elementwise(scalar, 1000), [((1000,), f32)] * 30)
    assert any(packed(text, stem) for stem in ("fmadd132", "fmadd213", "fmadd231", "mul"))


@pytest.mark.skipif(not X86, reason="looks at x86 instructions")
@pytest.mark.parametrize("fast", [True, False])
def test_reductions_vectorise_only_where_they_may(fast):
    text = assembly(total(1000, fast), [((1000,), f64), ((), f64)])
    assert packed(text, "add") == fast


@pytest.mark.skipif(not X86, reason="looks at x86 instructions")
def test_parallel_bodies_are_vectorised():
    def body(b, x, out, _arena):
        def one(b, i):
            value = b.memref_load(x, i)
            b.memref_store(b.arith_mulf(value, value), out, i)

        scf.parallel(b, [ix(b, 0)], [ix(b, 100_000)], [ix(b, 1)], one)

    assert packed(assembly(body, [((100_000,), f64)] * 2), "mul")


@pytest.mark.skipif(not X86, reason="looks at x86 instructions")
def test_row_sums_are_vectorised():
    def body(b, x, out, _arena):
        def row(b, i):
            zero = arith.constant(b, 0.0, f32)

            def add(b, j, running):
                value = b.memref_load(x, i, j)
                return [b.arith_addf(running, value, fastmath=arith.FAST)]

            b.memref_store(scf.for_(b, ix(b, 0), ix(b, 500), ix(b, 1), [zero], add)[0], out, i)

        scf.for_(b, ix(b, 0), ix(b, 300), ix(b, 1), body=row)

    assert packed(assembly(body, [((300, 500), f32), ((300,), f32)]), "add")


def test_llvm_errors_are_reported():
    with pytest.raises(CompileError, match="LLVM refuses the emitted module"):
        compile.address_of("define void @f() { nonsense }", "f")


def test_an_undefined_symbol_is_an_error_and_no_crash():
    text = """
declare double @gradc_test_no_such_function(double)
define double @gradc_test_caller(double %x) {
  %y = call double @gradc_test_no_such_function(double %x)
  ret double %y
}
"""
    with pytest.raises(CompileError, match="needs the symbols gradc_test_no_such_function"):
        compile.address_of(text, "gradc_test_caller")


@pytest.mark.parametrize(
    "damaged", [b"", b"\x7fELF\x02\x01", b"MZ" * 40, b"\x7fELF\x02\x01" + b"\xff" * 90]
)
def test_damaged_object_files(damaged):
    with pytest.raises(ObjectFileError):
        undefined_symbols(damaged)


def test_the_cache_key_names_all_that_machine_code_depends_on():
    target = compile.target()
    for name, version in (("gradc", metadata.version("gradc")), ("numpy", np.__version__),
                          ("numba", metadata.version("numba")), ("opt", 2)):  # fmt: skip
        assert f"{name} {version} " in target
    assert "loop_vectorize True" in target


def test_process_wide_tables_hold_digests_and_one_callable_for_each_function():
    """Thousands of programs: no table grows by a text, none by an executor."""
    support.provide()
    made = function([((70,), f64)] * 2, elementwise(lambda b, x: b.arith_addf(x, x), 70))
    made_program = program(made, [((70,), f64)] * 2, 1)
    module = made_program.steps[0].module
    first = Executor(made_program)
    callables, linked = len(compile._callables), len(compile._linked)
    assert all(len(key) == 64 for key in compile._linked)
    executors = [Executor(made_program) for _ in range(20)]
    assert (len(compile._callables), len(compile._linked)) == (callables, linked)
    address = compile.address_of(module.text, module.entry)
    assert compile.python_function(address, "other") is compile.python_function(address, "name")
    x = np.arange(70.0)
    for run in (first, *executors):
        np.testing.assert_array_equal(run(x)[0], x + x)


def test_threads_that_compile_at_once_agree():
    support.provide()
    bodies = [lambda b, x: b.arith_addf(x, x), lambda b, x: b.arith_mulf(b.arith_negf(x), x)]
    modules = [emit(function([((90,), f64)] * 2, elementwise(body, 90))) for body in bodies * 3]
    before, found = compile.native_compilations(), []

    def work():
        found.append([compile.address_of(m.text, m.entry) for m in modules])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and all(addresses == found[0] for addresses in found)
    assert found[0][:2] == found[0][2:4] and found[0][0] != found[0][1] and 0 not in found[0]
    assert compile.native_compilations() - before <= 2


def run(code, **environment):
    place = os.path.dirname(os.path.abspath(__file__))
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([place, *sys.path[1:]]), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_importing_the_runtime_imports_no_numba():
    modules = "('numba', 'llvmlite', 'scipy.linalg')"
    code = "import sys, gradc.runtime.executor, gradc.passes.lower.emit_llvm\n"
    code += f"print([m for m in {modules} if m in sys.modules])"
    assert run(code) == "[]\n"


OLD_TARGET = """
import numpy as np
from native_harness import both, assert_same
from test_emit_llvm import elementwise
from gradc.ir.types import f16, f32, f64, i64
from gradc.runtime import compile, support

assert "CPU" in compile.target(), compile.target()
rng = np.random.default_rng(0)
for wide, name in ((f32, np.float32), (f64, np.float64)):
    x = (rng.standard_normal(200) * 10.0 ** rng.integers(-9, 6, 200)).astype(name)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16)
    narrow = elementwise(lambda b, x: b.arith_truncf(x, to=f16), 200)
    (got,) = both(narrow, [((200,), wide), ((200,), f16)], 1, [x])[1]
    np.testing.assert_array_equal(got, half)
    extend = elementwise(lambda b, x: b.arith_extf(x, to=wide), 200)
    (got,) = both(extend, [((200,), f16), ((200,), wide)], 1, [half])[1]
    np.testing.assert_array_equal(got, half.astype(name))
scalars = [lambda b, x: b.arith_addf(x, x), lambda b, x: b.math_roundeven(x),
           lambda b, x: b.math_floor(x), lambda b, x: b.math_fma(x, x, x),
           lambda b, x: b.math_sqrt(b.math_absf(x)),
           lambda b, x: b.arith_maximumf(x, b.arith_negf(x))]
for dtype, name in ((f16, np.float16), (f32, np.float32), (f64, np.float64)):
    x = rng.standard_normal(100).astype(name)
    for scalar in scalars:
        assert_same(both(elementwise(scalar, 100), [((100,), dtype)] * 2, 1, [x]), 2e-3)
print("done")
"""


@pytest.mark.skipif(not X86, reason="names x86 targets")
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_older_processors(cpu):
    code = OLD_TARGET.replace("CPU", cpu)
    assert run(code, NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES="") == "done\n"


def test_the_same_text_is_compiled_once():
    support.provide()
    texts = [emit(function([((40,), f)] * 2, elementwise(lambda b, x: b.arith_negf(x), 40)))
             for f in (f16, f32)]  # fmt: skip
    addresses = [compile.address_of(m.text, m.entry) for m in texts]
    before = compile.native_compilations()
    assert [compile.address_of(m.text, m.entry) for m in texts] == addresses
    assert compile.native_compilations() == before
    assert addresses[0] != addresses[1]
    assert np.dtype(np.float16).itemsize * 8 == f16.bits
