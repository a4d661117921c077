"""The array proxy: what a traced function sees in place of its arrays.

A tracer stands for an SSA value. NumPy's protocols, the operators and the methods of ndarray all
look their implementation up in `frontend.table`, so this class says *what* a tracer answers to and
the topic files of `gradc.numpy_functions` say what it means. Shapes and dtypes are known; numbers
are not: anything that needs one raises TracingError with the user's line.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradc.frontend import fence
from gradc.frontend.array_methods import CANNOT_STORE, ArrayMethods, unary
from gradc.frontend.location import TracingError
from gradc.frontend.table import METHODS, TABLE, implementation
from gradc.frontend.unknown import unknown_function
from gradc.ir.core import Value
from gradc.ir.types import ScalarType, to_numpy


def _operand(x: Any) -> bool:
    """Is this something that an array operator takes? (Else Python asks the other operand.)"""
    return isinstance(x, Tracer | np.ndarray | np.generic | int | float | complex | list | tuple)


def _binary(function: Any) -> tuple[Any, Any]:
    def method(self: Tracer, other: Any) -> Any:
        return TABLE[function](self, other) if _operand(other) else NotImplemented

    def reflected(self: Tracer, other: Any) -> Any:
        return TABLE[function](other, self) if _operand(other) else NotImplemented

    return method, reflected


def _product() -> tuple[Any, Any]:
    """`x * y`; a list times a Python int repeats the list."""
    method, reflected = _binary(operator.mul)

    def repeats(x: Tracer, other: Any) -> bool:
        return isinstance(other, list | tuple) and x.weak and type(x.python) is int

    return (
        lambda self, y: y * self.known() if repeats(self, y) else method(self, y),
        lambda self, y: y * self.known() if repeats(self, y) else reflected(self, y),
    )


def _in_place(function: Any) -> Any:
    def method(self: Tracer, other: Any) -> Any:
        return self.update_in_place(function, other)

    return method


class Tracer(ArrayMethods):
    """A traced array.

    value:      its SSA value (rank 0 for scalars); owner: the Trace that it belongs to
    weak:       a Python number: takes part in promotion as Python's bool, int, float, complex do
    python:     the Python number it stands for, where that is known (a Python int argument and
                arithmetic on such), else None; `roots` are the arguments it was computed from
    is_scalar:  NumPy would have a scalar here, not a 0-d array
    external:   an argument or captured array: memory that the caller sees
    base, path: of a view, the array it looks into and how: a tuple (kind, argument)
    """

    __slots__ = (
        "value", "owner", "weak", "python", "roots", "is_scalar", "external", "base", "path",
        "_views", "__weakref__",
    )  # fmt: skip
    __array_priority__ = 1000

    def __init__(
        self,
        value: Value,
        trace: Any,
        *,
        weak: bool = False,
        python: Any = None,
        roots: tuple[Tracer, ...] = (),
        is_scalar: bool | None = None,
        external: bool = False,
    ) -> None:
        self.value = value
        self.owner = trace
        self.weak = weak
        self.python = python
        self.roots = roots
        self.is_scalar = not value.type.shape if is_scalar is None else is_scalar
        self.external = external
        self.base: Tracer | None = None
        self.path: Any = None
        self._views: list[weakref.ref[Tracer]] | None = None

    # ------------------------------------------------------------------------- attributes
    @property
    def shape(self) -> tuple[Any, ...]:
        return self.value.type.shape

    @property
    def element(self) -> ScalarType:
        """The IR's element type."""
        return self.value.type.dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        return to_numpy(self.value.type.dtype)

    @property
    def ndim(self) -> int:
        return len(self.value.type.shape)

    @property
    def size(self) -> Any:
        """The number of elements; a traced int where it is known only at run time."""
        shape = self.value.type.shape
        return math.prod(shape) if self.value.type.is_static else METHODS["size"](self)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return math.prod(self.static_shape("nbytes")) * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of a C-ordered array of this shape, in bytes."""
        strides, step = [], self.itemsize
        for n in reversed(self.static_shape("strides")):
            strides.append(step)
            step *= max(n, 1)
        return tuple(reversed(strides))

    def static_shape(self, purpose: str) -> tuple[int, ...]:
        """The shape as Python ints; TracingError where a size is known only at run time."""
        shape = self.value.type.shape
        if not self.value.type.is_static:
            raise TracingError(
                f"{purpose} needs a size that is known only at run time: the array has shape "
                f"{list(shape)}, from a boolean mask or np.nonzero. Keep the full size and use "
                "np.where(mask, x, 0) instead of x[mask]"
            )
        return shape

    # -------------------------------------------------------------------------- operators
    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _product()
    __truediv__, __rtruediv__ = _binary(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __divmod__, __rdivmod__ = _binary(divmod)
    __matmul__, __rmatmul__ = _binary(operator.matmul)
    __and__, __rand__ = _binary(operator.and_)
    __or__, __ror__ = _binary(operator.or_)
    __xor__, __rxor__ = _binary(operator.xor)
    __lshift__, __rlshift__ = _binary(operator.lshift)
    __rshift__, __rrshift__ = _binary(operator.rshift)
    __lt__, _ = _binary(operator.lt)
    __le__, _ = _binary(operator.le)
    __gt__, _ = _binary(operator.gt)
    __ge__, _ = _binary(operator.ge)
    __neg__ = unary(operator.neg)
    __pos__ = unary(operator.pos)
    __invert__ = unary(operator.invert)
    __abs__ = unary(abs)

    def __eq__(self, other: Any) -> Any:
        return TABLE[operator.eq](self, other) if _operand(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return TABLE[operator.ne](self, other) if _operand(other) else NotImplemented

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is not None:
            raise TracingError("pow(x, y, modulo) of a traced value: write np.power(x, y) % modulo")
        return TABLE[operator.pow](self, other) if _operand(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return TABLE[operator.pow](other, self) if _operand(other) else NotImplemented

    __iadd__ = _in_place(operator.add)
    __isub__ = _in_place(operator.sub)
    __imul__ = _in_place(operator.mul)
    __itruediv__ = _in_place(operator.truediv)
    __ifloordiv__ = _in_place(operator.floordiv)
    __imod__ = _in_place(operator.mod)
    __ipow__ = _in_place(operator.pow)
    __imatmul__ = _in_place(operator.matmul)
    __iand__ = _in_place(operator.and_)
    __ior__ = _in_place(operator.or_)
    __ixor__ = _in_place(operator.xor)
    __ilshift__ = _in_place(operator.lshift)
    __irshift__ = _in_place(operator.rshift)

    def update_in_place(self, function: Any, other: Any) -> Any:
        """`x op= other`. A scalar is rebound, as in Python. An array changes under all its names:
        the tracer takes the new value. Where other memory would change too (an argument, a
        captured array, a view, an array with a view that is still alive) it is an error.
        """
        if self.is_scalar:
            return TABLE[function](self, other) if _operand(other) else NotImplemented
        if self.external or self.base is not None or self.has_views:
            what = (
                "an argument or captured array" if self.external
                else "a view of another array" if self.base is not None
                else "an array that a view looks into"
            )  # fmt: skip
            raise TracingError(
                f"an augmented assignment to {what}, {list(self.shape)}: it would change that "
                "array in place. Write `x = x + y` instead of `x += y`, or build the result with "
                "np.where, np.concatenate or np.stack"
            )
        new = TABLE[function](self, other)
        if new.owner is not self.owner:
            raise TracingError(
                "an augmented assignment to an array of an enclosing traced function: it would "
                "change that array in place. Write `x = x + y` and return it"
            )
        if new.shape != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the "
                f"broadcast shape {new.shape}"
            )
        if not np.can_cast(new.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"cannot cast the result of {function.__name__} from {new.dtype} to {self.dtype} "
                "with casting rule 'same_kind': write `x = x op y`, or convert first"
            )
        self.value = METHODS["astype"](new, self.dtype).value
        return self

    # ---------------------------------------------------------------------------- numbers
    def __bool__(self) -> bool:
        if self.python is not None:
            return bool(self.known())
        if self.value.type.is_static and self.size != 1 and self.ndim:
            raise ValueError(
                f"The truth value of an array with {self.size} elements is ambiguous: use a.any() "
                "or a.all()"
            )
        raise TracingError(
            "control flow on a traced condition (`if`, `while`, `and`, `or`, `not`, `in`): its "
            "value is not known while tracing. Compute both and choose with np.where(condition, "
            "a, b), combine conditions with np.logical_and, np.logical_or, np.logical_not, or "
            "make the argument that decides a static one"
        )

    def known(self) -> Any:
        """The Python number, if there is one (else None); the trace is told that the program
        depends on the values of the arguments that it came from."""
        for root in self.roots:
            root.owner.on_static_use(root)  # an outer trace's, perhaps
        return self.python

    def _number(self, what: str, instead: str) -> Any:
        if self.python is None:
            raise TracingError(
                f"{what} of a traced {self.describe()} needs its value, which is not known while "
                f"tracing: {instead}"
            )
        return self.known()

    def __index__(self) -> int:
        if self.python is None and (self.ndim or self.element.is_inexact):
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(
            self._number(
                "a use as a Python int (an axis, a shape, a range, a list index, a slice bound)",
                "pass it as a Python int, or as a static argument",
            )
        )

    def __int__(self) -> int:
        return int(
            self._number("int()", "write x.astype(np.int64), or return it and convert outside")
        )

    def __float__(self) -> float:
        return float(self._number("float()", "leave the conversion out, or convert outside"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()", "write x.astype(np.complex128)"))

    def __round__(self, digits: int | None = None) -> Any:
        return TABLE[round](self, digits)

    def __trunc__(self) -> Any:
        return TABLE[math.trunc](self)

    def __floor__(self) -> Any:
        return TABLE[math.floor](self)

    def __ceil__(self) -> Any:
        return TABLE[math.ceil](self)

    def item(self, *args: Any) -> Any:
        """A Python number of a one-element array: here a traced scalar of the same dtype."""
        if args:
            return METHODS["item"](self, *args)
        if self.python is not None:
            return self.known()
        return METHODS["item"](self)

    def tolist(self) -> Any:
        raise TracingError(
            "x.tolist() needs the numbers, which are not known while tracing: iterate over x, "
            "index it, or return it and convert outside"
        )

    tobytes = tolist

    # ------------------------------------------------------------------------- containers
    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        n = self.shape[0]
        if not isinstance(n, int):
            self.static_shape("len()")
        return n

    def __iter__(self) -> Iterator[Tracer]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(len(self))])

    def __contains__(self, x: Any) -> bool:
        return bool(TABLE[np.any](TABLE[operator.eq](self, x)))

    def __getitem__(self, key: Any) -> Any:
        return TABLE[operator.getitem](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TracingError(CANNOT_STORE)

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def view_of(self, base: Tracer, path: Any) -> Tracer:
        """Mark as a view of `base`; `path` says how ("index", key), ("transpose", axes), ..."""
        self.base = base
        self.path = path
        alive = [r for r in base._views or () if r() is not None]
        base._views = [*alive, weakref.ref(self)]
        return self

    @property
    def has_views(self) -> bool:
        return any(r() is not None for r in self._views or ())

    # -------------------------------------------------------------------------- protocols
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        entry = implementation(ufunc)
        if entry is None:
            raise unknown_function(ufunc)
        if method == "__call__":
            return entry(*inputs, **kwargs)
        return METHODS["ufunc_method"](ufunc, method, *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        entry = implementation(function)
        if entry is None:
            raise unknown_function(function)
        return entry(*args, **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TracingError(
            f"a traced {self.describe()} was turned into a NumPy array, by a function that gradc "
            "does not trace (np.asarray in code that is not rewritten, a library, float(), a "
            "plot). Its numbers are not known while tracing: use NumPy functions on it directly, "
            "or return it and call that function outside"
        )

    def __array_namespace__(self, **kwargs: Any) -> Any:
        return np

    def __reduce__(self) -> Any:
        raise TracingError("a traced array cannot be pickled: return it and pickle the result")

    def __copy__(self) -> Tracer:
        return TABLE[np.copy](self)

    def __deepcopy__(self, memo: Any) -> Tracer:
        return TABLE[np.copy](self)

    def __hash__(self) -> int:
        if self.python is not None:
            return hash(self.known())
        raise TracingError(
            f"a traced {self.describe()} as a dictionary key, in a set or in a cache: its value is "
            "not known while tracing. Key by something static"
        )

    def describe(self) -> str:
        """`f32[3,4]`, for messages."""
        return f"{self.element.name}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return f"<traced {self.describe()}>"

    def __format__(self, spec: str) -> str:
        if self.python is None:
            raise fence.traced_format()
        return format(self.known(), spec)

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) or hasattr(stands_for(self), name):
            raise AttributeError(
                f"a traced {self.describe()} has no {name!r}: it has a shape and a dtype, but no "
                f"memory and no numbers while tracing. Return it and use .{name} outside"
            )
        raise AttributeError(f"{stands_for(self).__name__!r} object has no attribute {name!r}")


def stands_for(x: Tracer) -> type:
    """The type that NumPy code would see."""
    if x.weak:
        return {"b": bool, "i": int, "f": float, "c": complex}[x.element.kind]
    return x.dtype.type if x.is_scalar else np.ndarray
