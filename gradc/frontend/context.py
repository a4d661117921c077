"""The trace that staged code runs in: one stack of contexts for each thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gradc.frontend.capture import Capture, is_trusted_module


class Context:
    """What staged code needs to know of the trace it runs in.

    capture:     the captured values
    no_rewrite:  names of modules whose functions run as they are
    elementwise: is this inside np.vectorize or @numba.vectorize, in a function of scalars?
    """

    __slots__ = ("capture", "no_rewrite", "elementwise")

    def __init__(self, capture: Capture, no_rewrite: tuple[str, ...] = ()) -> None:
        self.capture = capture
        self.no_rewrite = no_rewrite
        self.elementwise = False

    @contextmanager
    def on_arrays(self) -> Iterator[None]:
        """In this block functions of scalars get whole arrays."""
        before, self.elementwise = self.elementwise, True
        try:
            yield
        finally:
            self.elementwise = before

    def is_rewritable(self, module: str) -> bool:
        """Are functions of this module rewritten when called?"""
        if is_trusted_module(module):
            return False
        return not any(module == m or module.startswith(f"{m}.") for m in self.no_rewrite)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.contexts: list[Context] = []


_stack = _Stack()


def current_context() -> Context | None:
    """The context of the innermost trace of this thread."""
    contexts = _stack.contexts
    return contexts[-1] if contexts else None


def is_tracing() -> bool:
    """Is this thread tracing?"""
    return bool(_stack.contexts)


@contextmanager
def active(context: Context) -> Iterator[Context]:
    """Make `context` the current one of this thread."""
    _stack.contexts.append(context)
    try:
        yield context
    finally:
        _stack.contexts.pop()
