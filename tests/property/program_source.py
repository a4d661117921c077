"""A random NumPy program: its source, and the functions made of it.

The source is entered in `linecache`, where the front end finds it as it finds any file.
"""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

_NUMBERS = itertools.count()


@dataclass
class Program:
    """The source of a program and numbers to run it on.

    arguments: its positional arguments, trees of arrays and numbers; captured: the arrays of its
    closure; outputs: the names of the results that `loss` weighs, by expression
    """

    statements: list[str]
    parameters: list[str]  # lines that unpack the arguments
    result: str
    losses: list[str]
    arguments: tuple[Any, ...]
    captured: dict[str, Any]
    analytic: bool
    has_single: bool

    @property
    def source(self) -> str:
        names = ", ".join(f"p{k}" for k in range(len(self.arguments)))
        lines = [f"def make({', '.join(self.captured) or '*_'}):", f"    def program({names}):"]
        lines += [f"        {line}" for line in (*self.parameters, *self.statements)]
        lines += [f"        return {self.result}", ""]
        lines += [f"    def loss({names}):", f"        out = program({names})"]
        lines += [f"        return {' + '.join(self.losses)}", "", "    return program, loss", ""]
        return "\n".join(lines)

    def functions(self, wide: bool = False) -> tuple[Any, Any]:
        """(program, loss); `wide`: with float64 where the program says float32."""
        if not hasattr(self, "_code"):
            source, name = self.source, f"<random program {next(_NUMBERS)}>"
            linecache.cache[name] = (len(source), None, source.splitlines(True), name)
            self._code = compile(source, name, "exec")
        space = namespace(np.float64 if wide else np.float32)
        exec(self._code, space)
        captured = {k: widened(x) if wide else x for k, x in self.captured.items()}
        made: tuple[Any, Any] = space["make"](**captured)
        return made


def widened(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic) and x.dtype == np.float32:
        return x.astype(np.float64)
    return x


def namespace(single: Any) -> dict[str, Any]:
    return {"np": np, "special": special, "single": single, "__name__": "random_program"}
