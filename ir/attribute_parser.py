"""Reads attributes and locations from MLIR text."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.array_parser import ArrayParser
from gradc.ir.core import UNKNOWN, Location, OpaqueAttribute, Symbol, TypedNumber
from gradc.ir.types import Dim, ScalarType, f64, i1, i64


class AttributeParser(ArrayParser):
    """The cursor with methods that read attributes."""

    def parse_attribute(self) -> Any:
        """An attribute value (see core.py)."""
        kind = self.kind
        if kind in ("int", "float", "hex"):
            return self._number()
        if kind == "string":
            return self.string()
        if kind == "word":
            return self._word()
        if self.at("["):
            return self._tuple()
        if self.at("{"):
            return self.parse_dictionary()
        if kind == "symbol":
            return self.parse_symbol()
        if kind == "hash":
            return self._dialect_attribute()
        if kind in ("shaped", "bang") or self.at("("):
            return self.parse_type()
        self.expected("an attribute")

    def parse_symbol(self) -> Symbol:
        if self.kind != "symbol":
            self.expected("a symbol such as @name")
        at = self.start
        name = self.advance()[1:]
        if self.at(":") and self.text.startswith("::", self.start):
            self.fail("nested symbols are not supported")
        return Symbol(self.unescape(name, at) if name.startswith('"') else name)

    def parse_dictionary(self) -> dict[str, Any]:
        """`{key = value, flag, "any key" = value}`."""
        self.expect("{")
        found: dict[str, Any] = {}
        while not self.at("}"):
            at = self.start
            if self.kind == "string":
                key = self.string()
            elif self.kind in ("word", "hex") or self.token in ("tensor", "memref"):
                key = self.advance()
            else:
                self.expected("the name of an attribute")
            if key in found:
                self.fail(f"attribute {key} is given twice", at)
            found[key] = self.parse_attribute() if self.accept("=") else None
            if not self.accept(","):
                break
        self.expect("}", " at the end of the attributes")
        return found

    def _tuple(self) -> tuple[Any, ...]:
        self.advance()
        found = []
        while not self.at("]"):
            found.append(self.parse_attribute())
            if not self.accept(","):
                break
        self.expect("]", " at the end of the list")
        return tuple(found)

    def _word(self) -> Any:
        word = self.token
        if word in ("true", "false", "unit"):
            self.advance()
            return {"true": True, "false": False, "unit": None}[word]
        if word == "dense":
            self.advance()
            self.expect("<", " after dense")
            elements = self.parse_elements()
            self.expect(">", " at the end of the elements")
            self.expect(":", " and the type of the elements")
            return self.parse_array(elements)
        if word == "affine_map":
            return self.parse_affine_map()
        if word in ("array", "affine_set", "strided", "dense_resource", "sparse"):
            self.advance()
            if not self.at("<"):
                self.expected(f"'<' after {word}")
            return OpaqueAttribute(word + self.raw_body())
        if word == "loc":
            begin = self.start
            self.parse_location()
            return OpaqueAttribute(self.text[begin : self.start].rstrip())
        return self.parse_type()

    def _number(self) -> Any:
        kind, at = self.kind, self.start
        token = self.advance()
        if len(token) > 1000:
            self.fail("expected a number of fewer than 1000 digits", at)
        type: Any = f64 if kind == "float" else i64
        if self.accept(":"):
            type = self.parse_type()
        if not isinstance(type, ScalarType) or type.is_complex:
            self.fail(f"expected an integer or floating type for a number, got {type}", at)
        if type.is_floating:
            value = self.float_of(kind, token, type, at)
            return value if type is f64 else TypedNumber(value, type)
        if kind == "float":
            self.fail(f"expected an integer for type {type}, got {token}", at)
        number = int(token, 16 if kind == "hex" else 10)
        low = -(1 << (type.bits - 1)) if type.kind != "u" else 0
        if not low <= number < 1 << type.bits:
            self.fail(f"{token} is out of range for {type}", at)
        if type is i1:
            return bool(number)
        if type.kind != "u" and number >= 1 << (type.bits - 1):
            number -= 1 << type.bits
        return number if type is i64 else TypedNumber(number, type)

    def _dialect_attribute(self) -> Any:
        name = self.token
        if name in self.aliases:
            self.advance()
            return self.aliases[name]
        if "." not in name:
            self.fail(f"the attribute alias {name} is not defined")
        at = self.start
        self.advance()
        ours = _OURS.get(name)
        if ours is None:
            return OpaqueAttribute(name + (self.raw_body() if self.at("<") else ""))
        self.expect("<", f" after {name}")
        value = ours(self, at)
        self.expect(">", f" at the end of {name}")
        return value

    def _big_integer(self, at: int) -> int:
        text = self.string("the digits of an integer in quotes")
        try:
            return int(text)
        except ValueError:
            self.fail(f"expected the digits of an integer, got {text!r}", at)

    def _complex(self, at: int) -> complex:
        real = self.parse_real()
        self.expect(",", " between the parts of a complex number")
        return complex(real, self.parse_real())

    def _size(self, at: int) -> Dim:
        return Dim(self.string("the name of a size"))

    def _our_array(self, at: int) -> np.ndarray:
        elements = None if self.at(":") else self.parse_elements()
        self.expect(":", " and the type of the elements")
        return self.parse_array(elements)

    # -------------------------------------------------------------------------------- locations

    def parse_location(self) -> Location:
        """`loc(...)`. A fused or call-site location is its first part."""
        self.expect("loc")
        self.expect("(", " after loc")
        found = self.location_body()
        self.expect(")", " at the end of the location")
        return found

    def location_body(self) -> Location:
        if self.accept("unknown"):
            return UNKNOWN
        if self.kind == "hash":
            found = self.aliases.get(self.token)
            if not isinstance(found, Location):
                self.fail(f"the location alias {self.token} is not defined")
            self.advance()
            return found
        if self.kind == "string":
            return self._place_or_name()
        if self.accept("callsite"):
            self.expect("(")
            callee = self.location_body()
            self.expect("at")
            self.location_body()
            self.expect(")")
            return callee
        if self.accept("fused"):
            return self._fused()
        self.expected('a location such as "model.py":12:9 or unknown')

    def _place_or_name(self) -> Location:
        text = self.string()
        if self.accept(":"):
            line = self.integer("a line number")
            self.expect(":", " before the column")
            return Location(text, line, self.integer("a column number"))
        inner = UNKNOWN
        if self.accept("("):
            inner = self.location_body()
            self.expect(")")
        return inner.derived(text)

    def _fused(self) -> Location:
        role = ""
        if self.accept("<"):
            found = self.parse_attribute()
            role = found if isinstance(found, str) else ""
            self.expect(">")
        self.expect("[", " and the fused locations")
        parts = [self.location_body()]
        while self.accept(","):
            parts.append(self.location_body())
        self.expect("]")
        return parts[0].derived(role) if role else parts[0]


_OURS: dict[str, Any] = {
    "#gradc.int": AttributeParser._big_integer,
    "#gradc.complex": AttributeParser._complex,
    "#gradc.dim": AttributeParser._size,
    "#gradc.dense": AttributeParser._our_array,
}
