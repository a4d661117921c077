"""Scalar operations as Python expressions that Numba compiles and plain Python runs.

Every expression gives a value of exactly its operation's type, under Numba's promotion rules (int32
+ int32 is int64) and under NumPy's: casts are written where one of them needs it. bool is i1, index
an int."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.ir.core import Operation
from gradc.ir.ops import arith, arith_casts, arith_integers, complex, kernel, math
from gradc.ir.types import ScalarType, i1, index

NUMPY = {
    "i8": "np.int8", "i16": "np.int16", "i32": "np.int32", "i64": "np.int64", "f16": "np.float16",
    "f32": "np.float32", "f64": "np.float64", "c64": "np.complex64", "c128": "np.complex128",
    "index": "int", "i1": "bool",
}  # fmt: skip

# Functions that the emitted module defines when it uses them.
HELPERS = {
    "fma": '''
@njit
def fma(a, b, c):
    """a * b + c with one rounding: the product and the sum with their errors (Dekker, Knuth)."""
    p = a * b
    if not np.isfinite(p) or abs(a) > 1e150 or abs(b) > 1e150:
        return p + c
    s = 134217729.0 * a
    ah = s - (s - a)
    s = 134217729.0 * b
    bh = s - (s - b)
    al, bl = a - ah, b - bh
    low = ((ah * bh - p) + ah * bl + al * bh) + al * bl
    total = p + c
    back = total - p
    return total + (((p - (total - back)) + (c - back)) + low)
''',
    "maximum": '''
@njit
def maximum(x, y):
    """The larger; NaN if either is NaN; +0 above -0."""
    if x != x or x > y or (x == y and not np.signbit(x)):
        return x
    return y
''',
    "minimum": '''
@njit
def minimum(x, y):
    """The smaller; NaN if either is NaN; -0 below +0."""
    if x != x or x < y or (x == y and np.signbit(x)):
        return x
    return y
''',
    "maxnum": '''
@njit
def maxnum(x, y):
    """The larger; the other one if one is NaN."""
    return x if x > y or y != y else y
''',
    "minnum": '''
@njit
def minnum(x, y):
    """The smaller; the other one if one is NaN."""
    return x if x < y or y != y else y
''',
    "truncated": '''
@njit
def truncated(x, y):
    """x / y rounded towards zero."""
    q = x // y
    return q + 1 if q < 0 and q * y != x else q
''',
    "leading_zeros": '''
@njit
def leading_zeros(x, width):
    """The zero bits above the highest one of the low `width` bits."""
    count = 0
    while count < width and not (int(x) >> (width - 1 - count)) & 1:
        count += 1
    return count
''',
}

Names = Callable[..., str]
Expression = Callable[[Any, list[str], set[str]], str]
EXPRESSIONS: dict[type[Operation], Expression] = {}


def _kind(op: Operation) -> ScalarType:
    return op.operands[0].type


def cast(text: str, t: ScalarType) -> str:
    return f"{NUMPY[t.name]}({text})"


def _register(classes: Any, make: Callable[[str], Expression]) -> None:
    for cls, spelling in classes.items():
        EXPRESSIONS[cls] = make(spelling)


def _operator(symbol: str) -> Expression:
    return lambda op, x, helpers: f"{x[0]} {symbol} {x[1]}"


def _integer_operator(symbol: str) -> Expression:
    """Wrapped to the type, unless it is an index (never wraps) or i64 (wraps by itself)."""

    def expression(op: Any, x: list[str], helpers: set[str]) -> str:
        t = _kind(op)
        text = f"{x[0]} {symbol} {x[1]}"
        if t is i1:
            return text if symbol in "&|^" else f"{x[0]} {'!=' if symbol in '+-' else '&'} {x[1]}"
        return text if t is index else cast(text, t)

    return expression


def _unsigned(symbol: str) -> Expression:
    """The operands read as unsigned."""

    def expression(op: Any, x: list[str], helpers: set[str]) -> str:
        t = _kind(op)
        if t is i1:
            return f"bool(np.uint8({x[0]}) {symbol} np.uint8({x[1]}))"
        return cast(f"{unsigned(x[0], t)} {symbol} {unsigned(x[1], t)}", t)

    return expression


def unsigned(text: str, t: ScalarType) -> str:
    if t is index:
        return f"np.uint64(np.int64({text}))"
    return f"np.uint8({text})" if t is i1 else f"np.uint{t.bits}({text})"


def _helper(name: str, cast_result: bool = False) -> Expression:
    def expression(op: Any, x: list[str], helpers: set[str]) -> str:
        helpers.add(name)
        text = f"{name}({', '.join(x)})"
        return cast(text, op.results[0].type) if cast_result else text

    return expression


def _call(function: str) -> Expression:
    """A NumPy function; the cast keeps float32 where Numba's version widens."""
    return lambda op, x, helpers: cast(f"{function}({', '.join(x)})", op.results[0].type)


_register(
    {arith.AddF: "+", arith.SubF: "-", arith.MulF: "*", arith.DivF: "/"},
    _operator,
)
_register(
    {
        arith_integers.AddI: "+", arith_integers.SubI: "-", arith_integers.MulI: "*",
        arith_integers.AndI: "&", arith_integers.OrI: "|", arith_integers.XOrI: "^",
        arith_integers.FloorDivSI: "//", arith_integers.ShLI: "<<", arith_integers.ShRSI: ">>",
    },
    _integer_operator,
)  # fmt: skip
_register(
    {arith_integers.ShRUI: ">>", arith_integers.DivUI: "//", arith_integers.RemUI: "%"},
    _unsigned,
)
_register(
    {
        math.AbsF: "abs", math.Sqrt: "np.sqrt", math.Floor: "np.floor", math.Ceil: "np.ceil",
        math.Trunc: "np.trunc", math.RoundEven: "np.rint", math.CopySign: "np.copysign",
        math.Exp: "np.exp", math.Exp2: "np.exp2", math.ExpM1: "np.expm1", math.Log: "np.log",
        math.Log2: "np.log2", math.Log10: "np.log10", math.Log1P: "np.log1p", math.Sin: "np.sin",
        math.Cos: "np.cos", math.Tan: "np.tan", math.ASin: "np.arcsin", math.ACos: "np.arccos",
        math.ATan: "np.arctan", math.ATan2: "np.arctan2", math.Sinh: "np.sinh",
        math.Cosh: "np.cosh", math.Tanh: "np.tanh", math.ASinh: "np.arcsinh",
        math.ACosh: "np.arccosh", math.ATanh: "np.arctanh", math.Erf: "math.erf",
        math.Erfc: "math.erfc", math.Cbrt: "np.cbrt", math.PowF: "np.power",
        arith.RemF: "np.fmod", math.AbsI: "abs",
    },
    _call,
)  # fmt: skip
_register({math.IsNaN: "np.isnan", math.IsInf: "np.isinf", math.IsFinite: "np.isfinite"}, _call)
_register(
    {arith.MaximumF: "maximum", arith.MinimumF: "minimum", arith.MaxNumF: "maxnum",
     arith.MinNumF: "minnum"},
    _helper,
)  # fmt: skip
EXPRESSIONS[arith.NegF] = lambda op, x, helpers: f"-{x[0]}"
EXPRESSIONS[arith_integers.DivSI] = _helper("truncated", True)


def _remainder(op: Any, x: list[str], helpers: set[str]) -> str:
    helpers.add("truncated")
    return cast(f"{x[0]} - {x[1]} * truncated({x[0]}, {x[1]})", op.results[0].type)


EXPRESSIONS[arith_integers.RemSI] = _remainder


def _extreme(function: str, read: bool) -> Expression:
    def expression(op: Any, x: list[str], helpers: set[str]) -> str:
        t = _kind(op)
        names = [unsigned(n, t) for n in x] if read else x
        return cast(f"{function}({', '.join(names)})", t)

    return expression


for _cls, _function, _read in (
    (arith_integers.MaxSI, "max", False), (arith_integers.MinSI, "min", False),
    (arith_integers.MaxUI, "max", True), (arith_integers.MinUI, "min", True),
):  # fmt: skip
    EXPRESSIONS[_cls] = _extreme(_function, _read)


def _fma(op: Any, x: list[str], helpers: set[str]) -> str:
    if op.results[0].type.bits == 64:
        helpers.add("fma")
        return f"fma({', '.join(x)})"
    # In float64 the product of two float32 is exact.
    a, b, c = (f"np.float64({n})" for n in x)
    return cast(f"{a} * {b} + {c}", op.results[0].type)


EXPRESSIONS[math.FMA] = _fma


def _leading_zeros(op: Any, x: list[str], helpers: set[str]) -> str:
    helpers.add("leading_zeros")
    t = _kind(op)
    return cast(f"leading_zeros({x[0]}, {t.bits})", t)


EXPRESSIONS[math.CountLeadingZeros] = _leading_zeros

COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compare_integers(op: Any, x: list[str], helpers: set[str]) -> str:
    name = list(arith_integers.CMPI)[op["predicate"]]
    t = _kind(op)
    names = [unsigned(n, t) for n in x] if name[0] == "u" else x
    return f"{names[0]} {COMPARISONS[name[-2:]]} {names[1]}"


def _compare_floats(op: Any, x: list[str], helpers: set[str]) -> str:
    name = list(arith.CMPF)[op["predicate"]]
    a, b = x
    neither = f"{a} == {a} and {b} == {b}"
    either = f"{a} != {a} or {b} != {b}"
    if name in ("false", "true"):
        return name.capitalize()
    if name in ("ord", "uno"):
        return f"({neither})" if name == "ord" else f"({either})"
    plain = f"{a} {COMPARISONS[name[1:]]} {b}"
    if name == "one":
        return f"({plain} and {neither})"
    # Python's comparisons are ordered, except !=.
    return plain if name[0] == "o" or name == "une" else f"({plain} or {either})"


EXPRESSIONS[arith_integers.CmpI] = _compare_integers
EXPRESSIONS[arith.CmpF] = _compare_floats
EXPRESSIONS[arith.Select] = lambda op, x, helpers: f"({x[1]} if {x[0]} else {x[2]})"


def _plain_cast(op: Any, x: list[str], helpers: set[str]) -> str:
    return cast(x[0], op.results[0].type)


def _cast_integer(op: Any, x: list[str], helpers: set[str]) -> str:
    source, target = _kind(op), op.results[0].type
    if target is i1:
        return f"({x[0]} & 1) != 0"
    if source is i1 and isinstance(op, arith_casts.ExtSI | arith_casts.SIToFP):
        return cast(f"-np.int8({x[0]})", target)
    if isinstance(op, arith_casts.ExtUI | arith_casts.UIToFP | arith_casts.IndexCastUI):
        return cast(unsigned(x[0], source), target)
    return cast(x[0], target)


for _cast_op in (arith_casts.ExtF, arith_casts.TruncF, arith_casts.FPToSI):
    EXPRESSIONS[_cast_op] = _plain_cast
for _integer_cast in (arith_casts.ExtSI, arith_casts.ExtUI, arith_casts.TruncI, arith_casts.SIToFP,
             arith_casts.UIToFP, arith_casts.IndexCast, arith_casts.IndexCastUI):  # fmt: skip
    EXPRESSIONS[_integer_cast] = _cast_integer
EXPRESSIONS[arith_casts.FPToUI] = lambda op, x, helpers: cast(
    f"np.uint{max(8, op.results[0].type.bits)}({x[0]})", op.results[0].type
)
EXPRESSIONS[arith_casts.Bitcast] = lambda op, x, helpers: (
    f"{x[0]}.view({NUMPY[op.results[0].type.name]})"
)


def number(value: Any, t: ScalarType) -> str:
    """A constant of the type."""
    if t is i1:
        return str(bool(value))
    if t is index:
        return str(int(value))
    if t.is_integer:
        return cast(str(int(value)), t)
    text = repr(float(value))
    if text.lstrip("-") in ("inf", "nan"):
        text = f"{'-' if text[0] == '-' else ''}np.{text.lstrip('-')}"
    return cast(text, t)


EXPRESSIONS[arith.Constant] = lambda op, x, helpers: number(op.number, op.results[0].type)
EXPRESSIONS[kernel.Number] = lambda op, x, helpers: number(
    getattr(op["value"], "value", op["value"]), op.results[0].type
)
EXPRESSIONS[complex.Re] = lambda op, x, helpers: f"{x[0]}.real"
EXPRESSIONS[complex.Im] = lambda op, x, helpers: f"{x[0]}.imag"
EXPRESSIONS[complex.Create] = lambda op, x, helpers: cast(
    f"complex({x[0]}, {x[1]})", op.results[0].type
)
