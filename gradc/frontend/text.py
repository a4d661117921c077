"""Traced values written into strings: possible only where the number is known while tracing."""

from __future__ import annotations

from typing import Any

from gradc.frontend import fence
from gradc.frontend.tracer import Tracer


def written(x: Any) -> Any:
    """A value about to be written into a string: Python numbers for the tracers in it.

    Raises TracingError where one is not known while tracing.
    """
    if isinstance(x, Tracer):
        if x.python is None:
            raise fence.traced_format()
        return x.known()
    if type(x) in (list, tuple):
        return type(x)(map(written, x))
    return {k: written(v) for k, v in x.items()} if type(x) is dict else x
