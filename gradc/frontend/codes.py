"""What is remembered of a code object is forgotten when the code is gone."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any


def when_gone(code: CodeType, forget: Callable[..., Any], *args: Any) -> None:
    """Call forget(*args) when `code` is freed; until then its id is its own."""
    weakref.finalize(code, forget, *args).atexit = False
