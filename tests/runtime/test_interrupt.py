"""Ctrl-C stops a long native loop within half a second, and the next call works."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from native_harness import function, ix, native

from gradc.ir.ops import arith, scf
from gradc.ir.ops.arith_integers import CMPI
from gradc.ir.types import f64, i64

LONG = 1 << 60


def spin(b, x):
    """One step of a recurrence that no compiler can shorten."""
    half = arith.constant(b, 0.5, f64)
    return b.arith_addf(b.math_sqrt(b.arith_addf(x, half)), half)


def innermost(b, count, start):
    return scf.for_(b, ix(b, 0), count, ix(b, 1), [start], lambda b, i, x: [spin(b, x)])[0]


def nested(b, count, start):
    def row(b, i, x):
        return scf.for_(b, ix(b, 0), ix(b, 100), ix(b, 1), [x], lambda b, j, x: [spin(b, x)])

    return scf.for_(b, ix(b, 0), count, ix(b, 1), [start], row)[0]


def inner_is_long(b, count, start):
    def row(b, i, x):
        return [innermost(b, count, x)]

    return scf.for_(b, ix(b, 0), count, ix(b, 1), [start], row)[0]


def while_loop(b, count, start):
    one = ix(b, 1)

    def before(b, n, x):
        return b.arith_cmpi(n, count, predicate=CMPI["slt"]), [n, x]

    return scf.while_(
        b, [ix(b, 0), start], before, lambda b, n, x: [b.arith_addi(n, one), spin(b, x)]
    )[1]


def costly_after_cheap(b, count, start):
    """The first nest's iterations are short, the second's are long and have no look inside."""
    one, inner = ix(b, 1), ix(b, 100_000)

    def row(length):
        def columns(b, j, x):
            return [scf.for_(b, ix(b, 0), length, one, [x], lambda b, k, x: [spin(b, x)])[0]]

        return lambda b, i, x: [scf.for_(b, ix(b, 0), one, one, [x], columns)[0]]

    cheap = b.arith_minsi(count, ix(b, 3_000_000))
    x = scf.for_(b, ix(b, 0), cheap, one, [start], row(one))[0]
    return scf.for_(b, ix(b, 0), count, one, [x], row(inner))[0]


def program(loop):
    def body(b, count, out, _arena):
        trips = b.arith_index_cast(b.memref_load(count), to=ix(b, 0).type)
        b.memref_store(loop(b, trips, arith.constant(b, 1.0, f64)), out)

    arrays = [((), i64), ((), f64)]
    return native(function(arrays, body), arrays, 1)


def parallel_loop():
    def body(b, count, out, _arena):
        trips = b.arith_index_cast(b.memref_load(count), to=ix(b, 0).type)

        def job(b, i):
            inner = b.arith_divsi(trips, ix(b, 1 << 20))
            found = scf.for_(
                b, ix(b, 0), inner, ix(b, 1), [arith.constant(b, 1.0, f64)],
                lambda b, j, x: [spin(b, x)],
            )[0]  # fmt: skip
            b.memref_store(found, out, b.arith_remsi(i, ix(b, 64)))

        scf.parallel(b, [ix(b, 0)], [trips], [ix(b, 1)], job)

    arrays = [((), i64), ((64,), f64)]
    return native(function(arrays, body), arrays, 1)


def interrupted_after(run, seconds, count):
    """How long the call went on after SIGINT came."""
    sent = []

    def stop(number, frame):
        raise KeyboardInterrupt

    def alarm(number, frame):
        sent.append(time.monotonic())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm), signal.signal(signal.SIGINT, stop)
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(np.array(count))
        return time.monotonic() - start - seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before[0])
        signal.signal(signal.SIGINT, before[1])


def test_a_costly_nest_after_a_cheap_one_stops():
    assert interrupted_after(program(costly_after_cheap), 1.0, LONG) < 5


@pytest.mark.parametrize("loop", [innermost, nested, inner_is_long, while_loop])
def test_serial_loops_stop(loop):
    run = program(loop)
    # The wall clock of a busy machine is coarse: the promise is half a second, a hang is for ever.
    assert interrupted_after(run, 0.2, LONG) < 5
    wanted = 1.0
    for _ in range(100 if loop is nested else 1):
        wanted = np.sqrt(wanted + 0.5) + 0.5
    assert run(np.array(1))[0] == pytest.approx(wanted, rel=1e-14)
    assert run(np.array(0))[0] == 1.0


def test_parallel_loops_stop():
    run = parallel_loop()
    # 2**30 iterations of 1024 steps: hours, cut into 128 jobs that look between inner loops.
    assert interrupted_after(run, 0.2, 1 << 30) < 5
    assert run(np.array(64))[0].tolist() == [1.0] * 64


def test_a_handler_that_returns_does_not_stop():
    run, calls = program(innermost), []
    before = signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        run(np.array(200_000_000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) >= 2
