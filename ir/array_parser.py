"""Reads the elements of array attributes: `dense<[1.0, 2.0]> : tensor<2xf32>` and ours.

Elements are read as tokens, and turned into numbers when their type is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.attribute_printer import float_from_bits
from gradc.ir.type_parser import TypeParser
from gradc.ir.types import ScalarType, TensorType, f64, i1, index, to_numpy

_NOT_FINITE = ("nan", "inf")


class ArrayParser(TypeParser):
    """The cursor with methods that read arrays."""

    def parse_elements(self) -> Any:
        """Nested lists of (kind, token, position), or one of them; None for no elements."""
        if self.at(">"):
            return None
        return self._element_list()

    def _element_list(self) -> Any:
        opening = self.token if self.kind == "punctuation" else ""
        if opening not in ("[", "("):
            return self._element()
        closing = {"[": "]", "(": ")"}[opening]
        self.advance()
        found: list[Any] = []
        while not self.at(closing):
            found.append(self._element_list())
            if not self.accept(","):
                break
        self.expect(closing, " at the end of the elements")
        return tuple(found) if opening == "(" else found

    def _element(self) -> Any:
        at = self.start
        if self.kind in ("int", "float", "hex", "string"):
            kind = self.kind
            return (kind, self.advance(), at)
        sign = "-" if self.accept("-") else ""
        if self.token in _NOT_FINITE or (not sign and self.token in ("true", "false")):
            return ("word", sign + self.advance(), at)
        self.expected("an element: a number, true, false, nan, inf or a list")

    def parse_array(self, elements: Any) -> np.ndarray:
        at = self.start
        type = self.parse_type()
        if not isinstance(type, TensorType) or not type.is_static or type.dtype is index:
            self.fail(f"expected a tensor type with known sizes, got {type}", at)
        try:
            array = self._fill(elements, type, at)
        except (ValueError, OverflowError) as error:
            self.fail(f"these elements do not make a {type}: {error}", at)
        array.flags.writeable = False
        return array

    def _fill(self, elements: Any, type: TensorType, at: int) -> np.ndarray:
        dtype = to_numpy(type.dtype)
        shape: Any = type.shape
        if elements is None or elements == []:
            if type.size:
                self.fail(f"expected {type.size} elements for {type}, got none", at)
            return np.empty(shape, dtype)
        if _is_token(elements) and elements[0] == "string":
            return self._fill_from_bytes(elements, type)
        if _is_token(elements) or isinstance(elements, tuple):
            one = self._numbers([elements], type.dtype)
            return np.broadcast_to(one.reshape(()), shape)
        found, flat = self._flatten(elements, at)
        if found != shape:
            self.fail(f"expected elements of shape {list(shape)}, got {list(found)}", at)
        return self._numbers(flat, type.dtype).reshape(shape)

    def _fill_from_bytes(self, element: Any, type: TensorType) -> np.ndarray:
        _, text, at = element
        if not text.startswith('"0x') or type.dtype is i1:
            self.fail('expected numbers or a string such as "0x0000803F"', at)
        try:
            data = bytes.fromhex(text[3:-1])
        except ValueError:
            self.fail("expected an even number of hexadecimal digits", at)
        shape: Any = type.shape
        little = to_numpy(type.dtype).newbyteorder("<")
        if len(data) == little.itemsize:
            one = np.frombuffer(data, little).astype(to_numpy(type.dtype))
            return np.broadcast_to(one.reshape(()), shape)
        if len(data) != type.nbytes:
            self.fail(f"expected {type.nbytes} bytes for {type}, got {len(data)}", at)
        return np.frombuffer(data, little).astype(to_numpy(type.dtype)).reshape(shape)

    def _flatten(self, elements: list[Any], at: int) -> tuple[tuple[int, ...], list[Any]]:
        if not isinstance(elements[0], list):
            if any(isinstance(x, list) for x in elements):
                self.fail("the nested lists differ in depth", at)
            return (len(elements),), elements
        flat: list[Any] = []
        shapes = set()
        for part in elements:
            if not isinstance(part, list) or not part:
                self.fail("the nested lists differ in depth", at)
            shape, found = self._flatten(part, at)
            shapes.add(shape)
            flat += found
        if len(shapes) != 1:
            self.fail("the nested lists differ in length", at)
        return (len(elements), *shapes.pop()), flat

    def _numbers(self, elements: list[Any], dtype: ScalarType) -> np.ndarray:
        """A flat array of the elements; complex ones are pairs."""
        if dtype.is_complex:
            parts: list[Any] = []
            for pair in elements:
                if not isinstance(pair, tuple) or _is_token(pair) or len(pair) != 2:
                    self.fail("expected pairs such as (1.0, 2.0) as complex elements")
                parts += pair
            return self._numbers(parts, dtype.real).view(to_numpy(dtype))
        for element in elements:
            if not _is_token(element) or element[0] == "string":
                self.fail(f"expected plain numbers as elements of type {dtype}")
        if dtype.is_bool:
            return np.array([self._bool(x) for x in elements], bool)
        if dtype.is_integer:
            return np.array([self._int(x) for x in elements], to_numpy(dtype))
        values = np.array([self._element_float(x, dtype) for x in elements], np.float64)
        array = values.astype(to_numpy(dtype))
        for k, (kind, token, _) in enumerate(elements):
            if kind == "hex":  # written as bits, so that a NaN keeps its payload
                array.view(f"u{dtype.itemsize}")[k] = int(token, 16)
        return array

    def _bool(self, element: Any) -> bool:
        _, token, at = element
        if token not in ("true", "false", "0", "1"):
            self.fail(f"expected true or false, got {token}", at)
        return token in ("true", "1")

    def _int(self, element: Any) -> int:
        kind, token, at = element
        if kind not in ("int", "hex") or len(token) > 100:
            self.fail(f"expected an integer, got {token}", at)
        return int(token, 16 if kind == "hex" else 10)

    def _element_float(self, element: Any, dtype: ScalarType) -> float:
        kind, token, at = element
        if token in ("true", "false"):
            self.fail(f"expected a number, got {token}", at)
        return float(token) if kind != "hex" else self.float_of(kind, token, dtype, at)

    def parse_real(self) -> float:
        element = self._element()
        if element[0] == "string":
            self.fail("expected a number, got a string", element[2])
        return self._element_float(element, f64)

    def float_of(self, kind: str, token: str, type: ScalarType, at: int) -> float:
        if kind == "float":
            return float(token)
        if kind == "int":
            self.fail(f"expected a number with a point, or its bits, for {type}, got {token}", at)
        try:
            return float_from_bits(int(token, 16), type)
        except ValueError as error:
            self.fail(str(error), at)


def _is_token(element: Any) -> bool:
    """Whether an element is a (kind, token, position) and not a pair of elements."""
    return isinstance(element, tuple) and len(element) == 3 and isinstance(element[0], str)
