"""The reduction of huge angles modulo pi/2 without branches.

After M. H. Payne and R. N. Hanek (1983). f64: the bits of 2/pi are cut into pieces of 53. For
abs(x) = y 2**(53 b) with y in [2**45, 2**98) only the pieces b - 1 to b + 3 decide about x 2/pi
modulo 4 and its fraction: earlier ones contribute multiples of 4, later ones less than 2**-114,
while no f64 comes closer than 2**-62 to a multiple of pi/2. The window of five pieces is found by
halving. f32: pieces of 29 bits, whose products with 24 bits are exact; five of them, from one of
three places.
"""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.types import f64
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.formats import F64, quick_two_sum, two_product, two_sum

LIMIT = 2.0**45
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
PIECE = 53
# 0, then the bits of 2/pi after the binary point, 53 a number.
DIGITS = (
    0.0, 5734161139222658.0, 5814151408469972.0, 7440259586542284.0,
    5563773718881558.0, 2066796102992750.0, 2563573915284664.0, 55291115753100.0,
    5098427330010289.0, 1465545334474430.0, 5835026907506289.0, 6776677510095004.0,
    7069188010357663.0, 2595984518904818.0, 2831001892290551.0, 4552804911380620.0,
    3195225570766134.0, 4461702110328553.0, 8190251822055336.0, 6397593724909042.0,
    8751785341853560.0, 5811081437509311.0, 3456741467624832.0,
)  # fmt: skip

# 2/pi as a sum of numbers of 29 bits.
SHORT_DIGITS = (
    0.636619770899415, 1.4681663246252086e-09, 2.2760100671971816e-18,
    5.8812147387730434e-27, 1.0346868700836215e-35, 3.783256351091319e-45,
    3.720474878517739e-53, 4.227114694466663e-62, 1.0627463213207345e-70,
)  # fmt: skip


def _modulo_4(a: Arithmetic, t: Value) -> Value:
    return a.fma(a.rint(a.mul(t, 0.25)), -4.0, t)


def far_reduced_single(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """r in [-pi/4, pi/4] and bits whose low two are those of n, for x = n pi/2 + r: an f32 value
    of at least LIMIT, as f64."""
    size = a.abs(x)
    second, third = a.cmp("oge", size, 2.0**74), a.cmp("oge", size, 2.0**103)
    products = []
    for k in range(5):
        first, middle, last = (a.const(SHORT_DIGITS[k + b], f64) for b in range(3))
        products.append(a.mul(x, a.select(third, last, a.select(second, middle, first))))
    large, medium, small = (_modulo_4(a, p) for p in products[:3])
    total, error = two_sum(a, a.add(large, medium), small)
    shifted = a.add(total, F64.magic)
    fraction = a.sub(total, a.sub(shifted, F64.magic))
    fraction = a.add(fraction, a.add(error, a.add(products[3], products[4])))
    return a.mul(fraction, HALF_PI[0]), a.bits(shifted)


def _window(a: Arithmetic, size: Value) -> tuple[Value, list[Value]]:
    """y and the five pieces for it."""
    pieces = [a.const(d, f64) for d in DIGITS]
    one = a.const(1.0, f64)
    for step in (16, 8, 4, 2, 1):
        beyond = a.cmp("oge", size, 2.0 ** (45 + PIECE * step))
        size = a.mul(size, a.select(beyond, 2.0 ** (-PIECE * step), one))
        kept = pieces[: step + 4]
        pieces = [
            a.select(beyond, pieces[k + step], p) if k + step < len(pieces) else p
            for k, p in enumerate(kept)
        ]
    return size, pieces


def far_reduced(a: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """r in [-pi/4, pi/4], its rounding error, and bits whose low two are those of n, for an f64
    x = n pi/2 + r of at least LIMIT."""
    size, pieces = _window(a, a.abs(x))
    products = []
    for k, piece in enumerate(pieces):
        weighted = a.mul(size, 2.0 ** (-PIECE * k)) if k else size
        products.append(two_product(a, weighted, piece))

    large = [products[0][0], products[0][1], products[1][0], products[1][1], products[2][0]]
    total, error = _modulo_4(a, large[0]), a.const(0.0, f64)
    for term in large[1:]:
        total, rest = two_sum(a, total, _modulo_4(a, term))
        error = a.add(error, rest)
    shifted = a.add(total, F64.magic)
    fraction = a.sub(total, a.sub(shifted, F64.magic))
    for term in (products[2][1], products[3][0]):
        fraction, rest = two_sum(a, fraction, term)
        error = a.add(error, rest)
    error = a.add(error, a.add(products[3][1], products[4][0]))
    fraction, error = quick_two_sum(a, fraction, error)
    angle, rest = two_product(a, fraction, HALF_PI[0])
    rest = a.fma(fraction, HALF_PI[1], a.fma(error, HALF_PI[0], rest))
    negative = a.cmp("olt", x, 0.0)
    angle, rest = quick_two_sum(a, angle, rest)
    n = a.bits(shifted)
    return (
        a.select(negative, a.neg(angle), angle),
        a.select(negative, a.neg(rest), rest),
        a.select(negative, a.neg(n), n),
    )
