"""Adding an operation touches one place: its class.

The fixture defines a reduction, an elementwise, a shape and a scan operation that nothing else in
gradc knows. They go through text, the interpreter, every pass and native code, and their gradients
through the chain rule.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs import assert_close, build_for, difference_gradient, names, run

from gradc.ir.affine import AffineExpr, AffineMap
from gradc.ir.opdef import REGISTRY, Elementwise, Op, Piece, Reduce, Scan, Shape, reduction
from gradc.ir.ops.composite import spread_axes
from gradc.ir.ops.func import FuncOp, ModuleOp
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module
from gradc.ir.type_rules import same_type
from gradc.ir.types import FLOATS, TensorType
from gradc.ir.verify import verify
from gradc.passes.backward import differentiate
from gradc.passes.lower.plan import lower, plan
from gradc.runtime.executor import Executor


def define() -> dict[str, type[Op]]:
    class ReduceRoot(Reduce, name="test.reduce_norm"):
        """The Euclidean norm over axes, merged by hypot."""

        combine = "root_of_squares"
        ufunc = np.hypot
        finite_slope = False

        def infer(x: Any, *, axes: tuple[int, ...]) -> TensorType:
            return x.with_shape(tuple(n for k, n in enumerate(x.shape) if k not in axes))

        def evaluate(x: Any, *, axes: Any) -> Any:
            return np.sqrt(np.sum(x * x, axis=axes))

        def identity(dtype: Any) -> Any:
            return 0

        def merge(s: Any, x: Any, y: Any) -> Any:
            return s.sqrt(s.add(s.mul(x, x), s.mul(y, y)))

        def vjp(b: Any, op: Any, g: Any) -> Any:
            (x,) = op.operands
            slope = spread_axes(b, b.div(g, op.result), x.type.shape, op["axes"])
            return [b.mul(slope, x)]

    class Softsign(Elementwise, name="test.softsign"):
        """x / (1 + |x|)."""

        infer = same_type(FLOATS)

        def evaluate(x: Any) -> Any:
            return x / (1 + np.abs(x))

        def scalar(s: Any, x: Any) -> Any:
            return s.div(x, s.add(s.abs(x), 1))

        def vjp(b: Any, op: Any, g: Any) -> Any:
            (x,) = op.operands
            return [b.div(g, b.square(b.add(b.abs(x), 1)))]

    class Reverse(Shape, name="test.reverse"):
        """The elements of a vector from the last to the first."""

        def infer(x: Any) -> TensorType:
            found: TensorType = x
            return found

        def evaluate(x: Any) -> Any:
            return x[::-1].copy()

        def pieces(op: Any) -> Any:
            (n,) = op.result.type.shape
            map = AffineMap(1, 0, (AffineExpr.dim(0, 1) * -1 + (n - 1),))
            return [Piece(0, (0,), (n,), map)]

        def vjp(b: Any, op: Any, g: Any) -> Any:
            return [b.create(Reverse, [g], {})]

    class Decay(Scan, name="test.decay"):
        """y_i = y_{i-1} / 2 + x_i."""

        infer = REGISTRY["nd.cumsum"].infer

        def evaluate(x: Any, *, axis: int, reverse: bool = False) -> Any:
            x = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
            found = np.array(x)
            for k in range(1, len(x)):
                found[k] = found[k - 1] / 2 + x[k]
            return np.moveaxis(found[:: -1 if reverse else 1], 0, axis).copy()

        def combine(s: Any, state: Any, x: Any) -> Any:
            return s.add(s.mul(state, 0.5), x)

        def identity(dtype: Any) -> Any:
            return 0

        def vjp(b: Any, op: Any, g: Any) -> Any:
            reverse = not op.attributes.get("reverse", False)
            return [b.create(Decay, [g], {"axis": op["axis"], "reverse": reverse})]

    return {cls.name: cls for cls in (ReduceRoot, Softsign, Reverse, Decay)}


@pytest.fixture
def new() -> Iterator[dict[str, type[Op]]]:
    known = set(REGISTRY)
    try:
        yield define()
    finally:
        for name in set(REGISTRY) - known:
            del REGISTRY[name]
        reduction.cache_clear()


def together(new: dict[str, type[Op]], b: Any, x: Any) -> Any:
    squashed = b.create(new["test.softsign"], [b.mul(x, 2.0)], {})
    kept = b.create(new["test.decay"], [squashed], {"axis": 1})
    norms = b.create(new["test.reduce_norm"], [kept], {"axes": (1,)})
    turned = b.create(new["test.reverse"], [norms], {})
    return b.mul(turned, b.reduce_sum(squashed, axes=(1,)))


@pytest.fixture
def program(new: dict[str, type[Op]]) -> tuple[FuncOp, np.ndarray]:
    x = np.random.default_rng(3).uniform(0.3, 2.0, (7, 5)) * [1, -1, 1, 1, -1]
    return build_for(lambda b, x: together(new, b, x), x), x


def test_meaning_and_text(program: tuple[FuncOp, np.ndarray]) -> None:
    function, x = program
    squashed = 2 * x / (1 + np.abs(2 * x))
    kept = np.array([[sum(row[j] / 2 ** (k - j) for j in range(k + 1)) for k in range(5)]
                     for row in squashed])  # fmt: skip
    wanted = np.sqrt((kept**2).sum(1))[::-1] * squashed.sum(1)
    assert_close(run(function, x)[0], wanted, 1e-12)
    text = print_module(ModuleOp.build([function.clone({})]))
    assert print_module(parse_module(text)) == text


def test_every_stage_and_native_code(program: tuple[FuncOp, np.ndarray]) -> None:
    function, x = program
    lowered = lower(function)
    for stage in (lowered.fused, lowered.memory, lowered.loops):
        verify(stage)
    assert "test.reduce_norm" not in names(lowered.fused), "the reduction is no kernel"
    assert_close(run(lowered.fused, x)[0], run(function, x)[0], 1e-12)
    assert_close(Executor(plan(function))(x)[0], run(function, x)[0], 1e-12)


def test_gradient(program: tuple[FuncOp, np.ndarray]) -> None:
    function, x = program
    gradient = differentiate(function, [0], name="g")
    wanted = difference_gradient(function, [x], 0, [np.ones(7)])
    assert_close(run(gradient, x)[1], wanted)
    assert_close(Executor(plan(gradient))(x)[1], wanted)


def test_a_mask_goes_through_a_new_scan(new: dict[str, type[Op]]) -> None:
    """Rows that were not chosen get exactly 0, whatever the slopes there are."""
    x = np.array([[1.0, 4.0], [0.0, 9.0], [4.0, 16.0]])

    def body(b: Any, x: Any) -> Any:
        kept = b.create(new["test.decay"], [b.sqrt(x)], {"axis": 1})
        chosen = b.broadcast(b.gt(b.reduce_min(x, axes=(1,)), 0), shape=(3, 2), dims=(0,))
        return b.select(chosen, kept, b.zeros(kept.type))

    found = run(differentiate(build_for(body, x), [0], name="g"), x)[1]
    # d/dx of sqrt(x0) + (sqrt(x0) / 2 + sqrt(x1)) is (3 / 4 / sqrt(x0), 1 / 2 / sqrt(x1)).
    np.testing.assert_allclose(found, [[0.75, 0.25], [0, 0], [0.375, 0.125]], rtol=1e-15)


def test_nothing_is_left_behind() -> None:
    assert not [name for name in REGISTRY if name.startswith("test.")]
    with pytest.raises(KeyError):
        reduction("root_of_squares")
