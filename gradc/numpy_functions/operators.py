"""Python's operators on tracers (`operator.add` and its kin), and arithmetic on Python numbers.

An operator differs from its ufunc where Python numbers meet: `n * 2` of an int argument is an int
again (weak, and its value stays known), while np.multiply(n, 2) is a NumPy integer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.frontend.indexing import index
from gradc.frontend.promotion import as_tracer, is_number, kind_of, operand, resolve
from gradc.frontend.table import METHODS, TABLE, implements
from gradc.frontend.tracer import Tracer
from gradc.numpy_functions.ufuncs import call, run

_BINARY: dict[Any, np.ufunc] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply,
    operator.truediv: np.true_divide, operator.floordiv: np.floor_divide,
    operator.mod: np.remainder, operator.pow: np.power, divmod: np.divmod,
    operator.and_: np.bitwise_and, operator.or_: np.bitwise_or, operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift, operator.rshift: np.right_shift,
    operator.lt: np.less, operator.le: np.less_equal, operator.gt: np.greater,
    operator.ge: np.greater_equal, operator.eq: np.equal, operator.ne: np.not_equal,
}  # fmt: skip
_UNARY: dict[Any, np.ufunc] = {
    operator.neg: np.negative, operator.pos: np.positive, operator.invert: np.invert,
    operator.inv: np.invert, operator.abs: np.absolute, abs: np.absolute,
}  # fmt: skip
_ARITHMETIC = frozenset(
    (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.pow,
     divmod, operator.lshift, operator.rshift, operator.neg, operator.pos, operator.invert, abs,
     operator.abs)
)  # fmt: skip
_IN_PLACE = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift",
    "rshift",
)  # fmt: skip


def _is_python(x: Any) -> bool:
    return x.weak or _known(x) if isinstance(x, Tracer) else is_number(x)


def _known(x: Any) -> bool:
    return not isinstance(x, Tracer) or x.python is not None


def _number(x: Any) -> Any:
    return x.python if isinstance(x, Tracer) else x


def python_result(function: Callable[..., Any], ufunc: np.ufunc, operands: list[Any]) -> Any:
    """An operator on Python numbers alone: the result is a Python number again."""
    kinds = [kind_of(x) for x in operands]
    if function in _ARITHMETIC:
        kinds = [int if k == np.dtype(bool) else k for k in kinds]  # True + True is 2
    known = all(map(_known, operands))
    value: Any = function(*map(_number, operands)) if known else None
    if isinstance(value, float) and ufunc is np.power:
        kinds = [float] * len(kinds)  # 2 ** -1 is 0.5 in Python
    found = run(ufunc, operands, resolve(ufunc, kinds))
    if isinstance(found, tuple):
        values: Any = value if known else [None] * len(found)
        return tuple([_weak(t, v, operands) for t, v in zip(found, values)])
    return _weak(found, value, operands)


def known_values(operands: list[Any]) -> list[Any] | None:
    """The Python numbers of the operands, where all are known."""
    return list(map(_number, operands)) if operands and all(map(_known, operands)) else None


def as_python(found: Tracer, function: Callable[..., Any], operands: list[Any]) -> Tracer:
    """`found` as the Python number that function(*operands) gives; its value too where it is
    known."""
    values = known_values(operands)
    return _weak(found, None if values is None else function(*values), operands)


def _weak(found: Tracer, value: Any, operands: list[Any]) -> Tracer:
    roots: dict[int, Tracer] = {}
    if value is not None:
        for x in operands:
            roots.update({id(r): r for r in getattr(x, "roots", ())})
    return Tracer(
        found.value,
        found.owner,
        weak=True,
        python=value,
        roots=tuple(roots.values()),
    )


def _operator(function: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    def entry(*inputs: Any) -> Any:
        operands = [operand(x) for x in inputs]
        if all(map(_is_python, operands)):
            return python_result(function, ufunc, operands)
        return run(ufunc, operands, resolve(ufunc, [kind_of(x) for x in operands]))

    entry.__name__ = function.__name__
    return entry


for _function, _ufunc in (*_BINARY.items(), *_UNARY.items()):
    TABLE[_function] = _operator(_function, _ufunc)


@implements(operator.pow)
def power(x: Any, y: Any) -> Any:
    """x ** y: as np.power, with NumPy's short cuts for the exponents 2, 0.5 and -1 of arrays."""
    operands = [operand(x), operand(y)]
    if all(map(_is_python, operands)):
        return python_result(operator.pow, np.power, operands)
    base, exponent = operands
    if isinstance(base, Tracer) and is_number(exponent) and not isinstance(exponent, bool):
        inexact = base.element.is_inexact
        if exponent == 2 and (
            isinstance(exponent, int) or (inexact and not isinstance(exponent, complex))
        ):
            return call(np.square, base)
        if inexact and isinstance(exponent, float) and exponent == 0.5:
            return call(np.sqrt, base)
        if inexact and isinstance(exponent, int | float) and exponent == -1:
            return call(np.reciprocal, base)
    return call(np.power, base, exponent)


@implements(pow)
def builtin_pow(base: Any, exp: Any, mod: Any = None) -> Any:
    """pow(x, y) is x ** y; with `mod` x ** y % mod."""
    found = power(base, exp)
    return found if mod is None else TABLE[operator.mod](found, mod)


def _in_place(name: str) -> None:
    """operator.iadd(x, y) returns what `x += y` leaves in x."""
    own = name.rstrip("_")
    method, plain = f"__i{own}__", getattr(operator, name)

    def entry(x: Any, y: Any) -> Any:
        return getattr(x, method)(y) if isinstance(x, Tracer) else plain(x, y)

    TABLE[getattr(operator, f"i{own}")] = entry


for _name in _IN_PLACE:
    _in_place(_name)


@implements(operator.getitem)
def getitem(x: Any, key: Any) -> Any:
    """x[key]: a tracer, or something else indexed by tracers."""
    if isinstance(x, Tracer | np.ndarray):
        return index(x, key)
    return x[key]


@implements(operator.not_)
def not_(x: Any) -> bool:
    return not x


@implements(operator.matmul)
def matmul(x: Any, y: Any) -> Any:
    return TABLE[np.matmul](x, y)


@implements(round)
def builtin_round(number: Any, ndigits: Any = None) -> Any:
    """round(x): of a scalar without digits an int, as in Python; with digits np.round."""
    x = number if isinstance(number, Tracer) else as_tracer(number)
    if not x.is_scalar:
        raise TypeError("round() of an array: write np.round(x, decimals)")
    found = TABLE[np.round](x, ndigits or 0)
    if ndigits is None and x.element.is_inexact:
        found = METHODS["astype"](found, np.int64)
    if not (x.weak or ndigits is None):
        return found
    values = known_values([x])
    value = None if values is None else round(values[0], ndigits)
    return _weak(found, value, [x])
