"""Types of the IR: the builtin MLIR types that gradc uses.

Shapes hold Python ints, or a `Dim` for a size that is born at run time (`x[mask]`). A `Dim` prints
as `?`; its name travels in the tensor's encoding (`tensor<?x4xf32, ["n0"]>`), so two unknown sizes
are equal exactly when they carry the same name, also after a round trip through text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np


class Type:
    """Base of all IR types. Types are immutable and compared by value."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class ScalarType(Type):
    """An element type such as `f32`, or `index`. There is one object of each, also after pickling.

    name:  gradc's short name (`f32`, `c64`, `ui8`, `i1`, `index`)
    mlir:  the spelling in MLIR text (`complex<f32>` for `c64`)
    kind:  'b' bool, 'i' signed, 'u' unsigned, 'f' floating, 'c' complex, 'x' index
    bits:  storage size in bits (1 for i1, whose arrays take a byte an element)
    """

    name: str
    mlir: str
    kind: str
    bits: int

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return scalar_named, (self.name,)

    @property
    def is_floating(self) -> bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def is_inexact(self) -> bool:
        """Floating or complex: the types that carry gradients."""
        return self.kind in "fc"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iux"

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def itemsize(self) -> int:
        """Bytes an element takes in memory."""
        return max(1, self.bits // 8)

    @property
    def real(self) -> ScalarType:
        """The type of the real part (itself unless complex)."""
        return {"c64": f32, "c128": f64}.get(self.name, self)


i1 = ScalarType("i1", "i1", "b", 1)
i8 = ScalarType("i8", "i8", "i", 8)
i16 = ScalarType("i16", "i16", "i", 16)
i32 = ScalarType("i32", "i32", "i", 32)
i64 = ScalarType("i64", "i64", "i", 64)
ui8 = ScalarType("ui8", "ui8", "u", 8)
ui16 = ScalarType("ui16", "ui16", "u", 16)
ui32 = ScalarType("ui32", "ui32", "u", 32)
ui64 = ScalarType("ui64", "ui64", "u", 64)
f16 = ScalarType("f16", "f16", "f", 16)
bf16 = ScalarType("bf16", "bf16", "f", 16)
f32 = ScalarType("f32", "f32", "f", 32)
f64 = ScalarType("f64", "f64", "f", 64)
c64 = ScalarType("c64", "complex<f32>", "c", 64)
c128 = ScalarType("c128", "complex<f64>", "c", 128)
index = ScalarType("index", "index", "x", 64)

SCALARS: dict[str, ScalarType] = {
    t.name: t
    for t in (
        i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64, f16, bf16, f32, f64, c64, c128, index,
    )
}  # fmt: skip


def scalar_named(name: str) -> ScalarType:
    """The element type of that short name; KeyError otherwise."""
    return SCALARS[name]


SIGNED = (i8, i16, i32, i64)
UNSIGNED = (ui8, ui16, ui32, ui64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (f16, bf16, f32, f64)
COMPLEXES = (c64, c128)
INEXACT = FLOATS + COMPLEXES
NUMBERS = INTEGERS + INEXACT
ARRAY_DTYPES = (i1, *NUMBERS)

_NUMPY_NAMES = {
    "bool": i1, "int8": i8, "int16": i16, "int32": i32, "int64": i64, "uint8": ui8,
    "uint16": ui16, "uint32": ui32, "uint64": ui64, "float16": f16, "bfloat16": bf16,
    "float32": f32, "float64": f64, "complex64": c64, "complex128": c128,
}  # fmt: skip


@cache
def to_numpy(scalar: ScalarType) -> np.dtype[Any]:
    """The NumPy dtype of an element type (`index` is int64)."""
    if scalar is bf16:
        import ml_dtypes  # takes 0.4 s to import: only programs that use bfloat16 pay it

        return np.dtype(ml_dtypes.bfloat16)
    if scalar is index:
        return np.dtype(np.int64)
    for name, value in _NUMPY_NAMES.items():
        if value == scalar:
            return np.dtype(name)
    raise TypeError(f"no NumPy dtype for {scalar}")


_BY_DTYPE: dict[np.dtype[Any], ScalarType] = {}


def from_numpy(dtype: Any) -> ScalarType:
    """The element type of a NumPy dtype; TypeError for object, string and other dtypes."""
    dtype = np.dtype(dtype)
    found = _BY_DTYPE.get(dtype)
    if found is not None:
        return found
    found = _NUMPY_NAMES.get(dtype.name)  # slow: NumPy makes the name anew each time
    if found is not None:
        _BY_DTYPE[dtype] = found
    else:
        raise TypeError(
            f"expected a bool, integer, floating or complex dtype, got {dtype!s}: convert the "
            "array first, for instance with x.astype(np.float64)"
        )
    return found


@dataclass(frozen=True, slots=True)
class Dim:
    """A size known only at run time; equal to another only by name."""

    name: str

    def __repr__(self) -> str:
        return f"?{self.name}"

    def _unknown(self, *others: Any) -> Any:
        raise TypeError(
            f"the size {self!r} is known only at run time (it comes from a boolean mask or "
            "np.nonzero), so it cannot be computed with here: np.size(x, axis) gives it as a "
            "traced number"
        )

    __index__ = __int__ = __float__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unknown
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = _unknown


Size = int | Dim


@dataclass(frozen=True)
class TensorType(Type):
    """`tensor<4x?xf32>`: shape (ints and `Dim`s) and element type. Rank 0 is a scalar."""

    shape: tuple[Size, ...]
    dtype: ScalarType

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.dtype.name))

    def __hash__(self) -> int:
        return self._hash

    @property
    def rank(self) -> int:
        return len(self.shape)

    @cached_property
    def is_static(self) -> bool:
        return all(type(n) is int for n in self.shape)

    @cached_property
    def size(self) -> int:
        """Number of elements; only for static shapes."""
        total = 1
        for n in self.shape:
            if not isinstance(n, int):
                raise ValueError(f"{self} has no static size")
            total *= n
        return total

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def with_dtype(self, dtype: ScalarType) -> TensorType:
        return TensorType(self.shape, dtype)

    def with_shape(self, shape: tuple[Size, ...]) -> TensorType:
        return TensorType(tuple(shape), self.dtype)

    def __repr__(self) -> str:
        return text(self)


@dataclass(frozen=True)
class MemRefType(Type):
    """`memref<4x8xf32, strided<[8, 1], offset: 0>>`: a buffer; strides in elements.

    strides None means row-major (the identity layout, printed without a layout).
    """

    shape: tuple[Size, ...]
    dtype: ScalarType
    strides: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return text(self)


@dataclass(frozen=True)
class FunctionType(Type):
    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def __repr__(self) -> str:
        return text(self)


@dataclass(frozen=True, slots=True)
class TokenType(Type):
    """An MLIR type of another dialect that gradc only carries (`!dialect.name<...>`)."""

    spelling: str

    def __repr__(self) -> str:
        return self.spelling


def tensor(dtype: ScalarType, *shape: Size) -> TensorType:
    """Shorthand: `tensor(f32, 4, 8)` is `tensor<4x8xf32>`."""
    return TensorType(tuple(shape), dtype)


def type_of(array: Any) -> TensorType:
    """The tensor type of a NumPy array or scalar."""
    array = np.asarray(array)
    return TensorType(array.shape, from_numpy(array.dtype))


def text(t: Type) -> str:
    """MLIR text of a type."""
    if isinstance(t, ScalarType):
        return t.mlir
    if isinstance(t, TensorType | MemRefType):
        dims = "".join(f"{'?' if isinstance(n, Dim) else n}x" for n in t.shape)
        names = [n.name for n in t.shape if isinstance(n, Dim)]
        if isinstance(t, MemRefType):
            if t.strides is None:
                return f"memref<{dims}{t.dtype.mlir}>"
            strides = ", ".join(str(s) for s in t.strides)
            return f"memref<{dims}{t.dtype.mlir}, strided<[{strides}]>>"
        encoding = ", [" + ", ".join(f'"{n}"' for n in names) + "]" if names else ""
        return f"tensor<{dims}{t.dtype.mlir}{encoding}>"
    if isinstance(t, FunctionType):
        inputs = ", ".join(text(x) for x in t.inputs)
        results = ", ".join(text(x) for x in t.results)
        one = len(t.results) == 1 and not isinstance(t.results[0], FunctionType)
        return f"({inputs}) -> {results if one else f'({results})'}"
    if isinstance(t, TokenType):
        return t.spelling
    raise TypeError(f"not an IR type: {t!r}")
