"""The language of `--args`: example arguments of a function, separated by commas.

    f32[128, 784]      an array: an element type of the IR and a shape; f64[] is a scalar
    0.5, 'mean', None  a Python literal: static, part of the program
    [...], (...)       a list or tuple of such values;  {'k': ...} a dict
    name=...           a keyword argument
    @NAME              a value of the file, or what its function NAME returns; a tuple gives several
                       arguments

Only shapes and dtypes matter for what is compiled, so arrays are zeros that take no memory.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.ir.diagnostic import ParseError
from gradc.ir.types import ARRAY_DTYPES, SCALARS, ScalarType, from_numpy, to_numpy
from gradc.signature import Static

Lookup = Callable[[str], Any]

_WANTED = "an argument such as f32[128,784], 0.5, 'text', [...], {'k': ...}, name=... or @NAME"
_NAMES = tuple(t.name for t in ARRAY_DTYPES)
_WORD = re.compile(r"[^\W\d]\w*")
_REFERENCE = re.compile(r"@\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_KEYWORD = re.compile(r"([^\W\d]\w*)\s*=(?!=)")
_STRING = re.compile(r"""[bBrRuU]{0,2}(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""")
_NUMBER = re.compile(
    r"[+-]?\s*(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"
    r"|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?)"
)
_SPACE = re.compile(r"\s*")
_PYTHON_WORDS = {"True": True, "False": False, "None": None}
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_MOST_BYTES = 2**62


@dataclass
class _Reference:
    """`@NAME`, to be looked up when the whole text has been read."""

    name: str


def parse_arguments(text: str, lookup: Lookup) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(positional, keyword) arguments that the text describes; literals are boxed in `Static`.

    lookup(name) gives the value of `@name`. Raises ParseError, with the place in the text.
    """
    return Arguments(text).build(lookup)


class Arguments:
    """The text of `--args`, read but not yet built. Raises ParseError."""

    def __init__(self, text: str) -> None:
        self.positional: list[Any] = []
        self.keywords: dict[str, Any] = {}
        reader = _Reader(text)
        while not reader.at_end():
            reader.argument(self.positional, self.keywords)
            if not reader.at_end():
                reader.expect(",", f"after {reader.before()}")

    def build(self, lookup: Lookup) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional, keyword) arguments."""
        args: list[Any] = []
        for node in self.positional:
            value = _built(node, lookup)
            several = isinstance(node, _Reference) and type(value) is tuple
            args.extend(value if several else [value])
        return tuple(args), {k: _built(node, lookup) for k, node in self.keywords.items()}


def _built(node: Any, lookup: Lookup) -> Any:
    if isinstance(node, _Reference):
        return lookup(node.name)
    if type(node) in (list, tuple):
        return type(node)(_built(part, lookup) for part in node)
    if type(node) is dict:
        return {key: _built(part, lookup) for key, part in node.items()}
    return node


def describe_argument(value: Any) -> str:
    """An example argument in the language's words: `{'w': f32[3,4]}`."""
    if isinstance(value, Static):
        return repr(value.value)
    if isinstance(value, np.ndarray | np.generic):
        try:
            return f"{from_numpy(value.dtype)}[{','.join(map(str, value.shape))}]"
        except TypeError:
            return f"an array of {value.dtype}"
    if type(value) is dict:
        return "{%s}" % ", ".join(f"{k!r}: {describe_argument(v)}" for k, v in value.items())
    if type(value) is list:
        return "[%s]" % ", ".join(map(describe_argument, value))
    if type(value) is tuple:
        words = [*map(describe_argument, value)]
        return f"({words[0]},)" if len(words) == 1 else "(%s)" % ", ".join(words)
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._skip_space()

    # ------------------------------------------------------------------------------ characters
    def _skip_space(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def at_end(self) -> bool:
        return self.at >= len(self.text)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past what the pattern matches here, and the space after it."""
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
            self._skip_space()
        return match

    def accept(self, mark: str) -> bool:
        """Move past `mark` if it is here."""
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        self._skip_space()
        return True

    def expect(self, mark: str, where: str) -> None:
        if not self.accept(mark):
            raise self.error(f"expected {mark!r} {where}, got {self.here()}")

    def here(self) -> str:
        """What is at the current place, for messages."""
        if self.at_end():
            return "the end of the text"
        word = _WORD.match(self.text, self.at)
        return repr(word.group() if word else self.text[self.at])

    def before(self) -> str:
        """What was read last, for messages."""
        return repr(self.text[: self.at].rstrip()[-24:])

    def error(self, message: str, at: int | None = None) -> ParseError:
        at = self.at if at is None else at
        first = self.text.rfind("\n", 0, at) + 1
        line = self.text.count("\n", 0, at) + 1
        shown = self.text[first:].partition("\n")[0]
        return ParseError(message, "--args", line, at - first + 1, shown)

    # -------------------------------------------------------------------------------- grammar
    def argument(self, positional: list[Any], keywords: dict[str, Any]) -> None:
        start = self.at
        keyword = self.take(_KEYWORD)
        if keyword is None:
            if keywords:
                raise self.error("expected name=... after a keyword argument, got a positional one")
            positional.append(self.value())
            return
        name = keyword.group(1)
        if name in keywords:
            raise self.error(f"the argument {name} is given twice", start)
        keywords[name] = self.value()

    def value(self) -> Any:
        start = self.at
        reference = self.take(_REFERENCE)
        if reference is not None:
            return _Reference(reference.group(1))
        for opening, closing in _CLOSING.items():
            if self.accept(opening):
                return self._container(opening, closing)
        for pattern in (_STRING, _NUMBER):
            if self.take(pattern):
                if pattern is _NUMBER and self.text[start : self.at].strip()[-1] not in "jJ":
                    self._complex(start)
                return self._literal(start)
        word = self.take(_WORD)
        if word is None:
            raise self.error(f"expected {_WANTED}, got {self.here()}")
        if word.group() in _PYTHON_WORDS:
            return Static(_PYTHON_WORDS[word.group()])
        if self.text.startswith("[", self.at):
            return self._array(word.group(), start)
        if word.group() in _NAMES:
            raise self.error(
                f"expected '[' and a shape after {word.group()}, got {self.here()}: a scalar is "
                f"{word.group()}[]"
            )
        raise self.error(
            f"expected {_WANTED}, got {word.group()!r}; @{word.group()} is a value of the file, "
            f"{word.group()!r} in quotes a string",
            start,
        )

    def _complex(self, start: int) -> None:
        """The imaginary part of a literal such as 1+2j."""
        before = self.at
        if self.text[self.at : self.at + 1] in ("+", "-"):
            found = self.take(_NUMBER)
            if found is None or found.group()[-1] not in "jJ":
                self.at = before

    def _literal(self, start: int) -> Static:
        text = self.text[start : self.at].strip()
        try:
            return Static(ast.literal_eval(text))
        except (SyntaxError, ValueError) as error:
            raise self.error(f"expected a Python literal, got {text}", start) from error

    def _array(self, name: str, start: int) -> Any:
        dtype = self._dtype(name, start)
        self.accept("[")
        shape: list[int] = []
        if not self.accept("]"):
            while True:
                size = self.take(re.compile(r"\d+"))
                if size is None:
                    raise self.error(
                        f"expected a size, a whole number of at least 0, got {self.here()}"
                    )
                shape.append(int(size.group()))
                if self.accept("]"):
                    break
                if not self.accept(","):
                    raise self.error(f"expected ',' or ']' in the shape, got {self.here()}")
        return self._zeros(dtype, shape, start)

    def _dtype(self, name: str, start: int) -> ScalarType:
        if name in _NAMES:
            return SCALARS[name]
        try:
            meant = from_numpy(name).name
        except TypeError:
            close = difflib.get_close_matches(name, _NAMES, 1)
            meant = close[0] if close else ""
        hint = f" (did you mean {meant}?)" if meant else ""
        raise self.error(
            f"expected an element type of {', '.join(_NAMES)}, got {name!r}{hint}", start
        )

    def _zeros(self, dtype: ScalarType, shape: list[int], start: int) -> Any:
        zero = np.zeros((), to_numpy(dtype))
        if not shape:
            return zero[()]
        count = dtype.itemsize
        for size in shape:
            count *= size
        if len(shape) > 64 or max(count, *shape) > _MOST_BYTES:
            raise self.error(f"expected a shape that NumPy can hold, got {shape}", start)
        return np.broadcast_to(zero, tuple(shape))

    def _container(self, opening: str, closing: str) -> Any:
        parts: list[Any] = []
        keys: list[Any] = []
        comma = False
        while not self.accept(closing):
            if opening == "{":
                keys.append(self._key())
            parts.append(self.value())
            comma = self.accept(",")
            if not comma and not self.text.startswith(closing, self.at):
                raise self.error(
                    f"expected ',' or {closing!r} after {self.before()}, got {self.here()}"
                )
        if opening == "{":
            return dict(zip(keys, parts))
        if opening == "[":
            return parts
        if len(parts) == 1 and not comma:
            return parts[0]
        if all(isinstance(part, Static) for part in parts):
            return Static(tuple(part.value for part in parts))
        return tuple(parts)

    def _key(self) -> Any:
        start = self.at
        key = self.value() if not self.at_end() else None
        if not isinstance(key, Static):
            raise self.error(
                f"expected a key that is a Python literal, such as 'weights', got "
                f"{self.text[start : self.at].strip() or self.here()}",
                start,
            )
        self.expect(":", f"after the key {key.value!r}")
        return key.value
