"""Index maps and reductions in canonical form: which operations remain, and not a bit changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_programs import gradient, run, trace

from gradc.ir.ops.func import FuncOp
from gradc.ir.types import TensorType, f64
from gradc.passes.canonicalize import canonicalize


def names(function: FuncOp) -> list[str]:
    return [op.name.partition(".")[2] for op in function.body.ops[:-1]]


def take(b, x, *axes: tuple[int, int, int]) -> Any:
    """The slice (start, size, step) on each axis."""
    starts, sizes, steps = zip(*axes, strict=True)
    return b.slice(x, starts=starts, sizes=sizes, steps=steps)


X = np.array([[1.0, -0.0, np.nan, 2.0], [0.0, -np.inf, 5.0, -3.0], [7.0, np.inf, -0.0, 4.0]])

CASES: dict[str, tuple[Any, list[str]]] = {
    "reshape to the same shape": (lambda b, x: b.reshape(x, shape=(3, 4)), []),
    "reshape of reshape": (
        lambda b, x: b.reshape(b.reshape(x, shape=(2, 6)), shape=(12,)),
        ["reshape"],
    ),
    "reshape there and back": (
        lambda b, x: b.reshape(b.reshape(x, shape=(2, 6)), shape=(3, 4)),
        [],
    ),
    "identity transpose": (lambda b, x: b.transpose(x, perm=(0, 1)), []),
    "transpose twice": (
        lambda b, x: b.transpose(b.transpose(x, perm=(1, 0)), perm=(1, 0)),
        [],
    ),
    "identity broadcast": (lambda b, x: b.broadcast(x, shape=(3, 4), dims=(0, 1)), []),
    "broadcast of broadcast": (
        lambda b, x: b.broadcast(
            b.broadcast(x, shape=(3, 2, 4), dims=(0, 2)), shape=(5, 3, 2, 4), dims=(1, 2, 3)
        ),
        ["broadcast"],
    ),
    "slice of everything": (lambda b, x: take(b, x, (0, 3, 1), (0, 4, 1)), []),
    "slice of slice": (
        lambda b, x: take(b, take(b, x, (0, 3, 1), (3, 4, -1)), (2, 2, -2), (1, 2, 2)),
        ["slice"],
    ),
    "slice of broadcast": (
        lambda b, x: take(
            b, b.broadcast(x, shape=(3, 6, 4), dims=(0, 2)), (1, 2, 1), (5, 2, -3), (0, 2, 2)
        ),
        ["slice", "broadcast"],
    ),
    "pad by nothing": (
        lambda b, x: b.pad(x, b.zeros(TensorType((), f64)), low=(0, 0), high=(0, 0)),
        [],
    ),
    "one operand concatenated": (lambda b, x: b.concatenate(x, axis=0), []),
    "empty operand concatenated": (
        lambda b, x: b.concatenate(take(b, x, (0, 0, 1), (0, 4, 1)), x, axis=0),
        [],
    ),
    "largest over nothing": (lambda b, x: b.reduce_max(x, axes=()), []),
    "sum over nothing": (lambda b, x: b.reduce_sum(x, axes=()), ["constant", "add"]),
    "sum over axes of size 1": (
        lambda b, x: b.reduce_sum(b.reshape(x, shape=(3, 1, 4)), axes=(1,)),
        ["constant", "add"],
    ),
    "largest over axes of size 1": (
        lambda b, x: b.reduce_max(b.reshape(x, shape=(3, 1, 4)), axes=(1,)),
        [],
    ),
    "store of everything": (
        lambda b, x: b.update_slice(b.neg(x), x, starts=(0, 0), steps=(1, 1)),
        [],
    ),
    "store of nothing": (
        lambda b, x: b.update_slice(
            x, take(b, x, (0, 0, 1), (0, 4, 1)), starts=(1, 0), steps=(1, 1)
        ),
        [],
    ),
    "addition to everything": (
        lambda b, x: b.accumulate_slice(b.square(x), x, starts=(0, 0), steps=(1, 1)),
        ["square", "add"],
    ),
    "sum of zeros": (
        lambda b, x: b.add(b.reduce_sum(b.zeros(x.type), axes=(0,)), b.reduce_max(x, axes=(0,))),
        ["constant", "reduce_max", "add"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rewrite_keeps_every_bit(case: str) -> None:
    build, left = CASES[case]
    function = trace(build, X)
    (expected,) = run(function, X)
    canonicalize(function)
    assert names(function) == left
    (found,) = run(function, X)
    assert found.tobytes() == expected.tobytes()


def test_slice_of_a_slice_from_data_stays() -> None:
    def build(b, x, at):
        inner = b.slice(x, at, starts=(None, 0), sizes=(2, 4), steps=(1, 1))
        return take(b, inner, (1, 1, 1), (0, 2, 1))

    function = trace(build, X, np.int64(0))
    canonicalize(function)
    assert names(function) == ["slice", "slice"]
    with pytest.raises(IndexError):
        run(function, X, 2)


def test_slice_of_known_numbers_keeps_its_check() -> None:
    def build(b, x, at):
        return b.slice(b.full(1.0, x.type), at, starts=(None, 0), sizes=(2, 4), steps=(1, 1))

    function = trace(build, X, np.int64(0))
    canonicalize(function)
    with pytest.raises(IndexError):
        run(function, X, 2)


@pytest.mark.parametrize("wide", [True, False])
def test_large_reads_give_padded_cotangents_and_small_ones_are_added_in_place(wide: bool) -> None:
    x = np.arange(32.0)
    axis = (31, 8, -1) if wide else (31, 7, -1)
    function = trace(lambda b, x: take(b, x, axis), x)
    op = function.body.ops[0]
    answer = op.vjp(_Recorder(), op, op.result)[0]
    assert (answer == "pad") == wide
    expected = np.zeros(32)
    expected[31 : 31 - axis[1] : -1] = 1
    np.testing.assert_array_equal(gradient(lambda b, x: take(b, x, axis), x), expected)


class _Recorder:
    """A builder that answers with the name of the operation asked for."""

    def __getattr__(self, name: str) -> Any:
        return lambda *operands, **attributes: name
