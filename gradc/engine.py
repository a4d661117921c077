"""Calls to programs: find the traced function and the program for the arguments, or make them.

An `Engine` belongs to one Python function (one code object) and keeps what was traced of it. A
`Dispatcher` serves one mode of it and keeps the entries met last, each with a generated matcher, so
that a repeated call costs a few comparisons. In a thread that is tracing, a call is inlined into
the outer function instead.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc import backend
from gradc.frontend import control
from gradc.frontend.context import current_context, is_tracing
from gradc.frontend.disabling import is_disabled, state
from gradc.frontend.identity import identical
from gradc.frontend.location import TracingError
from gradc.frontend.trace import active_trace
from gradc.ir.core import Value
from gradc.ir.ops.func import FuncOp
from gradc.modes import Mode, ValueMode
from gradc.nesting import trace_inner
from gradc.pipeline import simplified
from gradc.run_time_sizes import largest_inputs, taking_any_size
from gradc.signature import Call, analyse, matcher, parameter_names
from gradc.tracing import Traced, inline, trace_function

_MOST_TRACES = 128  # traced functions kept for one Python function
_MOST_REASONS = 100  # lines of `explain`
_MOST_ENTRIES = 4  # entries that a dispatcher tries before it computes the key


class Bound:
    """A function traced at the arguments of one call, ready to run modes of it.

    inputs are arrays; or, `nested` in an outer trace, values there
    """

    __slots__ = ("traced", "inputs", "nested", "result")

    def __init__(self, traced: Traced, inputs: Sequence[Any], nested: bool) -> None:
        self.traced = traced
        self.inputs = list(inputs)
        self.nested = nested

    def run(self, mode: Mode, extra: Sequence[Any] = ()) -> Sequence[Any]:
        """The results of a mode; `extra` are its own inputs (arrays, or values of the outer
        trace)."""
        if self.nested:
            return inline(mode.derive(self.traced), [*self.inputs, *extra])
        return program(self.traced, mode)(*self.inputs, *extra)

    def rebuild(self, mode: Mode, values: Sequence[Any]) -> Any:
        """The tree of a mode's results."""
        key = ("arranged", mode)
        tree = self.traced.programs.get(key)
        if tree is None:
            tree = self.traced.programs[key] = mode.arrange(self.traced)
        return tree.rebuild(values)

    def as_inputs(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays or tracers as a mode's own inputs."""
        return outer_values(arrays) if self.nested else arrays


def program(traced: Traced, mode: Mode) -> Any:
    """The executable of a mode: arrays in, a sequence of fresh arrays out."""
    key = (mode, is_disabled())
    found = traced.programs.get(key)
    if found is None:
        derived = mode.derive(traced)
        function, shapes = largest_inputs(derived)
        make = interpreted if is_disabled() else backend.executable
        found = make(simplified(function))
        if function is not derived:
            found = taking_any_size(found, shapes)
        traced.programs[key] = found
    return found


def interpreted(function: FuncOp) -> Any:
    """The function in the IR interpreter, with results in fresh memory as compiled code gives
    them."""
    run = backend.interpreted(function)
    return lambda *arrays: [np.array(x) for x in run(*arrays)]


class Engine:
    """What has been traced of one Python function.

    static_names: parameters that are static;  no_rewrite: modules whose functions are not rewritten
    """

    def __init__(
        self,
        function: Any,
        static_names: frozenset[str] = frozenset(),
        no_rewrite: tuple[str, ...] = (),
    ) -> None:
        self.names = parameter_names(function)
        self.label = getattr(function, "__qualname__", type(function).__name__)
        self.static_names = static_names
        self.no_rewrite = no_rewrite
        self.lock = threading.Lock()  # of the fields below; never held while user code runs
        self.traces: OrderedDict[Any, list[Traced]] = OrderedDict()
        self.reasons: deque[str] = deque(maxlen=_MOST_REASONS)
        self.trace_count = 0
        self.dispatchers: dict[Mode, Dispatcher] = {}
        self.last_traced: Traced | None = None

    def dispatcher(self, mode: Mode) -> Dispatcher:
        """The dispatcher of a mode."""
        found = self.dispatchers.get(mode)
        if found is None:
            found = self.dispatchers[mode] = Dispatcher(self, mode)
        return found

    def bind(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
        """Trace `function` at these arguments, or find it traced."""
        if current_context() is not None:
            traced, inputs = trace_inner(function, args, kwargs, self.names, self.static_names)
            return Bound(traced, inputs, True)
        call = analyse(args, kwargs, self.names, self.static_names)
        traced, hidden = self.trace(function, call)
        return Bound(traced, [*call.inputs(), *hidden], False)

    def trace(self, function: Any, call: Call) -> tuple[Traced, tuple[Any, ...]]:
        """The traced function for a call, and the captured values now.

        The user's code runs without the lock: it may wait for a thread that calls the function.
        Threads that meet new arguments at once may then each trace it.
        """
        key = call.key
        failures: list[str] = []
        with self.lock:
            candidates = tuple(self.traces.get(key, ()))
        for traced in candidates:
            hidden = self._captured(traced, function, call, failures)
            if hidden is not None:
                self._keep(key, traced)
                return traced, hidden
        with self.lock:
            self._note(self._reason(call, failures))
        traced = trace_function(function, call, self.no_rewrite)
        hidden = traced.reader.read(function)
        traced.call = call.without_values()
        if isinstance(hidden, int):
            raise TracingError(
                f"{traced.reader.describe_failure(hidden)} after tracing: {self.label} changed it "
                "while it was traced. Return the new value instead"
            )
        self._keep(key, traced)
        return traced, hidden

    def _keep(self, key: Any, traced: Traced) -> None:
        """Remember a trace as the one used last."""
        with self.lock:
            kept = self.traces.setdefault(key, [])
            if traced not in kept:
                kept.insert(0, traced)
                del kept[_MOST_ENTRIES * 4 :]
            self.traces.move_to_end(key)
            while len(self.traces) > _MOST_TRACES:
                self.traces.popitem(last=False)
            self.last_traced = traced

    def _captured(
        self, traced: Traced, function: Any, call: Call, failures: list[str]
    ) -> tuple[Any, ...] | None:
        for leaf, value in traced.pins:
            if not identical(call.leaves[leaf], value):
                failures.append(
                    f"{call.paths()[leaf]} is {call.leaves[leaf]!r}, was {value!r} (its value was "
                    "used while tracing)"
                )
                return None
        hidden = traced.reader.read(function)
        if isinstance(hidden, int):
            failures.append(traced.reader.describe_failure(hidden))
            return None
        found: tuple[Any, ...] = hidden
        return found

    def _note(self, reason: str) -> None:
        self.trace_count += 1
        self.reasons.append(reason)

    def _reason(self, call: Call, failures: list[str]) -> str:
        if failures:
            return failures[0]
        if self.last_traced is None:
            return "first call"
        return difference(self.last_traced.call, call)

    def explain(self) -> str:
        """One line for each of the last times the function was traced, with the reason."""
        if not self.trace_count:
            return f"{self.label}: not called yet"
        lines = [f"{self.label}: traced {self.trace_count} time{'s' * (self.trace_count != 1)}"]
        first = self.trace_count - len(self.reasons) + 1
        lines += [f"  {k}. {reason}" for k, reason in enumerate(self.reasons, first)]
        return "\n".join(lines)


def difference(before: Call, now: Call) -> str:
    """The first difference between two calls' keys, in words."""
    if before.structure != now.structure:
        if before.argument_count != now.argument_count:
            return (
                f"called with {now.argument_count} positional arguments, before with "
                f"{before.argument_count}"
            )
        for k in range(now.argument_count):
            if before.argument_structure(k) != now.argument_structure(k):
                name = now.argument_name(k)
                return f"{name} has another structure (keys, lengths, types or static fields)"
        return "other keyword arguments, or another structure of one"
    for was, keys in zip(before.orders, now.orders):
        if was != keys:
            return f"a dict has its keys in the order {list(keys)}, was {list(was)}"
    for path, old, new in zip(now.paths(), before.kinds, now.kinds):
        if old != new:
            return f"{path} is {new.describe()}, was {old.describe()}"
    return "an argument met before with other captured values"


class _Entry:
    """A traced call with a program: match, read captured values, run, build the result tree."""

    __slots__ = ("match", "read", "execute", "build")

    def __init__(self, match: Any, read: Any, execute: Any, build: Any) -> None:
        self.match = match
        self.read = read
        self.execute = execute
        self.build = build


class Dispatcher:
    """Calls of one mode of an engine."""

    __slots__ = ("engine", "mode", "entries")

    def __init__(self, engine: Engine, mode: Mode) -> None:
        self.engine = engine
        self.mode = mode
        self.entries: tuple[_Entry, ...] = ()

    def __call__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not is_tracing() and not state.disabled:
            for entry in self.entries:
                inputs = entry.match(args, kwargs)
                if inputs is None:
                    continue
                read = entry.read
                if read is None:
                    return entry.build(entry.execute(*inputs))
                hidden = read(function)
                if type(hidden) is tuple:
                    return entry.build(entry.execute(*inputs, *hidden))
        return self.slow(function, args, kwargs)

    def slow(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The general path: any arguments, nested calls, tracing."""
        mode, engine = self.mode, self.engine
        nested = current_context() is not None
        if not nested and is_disabled() and isinstance(mode, ValueMode):
            return function(*args, **kwargs)
        if nested and isinstance(mode, ValueMode):
            return control.call(function, args, kwargs)
        bound = engine.bind(function, args, kwargs)
        values = bound.run(mode)
        if not nested and not is_disabled():
            self._remember(bound.traced, args, kwargs)
        return bound.rebuild(mode, values)

    def _remember(self, traced: Traced, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        names = self.engine.static_names
        call = analyse(args, kwargs, self.engine.names, names)
        match = matcher(call, args, kwargs, traced.pins)
        if match is None:
            return
        read = traced.reader.read if traced.reader.steps else None
        build = self.mode.arrange(traced).compiled()
        entry = _Entry(match, read, program(traced, self.mode), build)
        self.entries = (entry, *self.entries)[:_MOST_ENTRIES]


def outer_values(tracers: Sequence[Any]) -> list[Value]:
    """Values in the current trace for tracers, arrays or numbers."""
    trace = active_trace()
    return [trace.value(trace.lift(x)) for x in tracers]
