"""Reads types and affine maps from MLIR text."""

from __future__ import annotations

from typing import Any

from gradc.ir.affine import AffineExpr, AffineMap
from gradc.ir.lexer import Lexer
from gradc.ir.types import (
    SCALARS,
    Dim,
    FunctionType,
    MemRefType,
    ScalarType,
    Size,
    TensorType,
    TokenType,
    Type,
)

_SCALAR_TYPES = {t.mlir: t for t in SCALARS.values() if not t.is_complex}
_COMPLEX = {t.real.name: t for t in SCALARS.values() if t.is_complex}


class TypeParser(Lexer):
    """The cursor with methods that read types; `aliases` holds the definitions `!name = type` and
    `#name = attribute` that came before."""

    def __init__(self, text: str, file: str = "") -> None:
        self.aliases: dict[str, Any] = {}
        super().__init__(text, file)

    def parse_type(self) -> Any:
        """A type; ParseError where the text has none."""
        if self.kind == "shaped":
            return self._shaped_type()
        if self.kind == "word":
            found = _SCALAR_TYPES.get(self.token)
            if found is not None:
                self.advance()
                return found
            if self.token == "complex":
                return self._complex_type()
        if self.kind == "bang":
            return self._dialect_type()
        if self.at("("):
            return self.parse_function_type()
        self.expected("a type")

    def _complex_type(self) -> ScalarType:
        self.advance()
        self.expect("<", " after complex")
        found = _COMPLEX.get(self.token)
        if found is None:
            self.expected("f32 or f64 as the element type of complex")
        self.advance()
        self.expect(">")
        return found

    def _dialect_type(self) -> Type:
        name = self.token
        if name in self.aliases:
            self.advance()
            return self.aliases[name]
        if "." not in name:
            self.fail(f"the type alias {name} is not defined")
        self.advance()
        return TokenType(name + (self.raw_body() if self.at("<") else ""))

    def _shaped_type(self) -> Type:
        begin = self.start
        kind, _, sizes = self.advance().partition("<")
        at = self.start
        dtype = self.parse_type()
        if not isinstance(dtype, ScalarType):
            self.fail(f"expected an element type, got {dtype}", at)
        dims: list[Any] = sizes.split("x")[:-1]
        if any(len(n) > 18 for n in dims):
            self.fail("expected sizes below 10**18", begin)
        if kind == "memref":
            return self._finish_memref(dims, dtype)
        names: list[str] = []
        if self.accept(","):
            self.expect("[", ": the names of the sizes written as ?")
            names.append(self.string("the name of a size"))
            while self.accept(","):
                names.append(self.string("the name of a size"))
            self.expect("]")
        self.expect(">", " at the end of the type")
        if dims.count("?") != len(names):
            self.fail(
                f"expected a name for each of the {dims.count('?')} sizes written as ?, got "
                f'{len(names)}: write tensor<?xf32, ["n0"]>',
                begin,
            )
        left = iter(names)
        return TensorType(tuple(Dim(next(left)) if n == "?" else int(n) for n in dims), dtype)

    def _finish_memref(self, dims: list[Any], dtype: ScalarType) -> Type:
        shape: tuple[Size, ...] = tuple(Dim("") if n == "?" else int(n) for n in dims)
        strides = None
        if self.accept(","):
            at = self.start
            if not self.accept("strided"):
                self.expected("a layout such as strided<[8, 1]>")
            self.expect("<")
            self.expect("[")
            found = []
            while not self.at("]"):
                found.append(self.integer("a stride"))
                if not self.accept(","):
                    break
            self.expect("]")
            if self.accept(","):
                self.expect("offset")
                self.expect(":")
                if self.integer("the offset 0"):
                    self.fail("expected the offset to be 0", at)
            self.expect(">")
            if len(found) != len(shape):
                self.fail(f"expected {len(shape)} strides, got {len(found)}", at)
            strides = tuple(found)
        self.expect(">", " at the end of the type")
        return MemRefType(shape, dtype, strides)

    def parse_function_type(self) -> FunctionType:
        inputs = self._type_list()
        self.expect("->")
        results = self._type_list() if self.at("(") else (self.parse_type(),)
        return FunctionType(inputs, results)

    def _type_list(self) -> tuple[Type, ...]:
        self.expect("(")
        types: list[Type] = []
        while not self.at(")"):
            types.append(self.parse_type())
            if not self.accept(","):
                break
        self.expect(")", " at the end of the types")
        return tuple(types)

    # ------------------------------------------------------------------------------ affine maps

    def parse_affine_map(self) -> AffineMap:
        self.advance()
        self.expect("<", " after affine_map")
        dims = self._names("(", ")")
        symbols = self._names("[", "]") if self.at("[") else []
        names = {name: k for k, name in enumerate([*dims, *symbols])}
        if len(names) != len(dims) + len(symbols):
            self.fail("the inputs of the map have the same name")
        self.expect("->")
        self.expect("(")
        results = []
        while not self.at(")"):
            results.append(self._affine_sum(names))
            if not self.accept(","):
                break
        self.expect(")", " at the end of the map's results")
        self.expect(">", " at the end of the map")
        return AffineMap(len(dims), len(symbols), tuple(results))

    def _names(self, opening: str, closing: str) -> list[str]:
        self.expect(opening)
        found = []
        while not self.at(closing):
            if self.kind != "word":
                self.expected("the name of an input such as d0")
            found.append(self.advance())
            if not self.accept(","):
                break
        self.expect(closing)
        return found

    def _affine_sum(self, names: dict[str, int]) -> AffineExpr:
        total = self._affine_product(names)
        while True:
            if self.accept("+"):
                total = total + self._affine_product(names)
            elif self.accept("-"):
                total = total + self._affine_product(names) * -1
            elif self.kind == "int" and self.token.startswith("-"):
                total = total + self._affine_product(names)
            else:
                return total

    def _affine_product(self, names: dict[str, int]) -> AffineExpr:
        left = self._affine_factor(names)
        while True:
            if self.token in ("mod", "floordiv", "ceildiv"):
                self.fail(f"{self.token} is not supported in a map: its results must be linear")
            if not self.accept("*"):
                return left
            at = self.start
            right = self._affine_factor(names)
            if any(left.coefficients) and any(right.coefficients):
                self.fail("expected one factor of a product to be constant", at)
            if any(right.coefficients):
                left, right = right, left
            left = left * right.constant

    def _affine_factor(self, names: dict[str, int]) -> AffineExpr:
        if self.kind == "int":
            return AffineExpr.const(self.integer("a number"), len(names))
        if self.accept("("):
            inner = self._affine_sum(names)
            self.expect(")")
            return inner
        if self.accept("-"):
            return self._affine_factor(names) * -1
        if self.kind == "word" and self.token in names:
            return AffineExpr.dim(names[self.advance()], len(names))
        self.expected("an input of the map or a number")
