"""Operations without array operands: constants and index sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Creation, Sample, Samples
from gradc.ir.printer import short_text
from gradc.ir.type_rules import expect_dtype, expect_tensor
from gradc.ir.types import ARRAY_DTYPES, NUMBERS, TensorType, to_numpy


class Constant(Creation, name="nd.constant"):
    """A constant: `value` is a Python scalar (every element has it) or a read-only ndarray."""

    vjp = NOT_DIFFERENTIABLE
    finite_slope = True

    def pretty(op: Constant, name: Any) -> str:
        return f"nd.constant {short_text(op['value'])} : {op['type']}"

    def infer(*, value: Any, type: TensorType) -> TensorType:
        expect_tensor(type, "the attribute `type`")
        if isinstance(value, np.ndarray):
            if value.shape != type.shape or value.dtype != to_numpy(type.dtype):
                raise TypeRuleError(
                    f"expected a value of type {type}, got {value.dtype} {list(value.shape)}"
                )
        elif not isinstance(value, bool | int | float | complex):
            raise TypeRuleError(f"expected a number or an ndarray, got {value!r}")
        return type

    def evaluate(*, value: Any, type: Any) -> np.ndarray:
        return np.full(type.shape, value, to_numpy(type.dtype))

    def _samples(rng: Any, dtype: Any) -> Any:
        value = {"b": True, "f": 1.5, "c": 1.5 + 2j}.get(dtype.kind, 3)
        yield Sample((), {"value": value, "type": TensorType((2, 3), dtype)})
        array = np.arange(4).astype(to_numpy(dtype))
        array.flags.writeable = False
        array.setflags(write=False)
        yield Sample((), {"value": array, "type": TensorType((4,), dtype)})

    samples = Samples(_samples, ARRAY_DTYPES)


def constant_value(value: Any) -> bool | int | float | complex | None:
    """The number that every element of an IR value is known to have, or None.

    It sees nd.constant and its broadcasts; an array constant counts only at rank 0.
    """
    op = getattr(value, "defining_op", None)
    while op is not None and op.name == "nd.broadcast":
        op = op.operands[0].defining_op
    if op is None or op.name != "nd.constant":
        return None
    number = op["value"]
    if isinstance(number, np.ndarray):
        return number.item() if number.ndim == 0 else None
    return number


class Iota(Creation, name="nd.iota"):
    """Element i along axis `axis` is i; `type` is the result's type (numbers only)."""

    never_negative = True
    vjp = NOT_DIFFERENTIABLE

    def infer(*, axis: int, type: TensorType) -> TensorType:
        expect_dtype(type, NUMBERS, "the attribute `type`")
        if not 0 <= axis < type.rank:
            raise TypeRuleError(f"expected axis in [0, {type.rank}), got {axis}")
        return type

    def evaluate(*, axis: int, type: Any) -> np.ndarray:
        shape = [1] * type.rank
        shape[axis] = -1
        line = np.arange(type.shape[axis]).reshape(shape)
        return np.broadcast_to(line, type.shape).astype(to_numpy(type.dtype))

    def _samples(rng: Any, dtype: Any) -> Any:
        yield Sample((), {"axis": 0, "type": TensorType((5,), dtype)})
        yield Sample((), {"axis": 1, "type": TensorType((2, 3), dtype)})

    samples = Samples(_samples, NUMBERS)
