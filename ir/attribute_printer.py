"""Text of attributes, types and locations: the exact form for MLIR and a short form for people.

Attributes of ours (`#gradc.name<...>`) carry what builtin attributes cannot, and both mlir-opt and
xDSL keep their text unchanged: complex numbers, ints beyond 64 bits, symbolic sizes, and arrays
that are complex or hold NaN or infinities (xDSL misreads those in `dense`).
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from gradc.ir.affine import AffineMap
from gradc.ir.core import Location, OpaqueAttribute, Symbol, TypedNumber
from gradc.ir.types import (
    Dim,
    ScalarType,
    TensorType,
    Type,
    f64,
    from_numpy,
    text,
)

LONGEST_LIST = 100  # arrays with more elements are written as a string of hexadecimal digits
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*\Z")
_FORMATS = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def string_text(value: str) -> str:
    """A quoted MLIR string; quotes and what is not printable as hexadecimal digits of its UTF-8."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    out = []
    for character in value:
        if character == "\\":
            out.append("\\\\")
        elif character.isprintable() and character != '"':
            out.append(character)
        else:
            out += [f"\\{byte:02X}" for byte in character.encode("utf-8", "surrogatepass")]
    return '"' + "".join(out) + '"'


def float_text(value: float) -> str:
    """The shortest decimal that reads back as the same float64, with the point MLIR wants; or
    nan, inf, -inf."""
    digits = float.__repr__(float(value))
    if "e" in digits and "." not in digits:
        return digits.replace("e", ".0e")
    return digits


def float_bits(value: float, type: ScalarType) -> int:
    """The bit pattern of a number in a floating type (bf16 by truncation: infinities and NaN)."""
    if type.name == "bf16":
        return int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16
    to_float, to_int = _FORMATS[type.name]
    return int(struct.unpack(to_int, struct.pack(to_float, value))[0])


def float_from_bits(bits: int, type: ScalarType) -> float:
    """The inverse of `float_bits`; ValueError when the pattern is wider than the type."""
    if bits >> type.bits:
        raise ValueError(f"0x{bits:X} has more than the {type.bits} bits of {type}")
    if type.name == "bf16":
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    to_float, to_int = _FORMATS[type.name]
    return float(struct.unpack(to_float, struct.pack(to_int, bits))[0])


def number_text(value: Any, type: ScalarType) -> str:
    """`1.5 : f32`, `4 : index`; non-finite numbers by their bits, `0x7F800000 : f32`."""
    if type.is_bool:
        return "true" if value else "false"
    if not type.is_floating:
        return f"{int(value)} : {type.mlir}"
    value = float(value)
    if np.isfinite(value):
        return f"{float_text(value)} : {type.mlir}"
    return f"0x{float_bits(value, type):0{type.bits // 4}X} : {type.mlir}"


def _element(value: Any, dtype: ScalarType) -> str:
    """One element of an array; in short digits where reading through float64 is exact."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))
    if dtype.is_complex:
        return f"({_element(value.real, dtype.real)}, {_element(value.imag, dtype.real)})"
    if not np.isfinite(value):
        bits = value.tobytes()
        for name in ("nan", "inf", "-inf"):
            if np.asarray(float(name)).astype(value.dtype).tobytes() == bits:
                return name
        return "0x" + bits[::-1].hex().upper()
    short = float_text(float(str(value)))
    if dtype is not f64 and value.dtype.type(float(short)) != value:
        return float_text(float(value))
    return short


def _elements(array: np.ndarray, dtype: ScalarType) -> str:
    if array.ndim == 0:
        return _element(array[()], dtype)
    return "[" + ", ".join(_elements(part, dtype) for part in array) + "]"


def _is_splat(array: np.ndarray) -> bool:
    if array.size < 2 or not any(array.strides):
        return array.size > 0
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return bool((data == data[0]).all())


def array_text(array: np.ndarray) -> str:
    """`dense<[1.0, 2.0]> : tensor<2xf32>`; equal elements are written once."""
    dtype = from_numpy(array.dtype)
    type = TensorType(array.shape, dtype)
    if array.size == 0:
        body = ""
    elif _is_splat(array):
        body = _element(array[(0,) * array.ndim], dtype)
    elif array.size > LONGEST_LIST and not dtype.is_bool:
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        body = f'"0x{np.ascontiguousarray(little).tobytes().hex().upper()}"'
    else:
        body = _elements(array, dtype)
    if dtype.is_complex or (dtype.is_floating and not np.isfinite(array).all()):
        return f"#gradc.dense<{body}{' ' if body else ''}: {text(type)}>"
    return f"dense<{body}> : {text(type)}"


def attribute_text(value: Any) -> str:
    """The exact text of an attribute value; TypeError for a Python value that is not one."""
    if value is None:
        return "unit"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, np.generic):
        return attribute_text(value.item())
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return f"{int(value)} : i64"
        return f'#gradc.int<"{int(value)}">'
    if isinstance(value, float):
        return number_text(value, f64)
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(attribute_text, value)) + "]"
    if isinstance(value, Type):
        return text(value)
    if isinstance(value, complex):
        return f"#gradc.complex<{_part(value.real)}, {_part(value.imag)}>"
    if isinstance(value, dict):
        return dictionary_text(value)
    if isinstance(value, TypedNumber):
        return number_text(value.value, value.type)
    if isinstance(value, np.ndarray):
        return array_text(value)
    if isinstance(value, Symbol):
        return symbol_text(value.name)
    if isinstance(value, Dim):
        return f"#gradc.dim<{string_text(value.name)}>"
    if isinstance(value, AffineMap | OpaqueAttribute):
        return str(value)
    raise TypeError(f"expected an attribute value, got {value!r} of type {type(value).__name__}")


def _part(value: float) -> str:
    """A real or imaginary part, NaN payloads by their bits."""
    if value != value and float_bits(value, f64) != float_bits(float("nan"), f64):
        return f"0x{float_bits(value, f64):016X}"
    return float_text(value)


def dictionary_text(attributes: dict[str, Any]) -> str:
    parts = []
    for key, value in attributes.items():
        name = key if _BARE.match(key) else string_text(key)
        parts.append(name if value is None else f"{name} = {attribute_text(value)}")
    return "{" + ", ".join(parts) + "}"


def symbol_text(name: str) -> str:
    return f"@{name}" if _BARE.match(name) else f"@{string_text(name)}"


def location_text(location: Location) -> str:
    """`loc("model.py":12:9)`; the pass that derived an op as `loc("backward"("model.py":12:9))`."""
    place = "unknown"
    if location.file:
        place = f"{string_text(location.file)}:{location.line}:{location.column}"
    return f"loc({string_text(location.role)}({place}))" if location.role else f"loc({place})"


def short_text(value: Any) -> str:
    """An attribute for people: no types on numbers, long arrays cut short. Never raises."""
    if value is None:
        return "none"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, np.generic):
        return short_text(value.item())
    if isinstance(value, float):
        return float.__repr__(float(value))
    if isinstance(value, int | complex):
        return str(value)
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(short_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {short_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, TypedNumber):
        return short_text(value.value)
    if isinstance(value, AffineMap):
        return str(value).removeprefix("affine_map<").removesuffix(">")
    if isinstance(value, np.ndarray):
        return _short_array(value)
    return str(value)


def _short_array(array: np.ndarray) -> str:
    if array.size and _is_splat(array):
        return f"dense<{array[(0,) * array.ndim]}>"
    if array.size <= 8:
        return "dense<" + str(array.tolist()).replace("'", "") + ">"
    first = ", ".join(str(x) for x in array.reshape(-1)[:4])
    return f"dense<[{first}, ...]>"
