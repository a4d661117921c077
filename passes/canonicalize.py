"""Canonical forms: each operation's own `simplify`, folding of constants, constants to the right.

All rewrites keep value and gradient bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.ir.core import Operation, Value
from gradc.ir.ops.creation import constant_value
from gradc.ir.types import ScalarType, TensorType, to_numpy
from gradc.passes.dce import dce
from gradc.passes.manager import Pass
from gradc.passes.rewrite import rewrite

# NumPy's loops for one element and for many must agree before a function of analysis is folded.
_LANES = 16


def simplify(b: Any, op: Any) -> Sequence[Value] | None:
    """What the operation itself knows."""
    own = getattr(op, "simplify", None)
    return None if own is None else own(b, op)


def fold_elementwise(b: Any, op: Any) -> Sequence[Value] | None:
    """An elementwise operation on arrays that hold one known number each."""
    if getattr(op, "lowering", "") != "elementwise" or not op.operands:
        return None
    if op.evaluate is None or len(op.results) != 1:
        return None
    numbers = [constant_value(value) for value in op.operands]
    if any(number is None for number in numbers):
        return None
    kinds = [to_numpy(value.type.dtype) for value in op.operands]
    with np.errstate(all="ignore"):
        one = np.asarray(op.evaluate(*map(np.asarray, numbers, kinds), **op.attributes))
        lanes = [np.full(_LANES, x, kind) for x, kind in zip(numbers, kinds, strict=True)]
        many = np.asarray(op.evaluate(*lanes, **op.attributes))
    if one.tobytes() * _LANES != many.tobytes():
        return None
    number = plain_number(one, op.result.type.dtype)
    return [b.full(number, op.result.type)]


def plain_number(array: Any, dtype: ScalarType) -> bool | int | float | complex:
    """The element of a rank-0 array as the Python number that nd.constant holds."""
    if dtype.is_bool:
        return bool(array)
    if dtype.is_integer:
        return int(array)
    return float(array) if dtype.is_floating else complex(array)


def fold_shape(b: Any, op: Any) -> Sequence[Value] | None:
    """An index map over arrays that all hold the same number."""
    if getattr(op, "lowering", "") != "shape" or len(op.results) != 1:
        return None
    if op.checked(op):
        return None  # an index out of range stays an error
    numbers = {repr(constant_value(value)) for value in op.operands}
    if len(numbers) != 1 or "None" in numbers:
        return None
    if any(value.type.dtype != op.result.type.dtype for value in op.operands):
        return None
    if not isinstance(op.result.type, TensorType):
        return None
    return [b.full(constant_value(op.operands[0]), op.result.type)]


def constants_right(b: Any, op: Any) -> Sequence[Value] | None:
    """A commutative operation has its constant second."""
    if not getattr(op, "commutative", False) or len(op.operands) != 2:
        return None
    x, y = op.operands
    if constant_value(x) is None or constant_value(y) is not None:
        return None
    return [b.create(type(op), (y, x), op.attributes)]


PATTERNS = (fold_elementwise, fold_shape, constants_right, simplify)


def canonicalize(op: Operation) -> bool:
    """Rewrite in the regions of `op` to canonical form; whether anything changed."""
    changed = rewrite(op, PATTERNS)
    return (dce(op) if changed else False) or changed


class Canonicalize(Pass, name="canonicalize"):
    """Simplify operations to a fixpoint and remove those that become unused."""

    def run(self, op: Operation) -> None:
        canonicalize(op)
