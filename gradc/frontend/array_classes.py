"""Subclasses of ndarray. Those that only add names or memory (memmap, recarray) are their arrays; a
class with an arithmetic of its own (a mask, units, matrix products) would be computed wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np

_ARITHMETIC = (
    "__array_ufunc__", "__array_function__", "__add__", "__radd__", "__sub__", "__mul__",
    "__rmul__", "__truediv__", "__pow__", "__matmul__", "__eq__", "__lt__",
)  # fmt: skip


def own_arithmetic(value: Any) -> str | None:
    """Why an array cannot be traced for its class, as `is ...: what to do`; None when it can."""
    kind = type(value)
    if kind is np.ndarray or not isinstance(value, np.ndarray):
        return None
    if kind.__module__.startswith("numpy.ma"):
        return "is a masked array: pass its data and its mask as two arrays"
    if isinstance(value, np.matrix):
        return "is an np.matrix: pass np.asarray(matrix), a plain array"
    changed = [name for name in _ARITHMETIC if getattr(kind, name) is not getattr(np.ndarray, name)]
    if changed:
        return (
            f"is a {kind.__name__}, an array class with its own {changed[0]}, which compiled code "
            "would not follow: pass np.asarray(array), a plain array"
        )
    return None
