"""NumPy's ufuncs on tracers: promotion by NumPy's own loops, then the operation from the registry.

An operation whose `evaluate` is the ufunc serves it (Op.numpy_names). `ufunc_loops.py` has the
ufuncs, and loops of ufuncs, that are written in several operations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    broadcast_shapes,
    is_number,
    kind_of,
    operand,
    resolve,
    shape_of,
    typed,
)  # fmt: skip
from gradc.frontend.table import TABLE
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer
from gradc.frontend.unknown import unknown_function
from gradc.ir import ops  # noqa: F401  (registers the operations)
from gradc.ir.opdef import REGISTRY, Op
from gradc.ir.types import from_numpy, i1
from gradc.numpy_functions.ufunc_loops import LOOPS

Emit = Callable[..., Any]
_COMPARISONS: dict[Any, Callable[[Any, Any], Any]] = {
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt,
    np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip
_OPS: dict[np.ufunc, type[Op]] = {}


def _registered() -> None:
    for cls in REGISTRY.values():
        for name in cls.numpy_names():
            module, _, own = name.rpartition(".")
            if module == "numpy" and isinstance(getattr(np, own, None), np.ufunc):
                _OPS[getattr(np, own)] = cls


_registered()


def call(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    signature: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    sig: Any = None,
) -> Any:
    """ufunc(*inputs): a tracer, or a tuple for ufuncs with several outputs."""
    if is_out(out):
        raise TracingError(
            f"np.{ufunc.__name__}(..., out=...) stores into an array: use the result instead, "
            f"`y = np.{ufunc.__name__}(...)`"
        )
    if where is not True:
        raise TracingError(
            f"np.{ufunc.__name__}(..., where=...) leaves elements undefined: write "
            f"np.where(condition, np.{ufunc.__name__}(...), other)"
        )
    if len(inputs) > ufunc.nin:
        raise TracingError(
            f"np.{ufunc.__name__}(..., out) stores into an array: use the result instead"
        )
    if len(inputs) < ufunc.nin:
        raise TypeError(
            f"{ufunc.__name__}() takes from {ufunc.nin} to {ufunc.nin + ufunc.nout} positional "
            f"arguments but {len(inputs)} were given"
        )
    operands = [operand(x) for x in inputs]
    if dtype is not None:
        signature = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
    kinds = [kind_of(x) for x in operands]
    dtypes = resolve(ufunc, kinds, signature if signature is not None else sig, casting)
    return run(ufunc, operands, dtypes)


def run(ufunc: np.ufunc, operands: list[Any], dtypes: tuple[np.dtype[Any], ...]) -> Any:
    """The loop with these dtypes on the operands, broadcast together."""
    shape = broadcast_shapes(*map(shape_of, operands))
    special = _at_literal(ufunc, operands, dtypes, shape)
    if special is not None:
        return special
    converted = [typed(x, d, shape) for x, d in zip(operands, dtypes)]
    return emit(ufunc, converted, dtypes[ufunc.nin :])


def emit(ufunc: np.ufunc, converted: list[Tracer], outputs: Any) -> Any:
    """The operations of one loop, on operands of its input dtypes and of one shape."""
    loop = LOOPS.get(ufunc)
    found = loop(ufunc, *converted) if loop is not None else None
    if found is None:
        cls = _OPS.get(ufunc)
        if cls is None:
            raise unknown_function(ufunc)
        found = apply(cls.mnemonic(), *converted)
    if isinstance(found, tuple):
        return tuple([typed(x, d) for x, d in zip(found, outputs)])
    if any(found is x for x in converted):
        found = Tracer(found.value, found.owner)  # +x is an array of its own
    return typed(found, outputs[0])


def _at_literal(ufunc: np.ufunc, operands: list[Any], dtypes: Any, shape: Any) -> Any:
    """What depends on a Python number among the operands; None in general."""
    numbers = [k for k, x in enumerate(operands) if is_number(x) and not isinstance(x, bool)]
    if len(numbers) != 1 or len(operands) != 2:
        return None
    (at,) = numbers
    number, element = operands[at], from_numpy(dtypes[at])
    if ufunc is np.maximum and number == 0 and element.is_floating:
        # ReLU: slope 0 at 0, unlike the ties of two arrays.
        return apply("relu", typed(operands[1 - at], dtypes[0]))
    if not (isinstance(number, int) and element.is_integer):
        return None
    if ufunc is np.power and at == 1 and number < 0 and element.kind == "i":
        raise ValueError("Integers to negative integer powers are not allowed.")
    compare = _COMPARISONS.get(ufunc)
    info = np.iinfo(dtypes[at])
    if compare is not None and not info.min <= number <= info.max:
        # Outside the dtype's range the number is on one side of every element.
        return filled(compare(0, number) if at == 1 else compare(number, 0), shape, i1)
    return None


def is_out(out: Any) -> bool:
    """Is an output array given?"""
    return out is not None and not (isinstance(out, tuple) and all(x is None for x in out))


# --------------------------------------------------------------------- the table

_GENERALIZED = frozenset((np.matmul, np.vecdot, np.matvec, np.vecmat) if hasattr(np, "matvec")
                         else (np.matmul, np.vecdot))  # fmt: skip


def _enter(ufunc: np.ufunc) -> None:
    def entry(*inputs: Any, **kwargs: Any) -> Any:
        return call(ufunc, *inputs, **kwargs)

    entry.__name__ = ufunc.__name__
    TABLE[ufunc] = entry


for _ufunc in list(vars(np).values()):  # not dir(np): that loads np.testing, np.f2py, ...
    if isinstance(_ufunc, np.ufunc) and _ufunc not in _GENERALIZED:
        if _ufunc in _OPS or _ufunc in LOOPS:
            _enter(_ufunc)
