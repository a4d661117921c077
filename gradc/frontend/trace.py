"""A trace: the function that grows while user code runs on tracers.

    trace = Trace("loss")
    x = trace.argument(type_of(array), "x")
    with trace.active():
        y = np.sin(x).sum()          # emits nd.sin, nd.reduce_sum at the user's line
    function = trace.finish([y])

Traces nest (the function given to `grad` inside a traced function): a tracer of an enclosing trace
that is used in an inner one becomes an argument of the inner function, listed in `borrowed`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError, user_location
from gradc.frontend.tracer import Tracer
from gradc.ir.builder import Builder
from gradc.ir.core import Location, Value
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import TensorType, c128, f64, from_numpy, i1, i64, type_of


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_STACK = _Stack()


def current_trace() -> Trace | None:
    """The innermost trace that is active in this thread."""
    return _STACK.traces[-1] if _STACK.traces else None


def active_trace() -> Trace:
    """The innermost active trace; the error of a tracer that escaped where there is none."""
    if not _STACK.traces:
        raise TracingError(
            "a traced array is used after its function was traced: it was stored somewhere that "
            "outlives the call (a global, an attribute, a list, a generator). Return it from the "
            "function instead"
        )
    return _STACK.traces[-1]


class Trace:
    """One function being traced.

    capture(array) -> Tracer: what a concrete ndarray met in traced code becomes; a constant unless
        it is set (the front end makes it a hidden input).
    on_static_use(tracer): called when the value of a Python int argument is needed.
    borrowed: value of an enclosing trace -> the tracer of the argument that stands for it here
    """

    def __init__(self, name: str = "main", location: Location | None = None) -> None:
        self.func = FuncOp.build(name, [], (), location or Location())
        self.builder = Builder(self.func.body)
        self.capture: Callable[[np.ndarray[Any, Any]], Tracer] = self.constant
        self.on_static_use: Callable[[Tracer], None] = lambda tracer: None
        self.borrowed: dict[Value, Tracer] = {}
        self.parent = current_trace()
        self.open = True
        self.nonzeros: dict[Any, tuple[Tracer, ...]] = {}  # see indexing.nonzero
        self._sizes = 0

    # ---------------------------------------------------------------------- running
    @contextmanager
    def active(self) -> Iterator[Trace]:
        """Tracing goes here inside the `with` block."""
        _STACK.traces.append(self)
        try:
            yield self
        finally:
            _STACK.traces.remove(self)

    def finish(self, results: Sequence[Any], location: Location | None = None) -> FuncOp:
        """End the function with these results (tracers, arrays or numbers)."""
        with self.active():
            values = [self.value(self.lift(x)) for x in results]
        self.open = False
        return self.func.finish(values, location or Location())

    # ---------------------------------------------------------------------- values
    def argument(
        self,
        type: TensorType,
        hint: str = "",
        weak: bool = False,
        python: Any = None,
        is_scalar: bool | None = None,
    ) -> Tracer:
        """A new input of the function.

        weak: the caller passes a Python number; python: its value, for a Python int;
        is_scalar: False for a 0-d ndarray (default: rank 0 is a scalar).
        """
        value = self.func.body.add_argument(type, hint)
        tracer = Tracer(value, self, weak=weak, python=python, is_scalar=is_scalar, external=True)
        if python is not None:
            tracer.roots = (tracer,)
        return tracer

    def constant(self, array: Any) -> Tracer:
        """A concrete array or NumPy scalar as a constant of the program."""
        array = np.asarray(array)
        type = type_of(array)
        value: Any = array
        if array.size and (array.ndim == 0 or _is_uniform(array)):
            value = array.reshape(-1)[0].item()
            if not isinstance(value, bool | int | float | complex):
                value = float(value)  # bfloat16 items are numbers of ml_dtypes
        else:
            value = np.array(array, order="C")
            value.flags.writeable = False
        self.builder.location = user_location()
        return Tracer(self.builder.constant(value=value, type=type), self, is_scalar=False)

    def lift(self, x: Any) -> Tracer:
        """A tracer of this trace for a tracer, an array, a NumPy scalar or a Python number."""
        if isinstance(x, Tracer):
            return x if x.owner is self else self.borrow(x)
        if isinstance(x, np.ndarray):
            from_numpy(x.dtype)
            return self.capture(x)
        if isinstance(x, np.generic):
            tracer = self.constant(x)
            tracer.is_scalar = True
            return tracer
        if isinstance(x, bool | int | float | complex):
            return self.number(x)
        if isinstance(x, list | tuple):
            raise TypeError(
                "a list or tuple where an array or number is expected: use np.array(...)"
            )
        raise TracingError(
            f"expected an array or a number, got {type(x).__name__}: convert it with np.asarray "
            "outside the traced function"
        )

    def number(self, x: bool | int | float | complex) -> Tracer:
        """A Python number as a weak constant."""
        if isinstance(x, bool):
            dtype = i1
        elif isinstance(x, int):
            dtype = i64
            if not -(2**63) <= x < 2**63:
                raise OverflowError(f"Python integer {x} out of bounds for int64")
        else:
            dtype = f64 if isinstance(x, float) else c128
        self.builder.location = user_location()
        value = self.builder.full(x, TensorType((), dtype))
        return Tracer(value, self, weak=True, python=x)

    def borrow(self, outer: Tracer) -> Tracer:
        """The tracer here for one of an enclosing trace: an extra argument."""
        owner = outer.owner
        if not owner.open or owner not in _STACK.traces:
            raise TracingError(
                f"a traced {outer.describe()} is used outside the trace that it belongs to: it was "
                "stored somewhere that outlives the call (a global, an attribute, a list). Return "
                "it from the function instead"
            )
        found = self.borrowed.get(outer.value)
        if found is None:
            argument = self.func.body.add_argument(outer.value.type, outer.value.hint)
            found = Tracer(
                argument,
                self,
                weak=outer.weak,
                python=outer.python,
                roots=outer.roots,
                is_scalar=outer.is_scalar,
                external=True,
            )
            self.borrowed[outer.value] = found
        return found

    def value(self, x: Tracer) -> Value:
        """The SSA value of a tracer in this trace."""
        return x.value if x.owner is self else self.borrow(x).value

    def fresh_size(self) -> str:
        """A name for a size that is known only at run time."""
        if self.parent is not None and self.parent.open:
            # Inner functions are inlined: names are the outermost one's.
            return self.parent.fresh_size()
        self._sizes += 1
        return f"n{self._sizes - 1}"


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """Is each element the same number, bit for bit?"""
    first = array.reshape(-1)[:1]
    return array.size <= 1 << 20 and array.tobytes() == first.tobytes() * array.size


def apply(mnemonic: str, *operands: Tracer, **attributes: Any) -> Any:
    """Emit an operation at the user's line; its result as a tracer (a tuple for several)."""
    trace = active_trace()
    builder = trace.builder
    builder.location = user_location()
    found = getattr(builder, mnemonic)(*[trace.value(x) for x in operands], **attributes)
    if isinstance(found, tuple):
        return tuple([Tracer(v, trace) for v in found])
    return Tracer(found, trace)


def build(function: Callable[..., Any], *operands: Tracer) -> Tracer:
    """Run function(builder, *values) at the user's line: for several operations in a row."""
    trace = active_trace()
    trace.builder.location = user_location()
    return Tracer(function(trace.builder, *[trace.value(x) for x in operands]), trace)


def filled(number: Any, shape: Sequence[Any], element: Any) -> Tracer:
    """A constant with every element `number`."""
    trace = active_trace()
    trace.builder.location = user_location()
    return Tracer(trace.builder.full(number, TensorType(tuple(shape), element)), trace)
