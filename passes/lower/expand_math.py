"""Replaces the transcendental operations of `math` by branch-free arithmetic (polynomials/).

On a CPU LLVM has no vector versions of these; as sequences of arith, fma, sqrt and rounding they
vectorise with the loop around them. f32 and f64 are computed in their own precision, f16 in f32.
What stays are the operations that are instructions: fma, sqrt, floor, ceil, trunc, roundeven, absf,
copysign. The errors are in docs/math-accuracy.md: at most 2 ulp, pow 4 ulp.
"""

from __future__ import annotations

from collections.abc import Callable

from gradc.ir.builder import Builder
from gradc.ir.core import Block, Operation, Value
from gradc.ir.opdef import Op
from gradc.ir.ops import arith_casts as casts
from gradc.ir.ops import math
from gradc.ir.types import f16, f32, f64
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials import (
    circular,
    error_function,
    exponential,
    inverse,
    logarithm,
    power,
)
from gradc.passes.manager import Pass

Expansion = Callable[..., Value]

EXPANSIONS: dict[type[Op], Expansion] = {
    math.Exp: exponential.exp,
    math.Exp2: exponential.exp2,
    math.ExpM1: exponential.expm1,
    math.Sinh: exponential.sinh,
    math.Cosh: exponential.cosh,
    math.Tanh: exponential.tanh,
    math.Log: logarithm.log,
    math.Log2: logarithm.log2,
    math.Log10: logarithm.log10,
    math.Log1P: logarithm.log1p,
    math.ASinh: logarithm.asinh,
    math.ACosh: logarithm.acosh,
    math.ATanh: logarithm.atanh,
    math.Sin: circular.sin,
    math.Cos: circular.cos,
    math.Tan: circular.tan,
    math.ASin: inverse.asin,
    math.ACos: inverse.acos,
    math.ATan: inverse.atan,
    math.ATan2: inverse.atan2,
    math.Erf: error_function.erf,
    math.Erfc: error_function.erfc,
    math.Cbrt: power.cbrt,
    math.PowF: power.pow,
}


def expand(a: Arithmetic, op: Operation, expansion: Expansion) -> Value:
    """The value of `op` through its expansion, in f32 for f16."""
    operands = list(op.operands)
    if op.results[0].type is f16:
        wide = [a.cast(casts.ExtF, x, f32) for x in operands]
        return a.cast(casts.TruncF, expansion(a, *wide), f16)
    return expansion(a, *operands)


def expand_block(block: Block) -> None:
    """Expand the operations of a block and of the regions in it."""
    if not any(type(op) in EXPANSIONS or op.regions for op in block.ops):
        return
    done = Block()
    builder = Builder(done)
    arithmetic = Arithmetic(builder)
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                expand_block(inner)
        expansion = EXPANSIONS.get(type(op))  # type: ignore[arg-type]
        if expansion is None or op.results[0].type not in (f16, f32, f64):
            done.append(op)
            continue
        builder.location = op.location
        value = expand(arithmetic, op, expansion)
        op.results[0].replace_by(value)
        op.drop_uses()
    block.replace_ops(done.ops)


def expand_math(op: Operation) -> None:
    """Expand everything in the regions of `op`, a function of the loop level."""
    for region in op.regions:
        for block in region.blocks:
            expand_block(block)


class ExpandMath(Pass, name="expand-math"):
    """Replace transcendental functions by branch-free polynomials that vectorise."""

    def run(self, op: Operation) -> None:
        expand_math(op)
