"""Random tensor programs: native code keeps the interpreter's results, forward and backward."""

from __future__ import annotations

import numpy as np
import pytest
from tensor_programs import ProgramMaker, arguments

from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp
from gradc.ir.verify import verify
from gradc.passes.backward import differentiate
from gradc.passes.canonicalize import canonicalize
from gradc.passes.cse import cse
from gradc.passes.dce import dce
from gradc.passes.lower.plan import lower, plan
from gradc.runtime.executor import Executor


def simplify(function: FuncOp) -> None:
    canonicalize(function)
    cse(function)
    dce(function)


def check_native(function: FuncOp, arrays: list) -> None:
    want = run_function(function, arrays)
    got = Executor(plan(function))(*arrays)
    for result, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


def check_seed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    function = ProgramMaker(rng).make(3, int(rng.integers(3, 14)), 3)
    simplify(function)
    arrays = arguments(rng, function)
    lowered = lower(function)
    for stage in (lowered.fused, lowered.memory, lowered.loops):
        verify(stage)
    check_native(function, arrays)
    wrt = list(range(len(function.args)))
    gradient = differentiate(function, wrt, name="g", cotangents="arguments")
    simplify(gradient)
    cotangents = [rng.normal(size=v.type.shape) for v in function.returned]
    check_native(gradient, [*arrays, *cotangents])


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_programs(start: int) -> None:
    for seed in range(start, start + 20):
        check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3000, 50))
def test_many_random_programs(start: int) -> None:
    for seed in range(start, start + 50):
        check_seed(seed)
