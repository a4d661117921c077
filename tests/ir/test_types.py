"""Types: their text, their equality, their NumPy dtypes."""

import numpy as np
import pytest

from gradc.ir import types
from gradc.ir.parser import parse_operation
from gradc.ir.types import Dim, FunctionType, MemRefType, TensorType, c64, f32, i1, tensor


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (tensor(f32), "tensor<f32>"),
        (tensor(f32, 4, 0), "tensor<4x0xf32>"),
        (tensor(c64, 2), "tensor<2xcomplex<f32>>"),
        (tensor(f32, Dim("n0"), 4, Dim("m")), 'tensor<?x4x?xf32, ["n0", "m"]>'),
        (MemRefType((4, 2), i1), "memref<4x2xi1>"),
        (MemRefType((4, 2), f32, (1, 4)), "memref<4x2xf32, strided<[1, 4]>>"),
        (FunctionType((f32, i1), ()), "(f32, i1) -> ()"),
        (FunctionType((), (f32,)), "() -> f32"),
        (FunctionType((), (FunctionType((), ()),)), "() -> (() -> ())"),
        (types.TokenType("!gpu.async.token"), "!gpu.async.token"),
    ],
)
def test_text_round_trip(type: types.Type, text: str) -> None:
    assert types.text(type) == text
    op = parse_operation(f'"t.t"() {{type = {text}}} : () -> ()', allow_unregistered=True)
    assert op.attributes["type"] == type


@pytest.mark.parametrize("scalar", types.SCALARS.values(), ids=str)
def test_scalars_round_trip(scalar: types.ScalarType) -> None:
    op = parse_operation(f'"t.t"() {{t = {scalar.mlir}}} : () -> ()', allow_unregistered=True)
    assert op.attributes["t"] is scalar


@pytest.mark.parametrize("scalar", types.ARRAY_DTYPES, ids=str)
def test_numpy_dtypes(scalar: types.ScalarType) -> None:
    dtype = types.to_numpy(scalar)
    assert dtype.itemsize == scalar.itemsize
    assert types.from_numpy(dtype) is scalar


@pytest.mark.parametrize("dtype", [object, "U3", "datetime64[s]"])
def test_other_dtypes_are_refused(dtype: object) -> None:
    with pytest.raises(TypeError, match="expected a bool, integer, floating or complex dtype"):
        types.from_numpy(dtype)


def test_symbolic_sizes_are_equal_by_name() -> None:
    assert tensor(f32, Dim("n")) == tensor(f32, Dim("n"))
    assert tensor(f32, Dim("n")) != tensor(f32, Dim("m"))
    with pytest.raises(ValueError, match="no static size"):
        _ = tensor(f32, Dim("n")).size


def test_type_of_arrays() -> None:
    assert types.type_of(np.zeros((2, 3), np.float32)) == TensorType((2, 3), f32)
    assert types.type_of(np.float32(1)) == TensorType((), f32)
    assert types.type_of(True) == TensorType((), i1)
