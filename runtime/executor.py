"""Runs a Program: arrays in, fresh arrays out.

A program of one native call, which is the usual case, is one call of a builtin function that checks
its arguments itself. Calls from several threads at once are safe: each has temporary storage of its
own, which large programs borrow from the process's pool (arenas.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.diagnostic import GradcError
from gradc.ir.ops.status import exception_class
from gradc.ir.program import (
    RECORD_SITE,
    RECORD_SIZES,
    RECORD_VALUES,
    STATUS_ARGUMENT,
    STATUS_DONE,
    STATUS_FAILED,
    ArraySpec,
    CallNative,
    ErrorSite,
    NativeModule,
    Program,
)
from gradc.ir.types import Dim
from gradc.runtime import arenas, compile, support
from gradc.runtime.buffers import (
    ArgumentError,
    argument_words,
    check_layout,
    conform,
    new_record,
)

KEPT_STATES = 4  # records kept for calls to come, for as many threads at once


class ProgramError(GradcError):
    """A program that the runtime cannot execute."""


class _NativeStep:
    """A native call, ready: its entry and the arrays of its numbers."""

    __slots__ = ("entry", "numbers", "floats", "sites", "sizes", "arguments")

    def __init__(self, step: CallNative, checked: Sequence[ArraySpec]) -> None:
        module: NativeModule = step.module
        address = compile.address_of(module.text, module.entry)
        self.entry = compile.python_function(address, module.entry)
        self.numbers = np.array([*module.numbers, *argument_words(checked)], np.int64)
        self.floats = np.array(module.floats, np.float64)
        self.sites = module.sites
        self.sizes = module.sizes
        self.arguments = step.arguments


class Executor:
    """A Program made ready to run; calling it with arrays gives a tuple of fresh arrays.

    The arrays have the shapes and dtypes of program.inputs, with any strides, alignment and byte
    order; ArgumentError otherwise."""

    def __init__(self, program: Program) -> None:
        check_layout()
        support.provide()
        for step in program.steps:
            if not isinstance(step, CallNative):
                raise ProgramError(f"expected native calls, got a {type(step).__name__}")
        self.program = program
        natural = tuple(range(len(program.inputs) + len(program.outputs) + len(program.constants)))
        calls = [step for step in program.steps if isinstance(step, CallNative)]
        self._direct = len(calls) == 1 and calls[0].arguments == natural
        checked = program.inputs if self._direct else ()
        self._steps = [_NativeStep(step, checked) for step in calls]
        self._constants = tuple(_constant(c) for c in program.constants)
        self._outputs = [(spec.allocated, spec.numpy_dtype) for spec in program.outputs]
        self._dynamic = any(isinstance(n, Dim) for spec in program.outputs for n in spec.shape)
        self._sizes = max((len(step.sizes) for step in self._steps), default=0)
        nbytes = program.arena_bytes
        self._pool = arenas.free_list(nbytes) if nbytes > arenas.SMALL else None
        # Each an arena, in place of which programs with a pool have none, and a record.
        self._states: list[tuple[Any, np.ndarray]] = []
        if self._direct:
            (only,) = self._steps
            self._entry: Callable[..., int] = only.entry
            self._fixed = (*self._constants, only.numbers, only.floats)
        self._count = len(program.inputs)

    def __call__(self, *arrays: Any) -> tuple[np.ndarray, ...]:
        if len(arrays) != self._count:
            raise ArgumentError(f"expected {self._count} arrays, got {len(arrays)}")
        outputs = [np.empty(shape, dtype) for shape, dtype in self._outputs]
        try:
            state = self._states.pop()
        except IndexError:
            state = self._new_state()
        kept = state
        if self._pool is not None:
            state = (self._pool.take(), state[1])
        if self._direct:
            status = self._entry(*arrays, *outputs, *self._fixed, *state)
            if status == STATUS_ARGUMENT:
                status = self._entry(*self._conform(arrays), *outputs, *self._fixed, *state)
            if status != STATUS_DONE:
                self._fail(status, self._steps[0], state[1])
        else:
            buffers = (*self._conform(arrays), *outputs, *self._constants)
            for step in self._steps:
                chosen = [buffers[k] for k in step.arguments]
                status = step.entry(*chosen, step.numbers, step.floats, *state)
                if status != STATUS_DONE:
                    self._fail(status, step, state[1])
        found = self._trimmed(outputs, state[1]) if self._dynamic else tuple(outputs)
        if self._pool is not None:
            self._pool.give(state[0])
        if len(self._states) < KEPT_STATES:
            self._states.append(kept)
        return found

    def _new_state(self) -> tuple[Any, np.ndarray]:
        arena = None if self._pool is not None else arenas.new_arena(self.program.arena_bytes)
        return arena, new_record(self._sizes)

    def _conform(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        pairs = zip(arrays, self.program.inputs, strict=True)
        return [conform(array, spec, k) for k, (array, spec) in enumerate(pairs)]

    def _trimmed(self, outputs: Sequence[np.ndarray], record: np.ndarray) -> tuple[np.ndarray, ...]:
        """The outputs cut to the sizes born in this call."""
        sizes: dict[str, int] = {}
        for step in self._steps:
            sizes.update(zip(step.sizes, record[RECORD_SIZES:].tolist()))
        found = []
        for array, spec in zip(outputs, self.program.outputs, strict=True):
            if spec.largest is not None:
                for n in spec.shape:
                    if isinstance(n, Dim) and n.name not in sizes:
                        raise ProgramError(f"no step of the program sets the size {n.name}")
                shape = [sizes[n.name] if isinstance(n, Dim) else n for n in spec.shape]
                array = array[tuple(map(slice, shape))].copy()
            found.append(array)
        return tuple(found)

    def _fail(self, status: int, step: _NativeStep, record: np.ndarray) -> None:
        """Raise the error that the record tells of."""
        if status == STATUS_ARGUMENT:
            raise ProgramError(f"native code refuses argument {int(record[RECORD_SITE]) - 1}")
        if status != STATUS_FAILED:
            raise ProgramError(f"native code returned the unknown status {status}")
        site: ErrorSite = step.sites[int(record[RECORD_SITE])]
        raise site_error(site, record[RECORD_VALUES : RECORD_VALUES + len(site.kinds)])


def site_error(site: ErrorSite, words: np.ndarray) -> Exception:
    """The exception of a failed check, with the user's place in its text."""
    values = [
        float(word.view(np.float64)) if kind == "f" else int(word)
        for kind, word in zip(site.kinds, words, strict=True)
    ]
    message = site.message.format(*values)
    if site.location:
        message += f"\nat {site.location}"
    return exception_class(site.exception)(message)


def _constant(array: Any) -> np.ndarray:
    """A constant as native code reads it; read-only from here on."""
    found = np.ascontiguousarray(array).reshape(np.shape(array))
    if not found.flags.aligned or found is array:
        found = found.copy()
    found.flags.writeable = False
    return found
