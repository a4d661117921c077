"""Hypothesis strategies for attribute values and functions."""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradc.ir.affine import AffineExpr, AffineMap
from gradc.ir.builder import Builder
from gradc.ir.core import Location, OpaqueAttribute, Symbol, TypedNumber
from gradc.ir.ops.func import FuncOp, ModuleOp
from gradc.ir.types import SCALARS, Dim, FunctionType, MemRefType, TensorType, bf16, f16, f32, f64

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_$.]{0,6}", fullmatch=True)
# xDSL takes no escapes in keys; test_print_parse.py has a test of its own for such keys.
keys = st.from_regex(r"[A-Za-z0-9 .+-]{1,5}", fullmatch=True)
scalars = st.sampled_from(sorted(SCALARS.values(), key=str))
strides = st.integers(-(2**62), 2**62)
sizes = st.one_of(st.integers(0, 99), st.builds(Dim, names))
# Every bit pattern, so NaN with payloads, signed zeros, subnormals and infinities too.
floats = st.integers(0, 2**64 - 1).map(lambda n: struct.unpack("<d", struct.pack("<Q", n))[0])
any_floats = st.one_of(st.floats(), floats)
types = st.recursive(
    st.one_of(
        scalars,
        st.builds(TensorType, st.lists(sizes, max_size=3).map(tuple), scalars),
        st.builds(MemRefType, st.lists(st.integers(0, 9), max_size=3).map(tuple), scalars),
        st.builds(MemRefType, st.just((3, 4)), scalars, st.tuples(strides, strides)),
    ),
    lambda inner: st.builds(
        FunctionType, st.lists(inner, max_size=2).map(tuple), st.lists(inner, max_size=2).map(tuple)
    ),
    max_leaves=4,
)


@st.composite
def affine_maps(draw: Any) -> AffineMap:
    dims, symbols = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    inputs = dims + symbols
    small = st.integers(-9, 9)
    expr = st.builds(
        AffineExpr, st.lists(small, min_size=inputs, max_size=inputs).map(tuple), small
    )
    return AffineMap(dims, symbols, tuple(draw(st.lists(expr, max_size=3))))


@st.composite
def arrays(draw: Any) -> np.ndarray:
    """Read-only arrays of every dtype, from raw bytes where the dtype has odd bit patterns."""
    dtype = draw(
        st.sampled_from(
            [bool, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
            + [ml_dtypes.bfloat16]
        ).map(np.dtype)
    )
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    count = int(np.prod(shape))
    if draw(st.booleans()):
        shape, count = (draw(st.integers(90, 120)),), 0
        count = shape[0]
    if dtype.kind == "b":
        array = draw(hnp.arrays(bool, shape))
    else:
        data = draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
        array = np.frombuffer(data, dtype).reshape(shape).copy()
        if draw(st.booleans()):  # short decimals, as people write them
            array = np.clip(np.nan_to_num(array.astype(complex)).real, 0, 99).round(1).astype(dtype)
            if count and draw(st.booleans()):
                array = np.full(shape, array.reshape(-1)[0])
        array = np.asarray(array)
    array.flags.writeable = False
    return array


def _fits(value: float, kind: Any) -> TypedNumber:
    narrow = {f16: np.float16, f32: np.float32, bf16: ml_dtypes.bfloat16}[kind]
    with np.errstate(over="ignore"):
        return TypedNumber(float(np.asarray(value).astype(narrow)), kind)


typed_numbers = st.one_of(
    st.builds(_fits, st.floats(), st.sampled_from([f16, f32, bf16])),
    st.builds(
        TypedNumber, st.integers(-100, 100), st.sampled_from([SCALARS["i8"], SCALARS["index"]])
    ),
    st.builds(TypedNumber, st.integers(0, 2**64 - 1), st.just(SCALARS["ui64"])),
)
plain = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(2**63 - 2, 2**65),
    any_floats,
    st.builds(complex, any_floats, any_floats),
    texts,
    st.none(),
    types,
    affine_maps(),
    st.builds(Symbol, st.one_of(names, texts.filter(bool))),
    st.builds(Dim, texts),
    typed_numbers,
    arrays(),
    st.sampled_from(["#arith.fastmath<reassoc,contract>", "array<i32: 1, 2>"]).map(OpaqueAttribute),
)
attributes = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(names, keys), inner, max_size=3),
    ),
    max_leaves=6,
)
# What file names and roles are made of; xDSL takes no escapes in locations.
_paths = st.from_regex(r"[A-Za-zé0-9_/. -]{1,8}", fullmatch=True)
places = st.builds(Location, _paths, st.integers(0, 999), st.integers(0, 99), _paths)
locations = st.one_of(
    st.just(Location()),
    st.builds(Location, texts.filter(bool), st.integers(0, 999), st.integers(0, 99), texts),
)


@st.composite
def modules(draw: Any) -> ModuleOp:
    """A module of straight-line functions on arrays, with hints that clash."""
    hints = st.one_of(
        st.sampled_from(["", "x", "loss", "x_1", "arg0", "0", "x", "été", "_", "a b"]), texts
    )
    functions = []
    for k in range(draw(st.integers(1, 2))):
        dtype = draw(st.sampled_from([f32, f64, bf16]))
        shape = tuple(draw(st.lists(st.integers(0, 4), max_size=2)))
        type = TensorType(shape, dtype)
        count = draw(st.integers(1, 3))
        function = FuncOp.build(f"f{k}", [type] * count, [draw(hints) for _ in range(count)])
        values = list(function.args)
        for _ in range(draw(st.integers(0, 6))):
            b = Builder(function.body, draw(places))
            x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
            kind = draw(st.integers(0, 3))
            if kind == 0:
                new = b.add(x, y)
            elif kind == 1:
                new = b.neg(x)
            elif kind == 2:
                new = b.full(draw(any_floats), type)
            else:
                new = b.mul(x, 2.0)
            new.hint = draw(hints)
            values.append(new)
        functions.append(function.finish([values[-1], values[0]]))
    return ModuleOp.build(functions)


def same(a: Any, b: Any) -> bool:
    """Equal attribute values of equal Python types, NaN and signed zeros by their bits."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and (a.dtype, a.shape) == (b.dtype, b.shape)
            and a.tobytes() == b.tobytes()
            and not b.flags.writeable
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, TypedNumber):
        return a.type is b.type and same(a.value, b.value)
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    return bool(a == b)
