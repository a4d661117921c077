"""Complex scalars: pairs of real scalars with NumPy's meaning.

Formulas follow NumPy (naive product, Smith's quotient, lexicographic order) and W. Kahan, "Branch
cuts for complex elementary functions" (1987) for the inverse functions. In the ordinary range the
parts are accurate to a few ulp of the absolute value; infinities and NaN give NumPy's results for
arithmetic, abs, sqrt, comparison and classification, and for exp and log on the axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradc.ir.core import Value
from gradc.ir.ops.arith import Constant
from gradc.ir.types import c64, c128, f32, i1
from gradc.passes.lower.scalar_value import Scalar

if TYPE_CHECKING:
    from gradc.passes.lower.scalars import ScalarBuilder

LOG_2 = 0.6931471805599453
LOG2_E = 1.4426950408889634
LOG10_E = 0.4342944819032518
HALF_PI = 1.5707963267948966
INFINITY = float("inf")


class ComplexScalars:
    """c64 and c128."""

    def __init__(self, builder: ScalarBuilder) -> None:
        self.s = builder
        self.a = builder.arithmetic

    def split(self, z: Scalar) -> tuple[Scalar, Scalar]:
        re, im = z.parts
        return Scalar(z.dtype.real, (re,)), Scalar(z.dtype.real, (im,))

    def join(self, re: Scalar, im: Scalar) -> Scalar:
        return self.s.complex(re, im)

    def _both(self, name: str, z: Scalar) -> Scalar:
        re, im = self.split(z)
        operation = getattr(self.s, name)
        return self.join(operation(re), operation(im))

    def _times_i(self, z: Scalar) -> Scalar:
        re, im = self.split(z)
        return self.join(self.s.neg(im), re)

    def _over_i(self, z: Scalar) -> Scalar:
        re, im = self.split(z)
        return self.join(im, self.s.neg(re))

    def _scaled(self, z: Scalar, factor: float) -> Scalar:
        re, im = self.split(z)
        return self.join(self.s.mul(re, factor), self.s.mul(im, factor))

    # -------------------------------------------------------------------------------- arithmetic

    def add(self, x: Scalar, y: Scalar) -> Scalar:
        (a, b), (c, d) = self.split(x), self.split(y)
        return self.join(self.s.add(a, c), self.s.add(b, d))

    def sub(self, x: Scalar, y: Scalar) -> Scalar:
        (a, b), (c, d) = self.split(x), self.split(y)
        return self.join(self.s.sub(a, c), self.s.sub(b, d))

    def mul(self, x: Scalar, y: Scalar) -> Scalar:
        (a, b), (c, d), s = self.split(x), self.split(y), self.s
        return self.join(s.sub(s.mul(a, c), s.mul(b, d)), s.add(s.mul(a, d), s.mul(b, c)))

    def div(self, x: Scalar, y: Scalar) -> Scalar:
        """Smith's method: the divisor's parts are scaled by the larger one."""
        (a, b), (c, d), s = self.split(x), self.split(y), self.s
        swap = s.logical_not(s.ge(s.abs(c), s.abs(d)))
        large, small = s.select(swap, d, c), s.select(swap, c, d)
        # Dividing by i times the divisor turns (a + ib) into (b - ia).
        p, q = s.select(swap, b, a), s.select(swap, s.neg(a), b)
        ratio = s.select(swap, s.neg(s.div(small, large)), s.div(small, large))
        scale = s.div(1.0, s.add(large, s.mul(small, s.div(small, large))))
        re = s.mul(s.add(p, s.mul(q, ratio)), scale)
        im = s.mul(s.sub(q, s.mul(p, ratio)), scale)
        zero = s.eq(large, 0.0)
        magnitude = s.abs(c)
        return self.join(
            s.select(zero, s.div(a, magnitude), re), s.select(zero, s.div(b, magnitude), im)
        )

    def neg(self, z: Scalar) -> Scalar:
        return self._both("neg", z)

    def rint(self, z: Scalar) -> Scalar:
        return self._both("rint", z)

    def conj(self, z: Scalar) -> Scalar:
        re, im = self.split(z)
        return self.join(re, self.s.neg(im))

    def real(self, z: Scalar) -> Scalar:
        return self.split(z)[0]

    def imag(self, z: Scalar) -> Scalar:
        return self.split(z)[1]

    def abs(self, z: Scalar) -> Scalar:
        return self.s.hypot(*self.split(z))

    def sign(self, z: Scalar) -> Scalar:
        """z / abs(z), 0 for 0; the direction of an infinite part."""
        s = self.s
        re, im = self.split(z)
        # An infinite part becomes 1 and the other, NaN too, 0; two infinities give NaN.
        infinite = s.logical_or(s.isinf(re), s.isinf(im))
        both = s.logical_and(s.isinf(re), s.isinf(im))

        def bounded(part: Scalar) -> Scalar:
            direction = s.select(s.isinf(part), s.copysign(s.const(1.0, like=part), part), 0.0)
            return s.select(infinite, direction, part)

        re, im = bounded(re), bounded(im)
        size = s.hypot(re, im)
        size = s.select(s.eq(size, 0.0), 1.0, s.select(both, float("nan"), size))
        return self.join(s.div(re, size), s.div(im, size))

    # --------------------------------------------------------------------- comparison and classes

    def truth(self, z: Scalar) -> Value:
        return self.a.or_(*(self.a.cmp("une", part, 0.0) for part in z.parts))

    def compare(self, name: str, x: Scalar, y: Scalar) -> Scalar:
        (a, b), (c, d), s = self.split(x), self.split(y), self.s
        if name == "eq":
            return s.logical_and(s.eq(a, c), s.eq(b, d))
        if name == "ne":
            return s.logical_or(s.ne(a, c), s.ne(b, d))
        strict = {"le": "lt", "ge": "gt"}.get(name, name)
        ordered = Scalar(i1, (self.a.cmp("ord", b.value, d.value),))
        first = s.logical_and(getattr(s, strict)(a, c), ordered)
        return s.logical_or(first, s.logical_and(s.eq(a, c), getattr(s, name)(b, d)))

    def isnan(self, z: Scalar) -> Scalar:
        return self.s.boolean(self.a.cmp("uno", *z.parts))

    def isinf(self, z: Scalar) -> Scalar:
        re, im = self.split(z)
        return self.s.logical_or(self.s.isinf(re), self.s.isinf(im))

    def isfinite(self, z: Scalar) -> Scalar:
        re, im = self.split(z)
        return self.s.logical_and(self.s.isfinite(re), self.s.isfinite(im))

    def maximum(self, x: Scalar, y: Scalar) -> Scalar:
        return self.s.select(self.s.logical_or(self.compare("ge", x, y), self.isnan(x)), x, y)

    def minimum(self, x: Scalar, y: Scalar) -> Scalar:
        return self.s.select(self.s.logical_or(self.compare("le", x, y), self.isnan(x)), x, y)

    def fmax(self, x: Scalar, y: Scalar) -> Scalar:
        return self.s.select(self.s.logical_or(self.compare("ge", x, y), self.isnan(y)), x, y)

    def fmin(self, x: Scalar, y: Scalar) -> Scalar:
        return self.s.select(self.s.logical_or(self.compare("le", x, y), self.isnan(y)), x, y)

    # ---------------------------------------------------------------- exponentials and logarithms

    def exp(self, z: Scalar) -> Scalar:
        s = self.s
        re, im = self.split(z)
        # exp(re) may overflow where the product with a small cosine does not: split a factor off.
        limit, shift = (88.0, 64.0) if re.dtype is f32 else (709.0, 512.0)
        factor = 6.235149080811617e27 if re.dtype is f32 else 2.2844135865397565e222
        high = s.logical_and(s.gt(re, limit), s.lt(re, INFINITY))
        size = s.exp(s.sub(re, s.select(high, shift, s.const(0.0, like=re))))
        factor_or_one = s.select(high, factor, s.const(1.0, like=re))
        x = s.mul(s.mul(size, s.cos(im)), factor_or_one)
        y = s.mul(s.mul(size, s.sin(im)), factor_or_one)
        vanishing = s.eq(re, -INFINITY)
        x = s.select(vanishing, s.const(0.0, like=re), x)
        y = s.select(vanishing, s.const(0.0, like=re), y)
        growing = s.logical_and(s.eq(re, INFINITY), s.logical_not(s.isfinite(im)))
        x = s.select(growing, re, x)
        return self.join(x, s.select(s.eq(im, 0.0), im, y))

    def exp2(self, z: Scalar) -> Scalar:
        return self.exp(self._scaled(z, LOG_2))

    def expm1(self, z: Scalar) -> Scalar:
        """(expm1(x) cos(y) - 2 sin(y/2)**2) + i exp(x) sin(y)."""
        s = self.s
        re, im = self.split(z)
        half = s.sin(s.mul(im, 0.5))
        x = s.sub(s.mul(s.expm1(re), s.cos(im)), s.mul(2.0, s.mul(half, half)))
        return self.join(x, s.mul(s.exp(re), s.sin(im)))

    def _log_abs(self, re: Scalar, im: Scalar) -> Scalar:
        """log(abs(re + i im)): through log1p of the squares near the unit circle."""
        s = self.s
        p, q = s.abs(re), s.abs(im)
        large, small = s.maximum(p, q), s.minimum(p, q)
        product = self.a.fma(
            s.sub(large, 1.0).value, s.add(large, 1.0).value, s.mul(small, small).value
        )
        offset = Scalar(re.dtype, (product,))
        near = s.logical_and(s.lt(s.abs(offset), 0.5), s.lt(large, 1.5))
        # log1p of a harmless number where its result is not used.
        close = s.mul(0.5, s.log1p(s.select(near, offset, 0.0)))
        return s.select(near, close, s.log(s.hypot(re, im)))

    def log(self, z: Scalar) -> Scalar:
        re, im = self.split(z)
        return self.join(self._log_abs(re, im), self.s.arctan2(im, re))

    def log2(self, z: Scalar) -> Scalar:
        return self._scaled(self.log(z), LOG2_E)

    def log10(self, z: Scalar) -> Scalar:
        return self._scaled(self.log(z), LOG10_E)

    def log1p(self, z: Scalar) -> Scalar:
        s = self.s
        re, im = self.split(z)
        shifted = s.add(re, 1.0)
        small = s.logical_and(s.lt(s.abs(re), 0.25), s.lt(s.abs(im), 0.5))
        offset = s.add(s.mul(re, s.add(re, 2.0)), s.mul(im, im))
        close = s.mul(0.5, s.log1p(s.select(small, offset, 0.0)))
        size = s.select(small, close, self._log_abs(shifted, im))
        return self.join(size, s.arctan2(im, shifted))

    def sqrt(self, z: Scalar) -> Scalar:
        s = self.s
        re, im = self.split(z)
        # root = sqrt((abs(re) + abs(z)) / 2), with room for the sum.
        eighth = s.abs(s.mul(re, 0.125))
        root = s.mul(2.0, s.sqrt(s.add(eighth, s.hypot(eighth, s.mul(im, 0.125)))))
        other = s.div(im, s.mul(2.0, root))
        right = s.ge(re, 0.0)
        x = s.select(right, root, s.abs(other))
        y = s.select(right, other, s.copysign(root, im))
        zero = s.logical_and(s.eq(re, 0.0), s.eq(im, 0.0))
        x, y = s.select(zero, 0.0, x), s.select(zero, im, y)
        infinite = s.isinf(im)
        return self.join(s.select(infinite, INFINITY, x), s.select(infinite, im, y))

    def power(self, z: Scalar, w: Scalar) -> Scalar:
        """abs(z)**w.re exp(-w.im arg(z)) at the angle w.re arg(z) + w.im log(abs(z)); 1 for w = 0;
        products for the constant exponents 1, 2, 3, 4."""
        s = self.s
        constant = [v.defining_op for v in w.parts]
        if all(isinstance(c, Constant) for c in constant):
            exponent, rest = (c.number for c in constant if isinstance(c, Constant))
            if rest == 0 and exponent in (1, 2, 3, 4):
                square = z if exponent == 1 else self.mul(z, z)
                return square if exponent < 3 else self.mul(square, z if exponent == 3 else square)
        if z.dtype is c64:
            # In f64 neither the lengths overflow nor do the angles lose digits.
            return s.convert(self.power(s.convert(z, c128), s.convert(w, c128)), c64)
        (p, q), size, angle = self.split(w), self.abs(z), s.arctan2(self.imag(z), self.real(z))
        length = s.mul(s.power(size, p), s.exp(s.neg(s.mul(q, angle))))
        # One factor alone may overflow or vanish.
        whole = s.exp(s.sub(s.mul(p, s.log(size)), s.mul(q, angle)))
        ordinary = s.logical_and(s.isfinite(length), s.gt(length, 0.0))
        length = s.select(ordinary, length, whole)
        turn = s.add(s.mul(p, angle), s.mul(q, s.log(size)))
        x, y = s.mul(length, s.cos(turn)), s.mul(length, s.sin(turn))
        # 0**w is 0 for real positive w and NaN otherwise.
        zero = s.eq(size, 0.0)
        vanishing = s.logical_and(s.gt(p, 0.0), s.eq(q, 0.0))
        at_zero = s.select(vanishing, s.const(0.0, like=p), s.const(float("nan"), like=p))
        x, y = s.select(zero, at_zero, x), s.select(zero, at_zero, y)
        one = s.logical_and(s.eq(p, 0.0), s.eq(q, 0.0))
        return self.join(s.select(one, 1.0, x), s.select(one, 0.0, y))

    # --------------------------------------------------------------------- circular and hyperbolic

    def _factors(self, size: Scalar, wave: Scalar) -> Scalar:
        """size * wave, where a zero wave wins over an infinite size."""
        s = self.s
        zero = s.mul(wave, s.copysign(s.const(1.0, like=size), size))
        return s.select(s.eq(wave, 0.0), zero, s.mul(size, wave))

    def sinh(self, z: Scalar) -> Scalar:
        s = self.s
        x, y = self.split(z)
        return self.join(self._factors(s.sinh(x), s.cos(y)), self._factors(s.cosh(x), s.sin(y)))

    def cosh(self, z: Scalar) -> Scalar:
        s = self.s
        x, y = self.split(z)
        return self.join(self._factors(s.cosh(x), s.cos(y)), self._factors(s.sinh(x), s.sin(y)))

    def sin(self, z: Scalar) -> Scalar:
        return self._over_i(self.sinh(self._times_i(z)))

    def cos(self, z: Scalar) -> Scalar:
        return self.cosh(self._times_i(z))

    def tanh(self, z: Scalar) -> Scalar:
        """Kahan's formula with t = tan(y); for large x the limit, whose imaginary part decays."""
        s = self.s
        x, y = self.split(z)
        far = s.gt(s.abs(x), 10.0 if x.dtype is f32 else 20.0)
        inner = s.select(far, 0.0, x)
        t, sh = s.tan(y), s.sinh(inner)
        b = s.add(1.0, s.mul(t, t))
        root = s.sqrt(s.add(1.0, s.mul(sh, sh)))
        bottom = s.add(1.0, s.mul(b, s.mul(sh, sh)))
        re = s.div(s.mul(s.mul(b, root), sh), bottom)
        im = s.div(t, bottom)
        decay = s.exp(s.neg(s.abs(x)))
        tail = s.mul(s.mul(s.mul(4.0, s.mul(s.sin(y), s.cos(y))), decay), decay)
        re = s.select(far, s.copysign(s.const(1.0, like=x), x), re)
        return self.join(re, s.select(far, tail, im))

    def tan(self, z: Scalar) -> Scalar:
        return self._over_i(self.tanh(self._times_i(z)))

    # ---------------------------------------------------------------------------------- inverses

    def _roots(self, z: Scalar) -> tuple[tuple[Scalar, Scalar], tuple[Scalar, Scalar]]:
        """The parts of sqrt(1 - z) and sqrt(1 + z)."""
        s = self.s
        re, im = self.split(z)
        below = self.sqrt(self.join(s.sub(1.0, re), s.neg(im)))
        above = self.sqrt(self.join(s.add(1.0, re), im))
        return self.split(below), self.split(above)

    def arcsin(self, z: Scalar) -> Scalar:
        s = self.s
        (a, b), (c, d) = self._roots(z)
        re = s.arctan2(self.real(z), s.sub(s.mul(a, c), s.mul(b, d)))
        return self.join(re, s.arcsinh(s.sub(s.mul(a, d), s.mul(b, c))))

    def arccos(self, z: Scalar) -> Scalar:
        s = self.s
        (a, b), (c, d) = self._roots(z)
        return self.join(s.mul(2.0, s.arctan2(a, c)), s.arcsinh(s.sub(s.mul(b, c), s.mul(a, d))))

    def arccosh(self, z: Scalar) -> Scalar:
        s = self.s
        re, im = self.split(z)
        a, b = self.split(self.sqrt(self.join(s.sub(re, 1.0), im)))
        c, d = self.split(self.sqrt(self.join(s.add(re, 1.0), im)))
        size = s.arcsinh(s.add(s.mul(a, c), s.mul(b, d)))
        return self.join(size, s.mul(2.0, s.arctan2(b, c)))

    def arcsinh(self, z: Scalar) -> Scalar:
        return self._over_i(self.arcsin(self._times_i(z)))

    def arctanh(self, z: Scalar) -> Scalar:
        s = self.s
        x, y = self.split(z)
        size = s.abs(x)
        gap = s.sub(1.0, size)
        square = s.mul(y, y)
        distance = s.add(s.mul(gap, gap), square)
        re = s.mul(0.25, s.log1p(s.div(s.mul(4.0, size), distance)))
        angle = s.arctan2(s.mul(2.0, y), s.sub(s.mul(gap, s.add(1.0, size)), square))
        infinite = self.isinf(z)
        re = s.copysign(s.select(infinite, 0.0, re), x)
        quarter = s.copysign(s.const(HALF_PI, like=y), y)
        return self.join(re, s.select(infinite, quarter, s.mul(0.5, angle)))

    def arctan(self, z: Scalar) -> Scalar:
        return self._over_i(self.arctanh(self._times_i(z)))
