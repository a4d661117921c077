"""When two values are the same for a traced function: equal in type, and floats bit for bit.

Python's == is too coarse: 0.0 == -0.0, 1 == 1.0 == True, (2,) == (2.0,) behave differently in a
function; and too fine: NaN is not equal to itself. Retrace keys, guards and the values used while
tracing compare with `frozen` and `identical`.
"""

from __future__ import annotations

import enum
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from types import CodeType
from typing import Any

import numpy as np

_BY_VALUE = (int, str, bytes, type(None), enum.Enum, np.dtype, type, type(Ellipsis), CodeType)
_PLAIN = frozenset((bool, int, str, bytes, type(None)))  # == is right between two of one type
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_one, _two = struct.Struct("d").pack, struct.Struct("dd").pack


class Identity:
    """An object compared by identity, kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def frozen(value: Any) -> Any:
    """A hashable that is equal for values that a function cannot tell apart.

    Numbers, strings, enums, types, slices, ranges and containers of them count by type and value;
    any other object by identity. A later change of a container does not change its frozen form.
    """
    kind = type(value)
    if kind is float:
        return kind, _one(value)
    if kind is complex:
        return kind, _two(value.real, value.imag)
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if isinstance(value, tuple) or kind in (list, deque):
        return kind, tuple(map(frozen, value))
    if kind in (set, frozenset):
        return kind, frozenset(map(frozen, value))
    if kind in _DICTS:
        return kind, tuple((frozen(k), frozen(v)) for k, v in value.items())
    if kind is slice or kind is range:
        return kind, frozen((value.start, value.stop, value.step))
    if isinstance(value, _BY_VALUE):
        return kind, value
    return Identity(value)


def identical(a: Any, b: Any) -> bool:
    """frozen(a) == frozen(b), quick where the parts are the same objects."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in _PLAIN:
        return bool(a == b)
    if kind is float:
        return a is b or _one(a) == _one(b)
    if kind is list or kind is tuple:
        return len(a) == len(b) and all(map(identical, a, b))
    if kind in _DICTS:
        return len(a) == len(b) and all(
            identical(k, m) and identical(v, w) for (k, v), (m, w) in zip(a.items(), b.items())
        )
    return bool(frozen(a) == frozen(b))
