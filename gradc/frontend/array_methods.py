"""The methods of ndarray on tracers: each is the NumPy function of its name, from the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.table import METHODS, TABLE

CANNOT_STORE = (
    "cannot store into a traced array: build the result with np.where, np.concatenate or np.stack"
)


def unary(function: Any) -> Any:
    def method(self: Any) -> Any:
        return TABLE[function](self)

    return method


def _method(function: Any) -> Any:
    """A method with the arguments of the NumPy function after the array."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return TABLE[function](self, *args, **kwargs)

    method.__name__ = function.__name__
    return method


def _unpacked(function: Any) -> Any:
    """A method that takes its tuple argument in pieces too: x.reshape(2, 3), x.transpose(1, 0)."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        whole = args[0] if len(args) == 1 else args
        if not args:
            return TABLE[function](self, **kwargs)
        return TABLE[function](self, whole, **kwargs)

    method.__name__ = function.__name__
    return method


def _stores(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise TracingError(f"ndarray.{name}: {CANNOT_STORE}")

    method.__name__ = name
    return method


class ArrayMethods:
    """Methods and attributes of ndarray that are functions of the whole array."""

    __slots__ = ()
    element: Any  # the IR's element type, from the tracer
    is_scalar: bool
    weak: bool

    T = property(unary(np.transpose))
    mT = property(unary(np.matrix_transpose))
    real = property(unary(np.real))
    imag = property(unary(np.imag))

    @property
    def flat(self) -> Any:
        """The elements in row-major order; reading only."""
        return TABLE[np.ravel](self)

    sum = _method(np.sum)
    mean = _method(np.mean)
    var = _method(np.var)
    std = _method(np.std)
    max = _method(np.max)
    min = _method(np.min)
    prod = _method(np.prod)
    any = _method(np.any)
    all = _method(np.all)
    argmax = _method(np.argmax)
    argmin = _method(np.argmin)
    cumsum = _method(np.cumsum)
    cumprod = _method(np.cumprod)
    trace = _method(np.trace)
    ravel = _method(np.ravel)
    swapaxes = _method(np.swapaxes)
    squeeze = _method(np.squeeze)
    clip = _method(np.clip)
    round = _method(np.round)
    dot = _method(np.dot)
    take = _method(np.take)
    repeat = _method(np.repeat)
    nonzero = _method(np.nonzero)
    diagonal = _method(np.diagonal)
    choose = _method(np.choose)
    reshape = _unpacked(np.reshape)
    transpose = _unpacked(np.transpose)

    def conj(self) -> Any:
        """The array itself where it is real, as NumPy gives."""
        if not self.element.is_complex:
            return self
        found = TABLE[np.conjugate](self)
        found.weak = self.weak  # a Python complex gives one
        return found

    conjugate = conj

    def flatten(self, order: str = "C") -> Any:
        return TABLE[np.copy](TABLE[np.ravel](self, order=order))

    def copy(self, order: str = "C") -> Any:
        found = TABLE[np.copy](self)
        found.is_scalar = self.is_scalar  # np.copy makes an array of a scalar, the method does not
        return found

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
               copy: bool = True) -> Any:  # fmt: skip
        return METHODS["astype"](self, dtype, casting=casting)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        raise TracingError(
            "x.view(...) reads the bytes of an array: use x.astype(dtype) or x.reshape"
        )

    fill = _stores("fill")
    sort = _stores("sort")
    partition = _stores("partition")
    put = _stores("put")
    itemset = _stores("itemset")
    resize = _stores("resize")
    setfield = _stores("setfield")
