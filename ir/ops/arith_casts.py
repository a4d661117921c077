"""MLIR's `arith` casts: between float widths, integer widths, floats and integers, and `index`.

In MLIR a cast's result type is written after the arrow alone. Type rules here see operand types and
attributes only, so each cast also carries the result type as the attribute `to`, which MLIR keeps
as a discardable one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.ops.arith import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    expect_scalar,
    signless,
    unsigned,
)
from gradc.ir.types import ScalarType, Type, index, to_numpy


def _cast(
    sources: tuple[ScalarType, ...], targets: tuple[ScalarType, ...], order: str = ""
) -> Callable[..., Any]:
    """Type rule of a cast; `order` says how the widths compare: "wider", "narrower", "same"."""

    def infer(x: Type, *, to: Any, fastmath: Any = None) -> ScalarType:
        source = expect_scalar(x, sources)
        target = expect_scalar(to, targets, "the attribute `to`")
        good = {
            "": True,
            "wider": target.bits > source.bits,
            "narrower": target.bits < source.bits,
            "same": target.bits == source.bits and index not in (source, target),
        }[order]
        if not good:
            raise TypeRuleError(f"expected a {order} result type, got {source} to {target}")
        return target

    return infer


def _astype(read: Callable[[Any], Any]) -> Callable[..., Any]:
    def evaluate(x: Any, *, to: ScalarType, fastmath: Any = None) -> np.ndarray:
        return read(x).astype(to_numpy(to))

    return evaluate


class _Cast(Loop):
    vjp = NOT_DIFFERENTIABLE


class ExtF(_Cast, name="arith.extf"):
    """A float as a wider one."""

    infer = _cast(FLOAT_TYPES, FLOAT_TYPES, "wider")
    evaluate = _astype(np.asarray)


class TruncF(_Cast, name="arith.truncf"):
    """A float as a narrower one, rounded to nearest even."""

    infer = _cast(FLOAT_TYPES, FLOAT_TYPES, "narrower")
    evaluate = _astype(np.asarray)


class ExtSI(_Cast, name="arith.extsi"):
    """Sign extension; a set i1 becomes -1."""

    infer = _cast(INTEGER_TYPES, INTEGER_TYPES, "wider")

    def evaluate(x: Any, *, to: ScalarType) -> np.ndarray:
        x = signless(x)
        wide = x.astype(to_numpy(to))
        return -wide if x.dtype == bool else wide


class ExtUI(_Cast, name="arith.extui"):
    """Zero extension."""

    infer = _cast(INTEGER_TYPES, INTEGER_TYPES, "wider")
    evaluate = _astype(unsigned)


class TruncI(_Cast, name="arith.trunci"):
    """The low bits."""

    infer = _cast(INTEGER_TYPES, INTEGER_TYPES, "narrower")

    def evaluate(x: Any, *, to: ScalarType) -> np.ndarray:
        x = signless(x)
        return (x & 1).astype(bool) if to.is_bool else x.astype(to_numpy(to))


class SIToFP(_Cast, name="arith.sitofp"):
    """A signed integer as a float."""

    infer = _cast(INTEGER_TYPES, FLOAT_TYPES)

    def evaluate(x: Any, *, to: ScalarType) -> np.ndarray:
        x = signless(x)
        return (-x.astype(np.int8) if x.dtype == bool else x).astype(to_numpy(to))


class UIToFP(_Cast, name="arith.uitofp"):
    """An unsigned integer as a float."""

    infer = _cast(INTEGER_TYPES, FLOAT_TYPES)
    evaluate = _astype(unsigned)


class FPToSI(_Cast, name="arith.fptosi"):
    """A float as a signed integer, truncated; undefined out of range and for NaN."""

    infer = _cast(FLOAT_TYPES, INTEGER_TYPES)
    evaluate = _astype(np.asarray)


class FPToUI(_Cast, name="arith.fptoui"):
    """A float as an unsigned integer, truncated; undefined out of range and for NaN."""

    infer = _cast(FLOAT_TYPES, INTEGER_TYPES)

    def evaluate(x: Any, *, to: ScalarType) -> np.ndarray:
        x = np.asarray(x)
        return x.astype(bool) if to.is_bool else signless(x.astype(f"uint{to.bits}"))


class IndexCast(_Cast, name="arith.index_cast"):
    """Between `index` and an integer: truncation or sign extension."""

    infer = _cast((*INTEGER_TYPES, index), (*INTEGER_TYPES, index))

    def evaluate(x: Any, *, to: ScalarType) -> np.ndarray:
        x = signless(x)
        if to.is_bool:
            return (x & 1).astype(bool)
        wide = x.astype(to_numpy(to))
        return -wide if x.dtype == bool else wide


class IndexCastUI(_Cast, name="arith.index_castui"):
    """Between `index` and an integer: truncation or zero extension."""

    infer = _cast((*INTEGER_TYPES, index), (*INTEGER_TYPES, index))

    def evaluate(x: Any, *, to: ScalarType) -> np.ndarray:
        x = unsigned(x)
        return (x & 1).astype(bool) if to.is_bool else x.astype(to_numpy(to))


class Bitcast(_Cast, name="arith.bitcast"):
    """The same bits under a type of the same width."""

    infer = _cast((*FLOAT_TYPES, *INTEGER_TYPES), (*FLOAT_TYPES, *INTEGER_TYPES), "same")

    def evaluate(x: Any, *, to: ScalarType) -> np.ndarray:
        return np.asarray(x).view(to_numpy(to))
