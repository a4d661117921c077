"""Tokens of MLIR text, one at a time, and errors that point into the text."""

from __future__ import annotations

import re
from typing import NoReturn

from gradc.ir.diagnostic import ParseError

# `tensor<4x?x` is one token: by themselves its sizes look like numbers (0x4 a hexadecimal one).
_TOKEN = re.compile(
    r"""(?:[ \t\r\n]++|//[^\n]*+)*+(?:
      (?P<value>%[A-Za-z0-9_$.\-]+(?:\#[0-9]+)?)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<arrow>->)
    | (?P<float>-?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?)
    | (?P<hex>0x[0-9A-Fa-f]+)
    | (?P<int>-?[0-9]+)
    | (?P<shaped>(?:tensor|memref)<(?:(?:\?|[0-9]+)x)*)
    | (?P<word>[A-Za-z_][A-Za-z0-9_$.]*)
    | (?P<block>\^[A-Za-z0-9_$.\-]+)
    | (?P<symbol>@(?:[A-Za-z_][A-Za-z0-9_$.]*|"(?:[^"\\\n]|\\.)*"))
    | (?P<hash>\#[A-Za-z_][A-Za-z0-9_$.]*)
    | (?P<bang>![A-Za-z_][A-Za-z0-9_$.]*)
    | (?P<punctuation>[{}()\[\]<>,:=*+\-?/|])
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.ASCII,
)
_SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")
_BODY = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[<>()\[\]{}]')
_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}
_ESCAPE = re.compile(rb'\\([0-9A-Fa-f]{2}|[\\"nt])')
_SIMPLE = {b"\\": b"\\", b'"': b'"', b"n": b"\n", b"t": b"\t"}


class Lexer:
    """A cursor over the tokens of `text`.

    kind, token: the current token; kind is 'punctuation' for brackets and marks, 'end' at the end
    start, end:  where it lies in the text
    """

    def __init__(self, text: str, file: str = "") -> None:
        self.text = text
        self.file = file
        self.kind = ""
        self.token = ""
        self.start = self.end = 0
        self.advance()

    def advance(self) -> str:
        """Step to the next token; the one left behind."""
        left = self.token
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            self._refuse()
        self.kind = match.lastgroup or "end"
        self.token = match[self.kind]
        self.start, self.end = match.span(self.kind)
        return left

    def _refuse(self) -> NoReturn:
        space = _SPACE.match(self.text, self.end)
        at = space.end() if space is not None else self.end
        found = self.text[at]
        if found == '"' or self.text.startswith('@"', at):
            self.fail("the string has no end on its line", at)
        self.fail(f"expected a token, got {found!r}", at)

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise a ParseError at a position of the text (the current token's by default)."""
        at = self.start if at is None else at
        begin = self.text.rfind("\n", 0, at) + 1
        finish = self.text.find("\n", at)
        line = self.text[begin : finish if finish >= 0 else len(self.text)]
        number = self.text.count("\n", 0, at) + 1
        raise ParseError(message, self.file, number, at - begin + 1, line)

    @property
    def got(self) -> str:
        """The current token in words, for messages."""
        return "the end of the file" if self.kind == "end" else f"'{self.token}'"

    def expected(self, what: str) -> NoReturn:
        self.fail(f"expected {what}, got {self.got}")

    def at(self, mark: str) -> bool:
        return self.token == mark and self.kind != "string"

    def accept(self, mark: str) -> bool:
        """Step over the mark or word if it is the current token."""
        if self.token == mark and self.kind != "string":
            self.advance()
            return True
        return False

    def expect(self, mark: str, where: str = "") -> None:
        if not self.accept(mark):
            self.expected(f"'{mark}'{where}")

    def string(self, what: str = "a string") -> str:
        """Read a quoted string."""
        if self.kind != "string":
            self.expected(what)
        at = self.start
        return self.unescape(self.advance(), at)

    def unescape(self, quoted: str, at: int) -> str:
        body = quoted[1:-1]
        if "\\" not in body:
            return body
        data = body.encode("utf-8", "surrogatepass")
        if re.sub(_ESCAPE, b"", data).count(b"\\"):
            self.fail(
                'expected \\\\, \\", \\n, \\t or two hexadecimal digits after a backslash', at
            )

        def byte(match: re.Match[bytes]) -> bytes:
            code = match[1]
            return bytes.fromhex(code.decode()) if len(code) == 2 else _SIMPLE[code]

        try:
            return _ESCAPE.sub(byte, data).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self.fail("the string is not UTF-8 text", at)

    def integer(self, what: str) -> int:
        """Read a decimal integer."""
        if self.kind != "int":
            self.expected(what)
        if len(self.token) > 1000:
            self.fail(f"expected {what} of fewer than 1000 digits")
        return int(self.advance())

    def raw_body(self) -> str:
        """The text of `<...>` up to the bracket that closes it, read without interpretation."""
        begin = at = self.start
        stack: list[str] = []
        while True:
            match = _BODY.search(self.text, at)
            if match is None:
                self.fail(f"the '{self.text[begin]}' has no matching '{_CLOSING['<']}'", begin)
            at = match.end()
            mark = match[0]
            if mark in _CLOSING:
                stack.append(_CLOSING[mark])
            elif mark[0] != '"' and mark != "->":
                if mark != stack.pop():
                    self.fail("the brackets do not match", match.start())
                if not stack:
                    self.end = at
                    body = self.text[begin:at]
                    self.advance()
                    return body
