"""The switch that makes functions of a thread run as plain Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.disabled = int(os.environ.get("GRADC_DISABLE_COMPILE", "0") not in ("", "0"))


state = _ThreadState()  # read at each call, so without a function around it


@contextmanager
def disable_compile() -> Iterator[None]:
    """In this block (and thread) functions run as plain Python, so that pdb and print work in them.

    Transforms (grad, value_and_grad, jvp...) still trace the function, and run in the IR
    interpreter. GRADC_DISABLE_COMPILE=1 does so for a whole process.
    """
    state.disabled += 1
    try:
        yield
    finally:
        state.disabled -= 1


def is_disabled() -> bool:
    """Is compilation switched off in this thread?"""
    return state.disabled > 0
