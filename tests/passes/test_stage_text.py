"""The text of each stage below the tensor level: valid, a fixed point, MLIR for other readers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mlir_readers import assert_readable

from gradc.ir.builder import Builder
from gradc.ir.ops.func import FuncOp, ModuleOp
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module, print_pretty
from gradc.ir.types import bf16, c64, f32, f64, i64, tensor, ui8
from gradc.ir.verify import verify
from gradc.passes.lower.expand_math import expand_math
from gradc.passes.lower.plan import lower


def mixed(b: Builder, x: Any, y: Any, w: Any) -> list[Any]:
    z = b.mul(b.tanh(b.add(x, y)), 2.0)
    return [b.reduce_sum(z, axes=(1,)), b.reduce_sum(b.exp(w), axes=(0,)), z]


def products(b: Builder, x: Any, y: Any) -> list[Any]:
    return [b.dot_general(x, b.transpose(y, perm=(1, 0)), contract=((1,), (0,)))]


def choices(b: Builder, x: Any, y: Any) -> list[Any]:
    return [b.select(b.lt(x, y), x, b.neg(y)), b.reduce_max(b.maximum(x, y), axes=(0,))]


def squares(b: Builder, x: Any) -> list[Any]:
    return [b.mul(x, x), b.reduce_sum(x, axes=(0,))]


def chosen(b: Builder, x: Any) -> list[Any]:
    """A constant array and a size known at run time, of which the function's attributes tell."""
    numbers = np.array([np.nan, 1.5, -0.0, np.inf, 2.0, 1e-300])
    numbers.flags.writeable = False
    at = b.nonzero(b.gt(x, 0), size="n0")
    return [b.gather(b.add(x, b.constant(value=numbers, type=x.type)), at, axes=(0,))]


PROGRAMS: list[tuple[Callable[..., list[Any]], list[Any]]] = [
    (mixed, [tensor(f32, 40, 30), tensor(f32, 40, 30), tensor(f64, 30)]),
    (products, [tensor(f64, 8, 5), tensor(f64, 7, 5)]),
    (choices, [tensor(f32, 20, 3), tensor(f32, 20, 3)]),
    *((squares, [tensor(dtype, 33)]) for dtype in (bf16, c64, i64, ui8)),
    (squares, [tensor(f32, 0)]),
    (chosen, [tensor(f64, 6)]),
]


@pytest.mark.parametrize(
    ("write", "types"), PROGRAMS, ids=lambda v: v[0].dtype.name if isinstance(v, list) else None
)
def test_stages_are_mlir(write: Callable[..., list[Any]], types: list[Any]) -> None:
    function = FuncOp.build("f", types)
    function.finish(write(Builder(function.body), *function.args))
    lowered = lower(function)
    expanded = lowered.loops.clone({})
    expand_math(expanded)
    texts = []
    for stage in (
        function,
        lowered.fused,
        lowered.memory,
        lowered.loops,
        expanded,
    ):
        module = ModuleOp.build([stage.clone({})])
        verify(module)
        text = print_module(module)
        again = parse_module(text)
        verify(again)
        assert print_module(again) == text
        assert print_pretty(again) == print_pretty(module)
        texts.append(text)
    assert_readable(*texts)
