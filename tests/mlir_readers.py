"""Two readers of MLIR text that are not ours: xDSL, and mlir-opt where it is installed."""

from __future__ import annotations

import functools
import shutil
import subprocess
from typing import Any

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.parser import Parser

# The dialects whose names and rules gradc takes from MLIR; the rest is read unregistered.
_DIALECTS = ("arith", "builtin", "func", "math", "memref", "scf")
_NAMES = ("mlir-opt-22", "mlir-opt-21", "mlir-opt-20", "mlir-opt-19", "mlir-opt")


@functools.cache
def mlir_opt() -> str | None:
    """The installed mlir-opt, or None."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def read_with_xdsl(text: str) -> Any:
    """The module that xDSL reads from `text`; its ParseError otherwise."""
    context = Context(allow_unregistered=True)
    dialects = get_all_dialects()
    for name in _DIALECTS:
        context.register_dialect(name, dialects[name])
    return Parser(context, text).parse_module()


def read_with_mlir_opt(*texts: str) -> str:
    """What mlir-opt prints for the texts, after reading and verifying them in one process."""
    program = mlir_opt()
    assert program is not None, "ask mlir_opt() first"
    done = subprocess.run(
        [program, "--allow-unregistered-dialect", "--split-input-file", "-"],
        input="\n// -----\n".join(texts),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"mlir-opt refuses the text:\n{done.stderr}"
    return done.stdout


def assert_readable(*texts: str) -> None:
    """Each text is MLIR: xDSL reads it; mlir-opt, where installed, reads and verifies it."""
    for text in texts:
        read_with_xdsl(text)
    if texts and mlir_opt():
        read_with_mlir_opt(*texts)
