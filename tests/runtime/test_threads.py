"""The thread pool: many launches of varying size, from several Python threads, beside BLAS and
forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from native_harness import function, ix, native
from test_executor import gather

from gradc.ir.ops import scf
from gradc.ir.types import f32, f64, i64
from gradc.runtime import blas, threads
from gradc.runtime.threads import ThreadCountError, get_num_threads, set_num_threads

N = 300


def counting():
    """out[i] = x[i] + 1 for i < count, one job an iteration."""

    def body(b, x, count, out, _arena):
        b.memref_copy(x, out)
        trips = b.arith_index_cast(b.memref_load(count), to=ix(b, 0).type)

        def job(b, i):
            value = b.memref_load(out, i)
            one = b.arith_constant(value=1.0)
            b.memref_store(b.arith_addf(value, one), out, i)

        work = {"gradc.work": 1 << 20}
        scf.parallel(b, [ix(b, 0)], [trips], [ix(b, 1)], job, work)

    arrays = [((N,), f64), ((), i64), ((N,), f64)]
    return native(function(arrays, body), arrays, 1)


@pytest.fixture
def four_threads():
    before = get_num_threads()
    set_num_threads(4)
    yield
    set_num_threads(before)


def launch_many(run, launches, seed=0):
    x = np.arange(float(N))
    counts = np.random.default_rng(seed).integers(0, 9, launches)
    for count in counts.tolist():
        (got,) = run(x, np.array(count))
        if not (
            np.array_equal(got[:count], x[:count] + 1) and np.array_equal(got[count:], x[count:])
        ):
            raise AssertionError(f"a launch of {count} jobs went wrong")


def test_many_launches(four_threads):
    launch_many(counting(), 10_000)


@pytest.mark.slow
def test_a_million_launches(four_threads):
    launch_many(counting(), 1_000_000)


def in_threads(count, work):
    failures = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


def test_eight_python_threads_launch_at_once(four_threads):
    run = counting()
    in_threads(8, lambda k: launch_many(run, 500, k))


def gemm(m):
    arrays = [((m, m), f32)] * 3
    return native(
        function(arrays, lambda b, x, y, out, _arena: b.kernel_gemm_call(x, y, out)), arrays, 1
    )


def test_launches_beside_scipy_linalg(four_threads):
    """BLAS calls of other threads go through the same pool, or threads of their own."""
    import scipy.linalg

    run, product = counting(), gemm(200)
    x = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
    wanted, solved = x @ x, scipy.linalg.solve(x, x[:, :50])

    def work(k):
        for _ in range(6):
            if k % 3 == 0:
                launch_many(run, 50, k)
            elif k % 3 == 1:
                np.testing.assert_allclose(product(x, x)[0], wanted, rtol=1e-2, atol=1e-2)
            else:
                again = scipy.linalg.solve(x, x[:, :50])
                np.testing.assert_allclose(again, solved, rtol=1e-2, atol=1e-2)

    in_threads(6, work)


def test_blas_inside_parallel_loops(four_threads):
    shape = (12, 90, 90)

    def body(b, x, out, _arena):
        def job(b, i):
            b.kernel_gemm_call(x, x, out, i, i, i, batch=(1, 1, 1))

        scf.parallel(b, [ix(b, 0)], [ix(b, 12)], [ix(b, 1)], job)

    arrays = [(shape, f64)] * 2
    run = native(function(arrays, body), arrays, 1)
    x = np.random.default_rng(1).standard_normal(shape)
    in_threads(
        3,
        lambda k: [np.testing.assert_allclose(run(x)[0], x @ x, atol=1e-10) for _ in range(10)],
    )


def test_results_do_not_depend_on_the_number_of_threads():
    """Sums over rows, cut into jobs by the work alone."""

    def body(b, x, out, _arena):
        def row(b, i):
            zero = b.arith_constant(value=0.0)

            def add(b, j, total):
                from gradc.ir.ops.arith import FAST

                return [b.arith_addf(total, b.memref_load(x, i, j), fastmath=FAST)]

            b.memref_store(scf.for_(b, ix(b, 0), ix(b, 70), ix(b, 1), [zero], add)[0], out, i)

        scf.parallel(b, [ix(b, 0)], [ix(b, 5000)], [ix(b, 1)], row, {"gradc.work": 70})

    arrays = [((5000, 70), f64), ((5000,), f64)]
    run = native(function(arrays, body), arrays, 1)
    x = np.random.default_rng(2).standard_normal((5000, 70))
    before, found = get_num_threads(), []
    try:
        for count in (1, 2, 3, 7):
            set_num_threads(count)
            found.append(run(x)[0])
    finally:
        set_num_threads(before)
    np.testing.assert_allclose(found[0], x.sum(1), rtol=1e-9, atol=1e-12)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_the_lowest_failing_iteration_is_reported(four_threads):
    n = 4000
    run = native(gather(n, parallel=True), [((10,), f64), ((n,), i64), ((n,), f64)], 1)
    x, at = np.arange(10.0), np.arange(n) % 10
    at[[3900, 2500, 901]] = [100, 200, 300]
    for _ in range(200):
        with pytest.raises(IndexError, match="index 300 "):
            run(x, at)


def test_set_num_threads_takes_effect():
    before = get_num_threads()
    run = counting()
    try:
        for count in (1, 5, 2):
            set_num_threads(count)
            assert get_num_threads() == count
            launch_many(run, 100)
            names = [t.name for t in threading.enumerate() if t.name.startswith("gradc-")]
            assert len(names) >= count - 1
    finally:
        set_num_threads(before)
    for bad in (0, -1, 2.0, True):
        with pytest.raises(ThreadCountError, match="at least 1"):
            set_num_threads(bad)


def child(code, **environment):
    """Run code in a fresh process; its output."""
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


FORK = """
import os, numpy as np
import scipy.linalg
from test_threads import counting, launch_many, gemm, N
from gradc.runtime.threads import set_num_threads, get_num_threads
set_num_threads(3)
run, product = counting(), gemm(300)
x = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
launch_many(run, 200)
wanted = product(x, x)[0]
pid = os.fork()
if pid == 0:
    code = 1
    try:
        launch_many(run, 200)                       # an executor of the parent, without workers
        np.testing.assert_allclose(product(x, x)[0], wanted, rtol=1e-3, atol=1e-3)
        launch_many(counting(), 200)                # made here: the pool starts anew
        np.testing.assert_allclose(product(x, x)[0], wanted, rtol=1e-3, atol=1e-3)
        scipy.linalg.solve(x, x)
        code = 0
    finally:
        os._exit(code)
_, status = os.waitpid(pid, 0)
launch_many(run, 200)
np.testing.assert_allclose(product(x, x)[0], wanted, rtol=1e-3, atol=1e-3)
print("child", os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_fork():
    assert child(FORK) == "child 0\n"


def test_the_environment_sets_the_number_of_threads():
    code = "from gradc.runtime.threads import get_num_threads; print(get_num_threads())"
    assert child(code, GRADC_NUM_THREADS="3") == "3\n"
    code = (
        "from gradc.runtime import threads\ntry: threads.get_num_threads()\nexcept threads.Thread"
    )
    code += "CountError as e: print(e)"
    assert "GRADC_NUM_THREADS" in child(code, GRADC_NUM_THREADS="many")


def test_the_blas_says_its_kernels():
    if blas.library() is None:
        pytest.skip("SciPy's BLAS is not an OpenBLAS with a thread callback")
    assert blas.core_name()
    assert threads.get_num_threads() >= 1


def test_a_fork_forgets_launches_that_kept_blas_to_one_thread() -> None:
    """They belong to threads that the child does not have: none of them would end in it."""
    code = """
import os
import numpy as np
import gradc
from gradc.runtime import pool_state, threads
gradc.compile(lambda x: x + 1)(np.ones(3))
threads._state[pool_state.BLAS_NARROW] = 2
pid = os.fork()
if pid == 0:
    os._exit(threads._state[pool_state.BLAS_NARROW])
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert child(code) == "0\n"
