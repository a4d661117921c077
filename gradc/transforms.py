"""grad and value_and_grad: functions that compute gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from gradc.frontend.context import current_context
from gradc.modes import GradientMode
from gradc.resolve import Resolved, Transform, bound_to, function_key, resolve


def checked_argnums(argnums: int | Sequence[int]) -> int | tuple[int, ...]:
    """argnums as an int or a tuple; TypeError or ValueError otherwise."""
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        positions: tuple[int, ...] = (argnums,)
    elif isinstance(argnums, Sequence) and all(type(k) is int for k in argnums):
        positions = argnums = tuple(argnums)
    else:
        raise TypeError(f"expected argnums to be an int or a sequence of ints, got {argnums!r}")
    if not positions or min(positions) < 0 or len(set(positions)) < len(positions):
        raise ValueError(
            f"expected argnums to name distinct positions, counted from 0, got {argnums!r}"
        )
    return argnums


def shifted(argnums: int | tuple[int, ...], count: int) -> int | tuple[int, ...]:
    """Positions behind `count` leading arguments."""
    if isinstance(argnums, int):
        return argnums + count
    return tuple(k + count for k in argnums)


class Differentiated(Transform):
    """A function returning gradients of `function`, made by grad and value_and_grad."""

    def __init__(self, function: Callable[..., Any], mode: GradientMode) -> None:
        self.function = function
        self.mode = mode
        functools.update_wrapper(self, function, updated=())
        self._bound = None if isinstance(function, MethodType) else self._bind()

    def _bind(self) -> tuple[Any, Resolved]:
        r = resolve(self.function)
        m = self.mode
        mode = GradientMode(
            shifted(m.argnums, len(r.args)), m.has_aux, m.holomorphic, m.allow_int, m.with_value,
            bound=len(r.args),
        )  # fmt: skip
        return r.engine.dispatcher(mode), r

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        know_source(self)
        dispatcher, r = self._bound or self._bind()
        if r.args or r.keywords:
            args, kwargs = (*r.args, *args), {**r.keywords, **kwargs}
        return dispatcher(r.function, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        first = bound_to(self.function, instance, owner)
        return self if first is None else MethodType(self, first)

    def __reduce__(self) -> Any:
        return Differentiated, (self.function, self.mode)

    def transform_key(self) -> tuple[Any, Any] | None:
        key, alive = function_key(self.function)
        return ("gradient", key, self.mode), alive

    def __repr__(self) -> str:
        word = "value_and_grad" if self.mode.with_value else "grad"
        return f"<gradc.{word} of {self.function!r}>"


def know_source(transform: Any) -> None:
    """Tell the capture where the transformed function comes from, so that its closure is read
    anew."""
    context = current_context()
    if context is not None:
        capture = context.capture
        source = capture.source_of(transform)
        capture.load(transform.function, capture.child(source, "attr", "function"))


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """A function that returns (value, gradients) of a function with a scalar result.

    argnums:     positional arguments to differentiate; an int, or a sequence (then a tuple of
        gradients)
    has_aux:     `function` returns (value, aux); the result is ((value, aux), gradients)
    holomorphic: complex in, complex out: gives f'(z). Without it the result must be real; the
                 gradient for a complex z = x + iy is dL/dx + i dL/dy
    allow_int:   integer and other non-floating leaves get None instead of an error

    Gradients have the structure, shapes and dtypes of the arguments; keyword arguments are not
    differentiated. Raises TypeError for integer arguments and non-scalar results, TracingError for
    what cannot be traced.
    """
    mode = GradientMode(checked_argnums(argnums), has_aux, holomorphic, allow_int)
    return Differentiated(function, mode)


def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """As value_and_grad, but the function returns the gradients alone; with has_aux (gradients,
    aux)."""
    mode = GradientMode(checked_argnums(argnums), has_aux, holomorphic, allow_int, False)
    return Differentiated(function, mode)
