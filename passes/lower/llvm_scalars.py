"""Scalar operations (`arith`, `math`, `complex`) as LLVM instructions.

Half precision computes in f32 and rounds after each operation. Floating operations may contract
into fused multiply-adds unless their `fastmath` says otherwise; reassociation is only where it
allows it. No operation assumes the absence of NaN or infinities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.core import OpaqueAttribute, Operation, Value
from gradc.ir.ops import arith, arith_casts, arith_integers, complex, math
from gradc.ir.types import ScalarType, f16, f32, f64, i1
from gradc.passes.lower.llvm_function import FunctionEmitter, emits, literal
from gradc.passes.lower.llvm_module import is_reassociable, llvm_type

FLOAT_BINARY: dict[type[Operation], str] = {
    arith.AddF: "fadd",
    arith.SubF: "fsub",
    arith.MulF: "fmul",
    arith.DivF: "fdiv",
    arith.RemF: "frem",
}
INTEGER_BINARY: dict[type[Operation], str] = {
    arith_integers.AddI: "add",
    arith_integers.SubI: "sub",
    arith_integers.MulI: "mul",
    arith_integers.AndI: "and",
    arith_integers.OrI: "or",
    arith_integers.XOrI: "xor",
    arith_integers.DivSI: "sdiv",
    arith_integers.DivUI: "udiv",
    arith_integers.RemSI: "srem",
    arith_integers.RemUI: "urem",
    arith_integers.ShLI: "shl",
    arith_integers.ShRSI: "ashr",
    arith_integers.ShRUI: "lshr",
}
INTRINSICS: dict[type[Operation], str] = {
    arith.MaximumF: "maximum",
    arith.MinimumF: "minimum",
    arith_integers.MaxSI: "smax",
    arith_integers.MinSI: "smin",
    arith_integers.MaxUI: "umax",
    arith_integers.MinUI: "umin",
    math.AbsF: "fabs",
    math.Sqrt: "sqrt",
    math.Floor: "floor",
    math.Ceil: "ceil",
    math.Trunc: "trunc",
    math.RoundEven: "roundeven",
    math.CopySign: "copysign",
    math.FMA: "fma",
}
# Left to the C library: slow, not vectorised. `expand_math` replaces what it can before.
LIBRARY: dict[type[Operation], str] = {
    math.Exp: "exp",
    math.Exp2: "exp2",
    math.ExpM1: "expm1",
    math.Log: "log",
    math.Log2: "log2",
    math.Log10: "log10",
    math.Log1P: "log1p",
    math.Sin: "sin",
    math.Cos: "cos",
    math.Tan: "tan",
    math.ASin: "asin",
    math.ACos: "acos",
    math.ATan: "atan",
    math.ATan2: "atan2",
    math.Sinh: "sinh",
    math.Cosh: "cosh",
    math.Tanh: "tanh",
    math.ASinh: "asinh",
    math.ACosh: "acosh",
    math.ATanh: "atanh",
    math.Erf: "erf",
    math.Erfc: "erfc",
    math.Cbrt: "cbrt",
    math.PowF: "pow",
}
CASTS: dict[type[Operation], str] = {
    arith_casts.ExtF: "fpext",
    arith_casts.TruncF: "fptrunc",
    arith_casts.ExtSI: "sext",
    arith_casts.ExtUI: "zext",
    arith_casts.TruncI: "trunc",
    arith_casts.SIToFP: "sitofp",
    arith_casts.UIToFP: "uitofp",
    arith_casts.FPToSI: "fptosi",
    arith_casts.FPToUI: "fptoui",
    arith_casts.Bitcast: "bitcast",
}
WIDTH_SUFFIX = {"float": "f", "double": ""}
_CMPF = list(arith.CMPF)
_CMPI = list(arith_integers.CMPI)


def _flags(op: Operation) -> str:
    fastmath = op.attributes.get("fastmath")
    if is_reassociable(fastmath):
        return "reassoc contract "
    if isinstance(fastmath, OpaqueAttribute) and "contract" not in fastmath.text:
        return ""
    return "contract "


def _wide(e: FunctionEmitter, value: Value) -> tuple[str, str]:
    """(LLVM type, operand) of a float, half precision widened to float."""
    if value.type is f16:
        return "float", e.pure(f"fpext half {e[value]} to float")
    return llvm_type(value.type), e[value]


def _finish(e: FunctionEmitter, op: Operation, name: str) -> None:
    """Define the float result, rounded back to half precision where it is that."""
    if op.results[0].type is f16:
        name = e.assign(f"fptrunc float {name} to half")
    e.define(op, name)


def _wide_operands(e: FunctionEmitter, op: Operation) -> tuple[str, list[str]]:
    pairs = [_wide(e, v) for v in op.operands]
    return pairs[0][0], [name for _, name in pairs]


@emits(*FLOAT_BINARY)
def _float_binary(e: FunctionEmitter, op: Operation) -> None:
    t, (x, y) = _wide_operands(e, op)
    _finish(e, op, e.assign(f"{FLOAT_BINARY[type(op)]} {_flags(op)}{t} {x}, {y}"))


@emits(arith.NegF)
def _negate(e: FunctionEmitter, op: Operation) -> None:
    (x,) = op.operands
    e.define(op, e.assign(f"fneg {llvm_type(x.type)} {e[x]}"))


@emits(arith.CmpF)
def _compare_floats(e: FunctionEmitter, op: Any) -> None:
    t, (x, y) = _wide_operands(e, op)
    e.define(op, e.assign(f"fcmp {_CMPF[op['predicate']]} {t} {x}, {y}"))


@emits(arith_integers.CmpI)
def _compare_integers(e: FunctionEmitter, op: Any) -> None:
    x, y = op.operands
    e.define(op, e.assign(f"icmp {_CMPI[op['predicate']]} {llvm_type(x.type)} {e[x]}, {e[y]}"))


@emits(*INTEGER_BINARY)
def _integer_binary(e: FunctionEmitter, op: Operation) -> None:
    x, y = op.operands
    name = INTEGER_BINARY[type(op)]
    # Index values are places in arrays, which never wrap; other integers wrap as in NumPy.
    if x.type.name == "index" and name in ("add", "sub", "mul"):
        name += " nsw"
    e.define(op, e.pure(f"{name} {llvm_type(x.type)} {e[x]}, {e[y]}"))


@emits(arith_integers.FloorDivSI)
def _floor_divide(e: FunctionEmitter, op: Operation) -> None:
    x, y = op.operands
    t = llvm_type(x.type)
    quotient = e.pure(f"sdiv {t} {e[x]}, {e[y]}")
    rest = e.pure(f"srem {t} {e[x]}, {e[y]}")
    inexact = e.pure(f"icmp ne {t} {rest}, 0")
    mixed = e.pure(f"xor {t} {rest}, {e[y]}")
    opposite = e.pure(f"icmp slt {t} {mixed}, 0")
    lower = e.pure(f"sub {t} {quotient}, 1")
    down = e.pure(f"and i1 {inexact}, {opposite}")
    e.define(op, e.assign(f"select i1 {down}, {t} {lower}, {t} {quotient}"))


def _call(e: FunctionEmitter, name: str, t: str, arguments: Sequence[str], flags: str = "") -> str:
    function = e.module.declare(name, t, [t] * len(arguments))
    shown = ", ".join(f"{t} {x}" for x in arguments)
    return e.assign(f"call {flags}{t} {function}({shown})")


SUFFIX = {"float": "f32", "double": "f64", "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32",
          "i64": "i64"}  # fmt: skip


@emits(*INTRINSICS)
def _intrinsic(e: FunctionEmitter, op: Operation) -> None:
    t, arguments = _wide_operands(e, op)
    name = _call(e, f"llvm.{INTRINSICS[type(op)]}.{SUFFIX[t]}", t, arguments)
    if op.results[0].type.is_floating:
        _finish(e, op, name)
    else:
        e.define(op, name)


@emits(arith.MaxNumF, arith.MinNumF)
def _extreme_number(e: FunctionEmitter, op: Operation) -> None:
    """By comparison: for half precision the intrinsic would become a call of fmaxf."""
    t, (x, y) = _wide_operands(e, op)
    predicate = "ogt" if isinstance(op, arith.MaxNumF) else "olt"
    better = e.assign(f"fcmp {predicate} {t} {x}, {y}")
    no_number = e.assign(f"fcmp uno {t} {y}, {y}")
    first = e.assign(f"or i1 {better}, {no_number}")
    _finish(e, op, e.assign(f"select i1 {first}, {t} {x}, {t} {y}"))


@emits(math.AbsI, math.CountLeadingZeros)
def _integer_intrinsic(e: FunctionEmitter, op: Operation) -> None:
    (x,) = op.operands
    t = llvm_type(x.type)
    name = "abs" if isinstance(op, math.AbsI) else "ctlz"
    function = e.module.declare(f"llvm.{name}.{t}", t, (t, "i1"))
    e.define(op, e.assign(f"call {t} {function}({t} {e[x]}, i1 false)"))


@emits(*LIBRARY)
def _library(e: FunctionEmitter, op: Operation) -> None:
    t, arguments = _wide_operands(e, op)
    name = f"{LIBRARY[type(op)]}{WIDTH_SUFFIX[t]}"
    parameters = [t] * len(arguments)
    function = e.module.declare(name, t, parameters, " memory(none) nounwind willreturn")
    shown = ", ".join(f"{t} {x}" for x in arguments)
    _finish(e, op, e.assign(f"call {t} {function}({shown})"))


@emits(math.IsNaN, math.IsInf, math.IsFinite)
def _classify(e: FunctionEmitter, op: Operation) -> None:
    t, (x,) = _wide_operands(e, op)
    if isinstance(op, math.IsNaN):
        e.define(op, e.assign(f"fcmp uno {t} {x}, {x}"))
        return
    size = _call(e, f"llvm.fabs.{SUFFIX[t]}", t, (x,))
    infinity = literal(float("inf"), f32 if t == "float" else f64)
    predicate = "oeq" if isinstance(op, math.IsInf) else "one"
    e.define(op, e.assign(f"fcmp {predicate} {t} {size}, {infinity}"))


@emits(*CASTS)
def _cast(e: FunctionEmitter, op: Operation) -> None:
    (x,) = op.operands
    source, target = x.type, op.results[0].type
    name, operand, t = CASTS[type(op)], e[x], llvm_type(source)
    if target is f16 and source is f64:
        operand, t = _round_to_odd(e, operand), "float"
    elif target is f16 and name in ("sitofp", "uitofp") and source is not i1:
        # Through f64, which holds the integer up to 2**53; beyond, f16 is infinite anyway.
        operand = _round_to_odd(e, e.assign(f"{name} {t} {operand} to double"))
        name, t = "fptrunc", "float"
    elif source is f16 and name not in ("bitcast", "fpext"):
        operand, t = e.pure(f"fpext half {operand} to float"), "float"
    e.define(op, e.assign(f"{name} {t} {operand} to {llvm_type(target)}"))


def _round_to_odd(e: FunctionEmitter, x: str) -> str:
    """f64 to f32, inexact results made odd, so that rounding again to f16 is rounding once."""
    near = e.assign(f"fptrunc double {x} to float")
    back = e.assign(f"fpext float {near} to double")
    bits = e.assign(f"bitcast float {near} to i32")
    wide = e.assign(f"call double {e.module.declare('llvm.fabs.f64', 'double', ('double',))}"
                    f"(double {x})")  # fmt: skip
    size = e.assign(f"call double {e.module.declare('llvm.fabs.f64', 'double', ('double',))}"
                    f"(double {back})")  # fmt: skip
    # Truncate: when rounding went away from zero, step one unit back; then set the last bit.
    above = e.assign(f"fcmp ogt double {size}, {wide}")
    step = e.assign(f"zext i1 {above} to i32")
    lower = e.assign(f"sub i32 {bits}, {step}")
    odd = e.assign(f"or i32 {lower}, 1")
    inexact = e.assign(f"fcmp one double {size}, {wide}")
    chosen = e.assign(f"select i1 {inexact}, i32 {odd}, i32 {bits}")
    return e.assign(f"bitcast i32 {chosen} to float")


@emits(arith_casts.IndexCast, arith_casts.IndexCastUI)
def _index_cast(e: FunctionEmitter, op: Operation) -> None:
    (x,) = op.operands
    source, target = llvm_type(x.type), llvm_type(op.results[0].type)
    if source == target:
        e.values[op.results[0]] = e.values[x]
        return
    narrower = x.type.bits > op.results[0].type.bits
    extend = "sext" if isinstance(op, arith_casts.IndexCast) else "zext"
    name = "trunc" if narrower else extend
    e.define(op, e.pure(f"{name} {source} {e[x]} to {target}"))


@emits(arith.Select)
def _select(e: FunctionEmitter, op: Operation) -> None:
    condition, x, y = op.operands
    names = []
    part: ScalarType = x.type.real if x.type.is_complex else x.type
    t = llvm_type(part)
    for first, second in zip(e.values[x], e.values[y]):
        names.append(e.assign(f"select i1 {e[condition]}, {t} {first}, {t} {second}"))
    e.define(op, *names)


@emits(arith.Constant)
def _constant(e: FunctionEmitter, op: Any) -> None:
    t = op.result.type
    if t.name == "index":
        e.define(op, e.integer(op.number))
    else:
        e.define(op, literal(op.number, t))


@emits(complex.Re, complex.Im)
def _part(e: FunctionEmitter, op: Operation) -> None:
    real, imaginary = e.values[op.operands[0]]
    e.define(op, imaginary if isinstance(op, complex.Im) else real)


@emits(complex.Create)
def _create(e: FunctionEmitter, op: Operation) -> None:
    e.define(op, *(e[v] for v in op.operands))
