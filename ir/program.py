"""The hand-over from passes to runtime: a frozen `Program` of steps over arrays.

The passes write it (`passes/lower/plan.py`), the runtime executes it (`runtime/executor.py`);
neither imports the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradc.ir.core import UNKNOWN, Location
from gradc.ir.diagnostic import IRError
from gradc.ir.types import Dim, ScalarType, Size, to_numpy

# The error record: an int64 vector that native code fills. Offsets in elements.
RECORD_SITE = 0  # index of the ErrorSite that failed
RECORD_VALUES = 1  # its values, up to 6
RECORD_RANK = 7  # the job that failed, lowest first
RECORD_LOCK = 8
RECORD_POLL = 9  # the clock of looks at signals: a countdown and three words more
RECORD_THREAD = 13  # Python's thread state while native code runs without the GIL; pthread_self()
RECORD_SIZES = 15  # from here: sizes born at run time, in the order of NativeModule.sizes

NO_RANK = 2**63 - 1  # of a record: no job failed

# Offsets in CPython's PyObject and NumPy's PyArrayObject, 64 bit: native code reads the arrays that
# it is given. The runtime compares them with those of this process.
ARRAY_TYPE, ARRAY_DATA, ARRAY_RANK, ARRAY_SIZES, ARRAY_DTYPE, ARRAY_FLAGS = 8, 16, 24, 32, 56, 64

# What a native entry returns.
STATUS_DONE = 0
STATUS_FAILED = 1  # a check failed: see the record
STATUS_ARGUMENT = 2  # an array is not as the program wants it; record[0] says which
STATUS_INTERRUPTED = 3  # a signal handler raised: the entry answers with that exception


@dataclass(frozen=True)
class ArraySpec:
    """An input or output array.

    largest:  its largest shape, where sizes are known at run time
    location: the user's line that the array comes from, for errors
    """

    shape: tuple[Size, ...]
    dtype: ScalarType
    largest: tuple[int, ...] | None = None
    location: Location = field(default=UNKNOWN, compare=False)

    @property
    def allocated(self) -> tuple[int, ...]:
        """The static shape that memory is set aside for; IRError where a size has no bound."""
        found = self.shape if self.largest is None else self.largest
        if any(isinstance(n, Dim) for n in found):
            shown = ", ".join(str(n) for n in found)
            raise IRError(
                f"expected an array whose sizes have upper bounds, got {self.dtype.name}[{shown}]: "
                "the sizes in the program's outputs need their largest values",
                location=self.location,
            )
        return found  # type: ignore[return-value]

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return to_numpy(self.dtype)


@dataclass(frozen=True)
class ErrorSite:
    """A run-time check: the exception's class name, a format of its values, the user's place.

    kinds: one letter a value: 'i' integer, 'f' a float64 stored by its bits
    """

    exception: str
    message: str
    location: Location = UNKNOWN
    kinds: str = ""


@dataclass(frozen=True)
class NativeModule:
    """LLVM text with one entry function, and the run-time numbers that belong to this use of it.

    The text holds no size above 16, so that modules for other array lengths share their machine
    code. sizes: names of the Dims whose values the code writes into the record"""

    text: str
    entry: str
    numbers: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    sites: tuple[ErrorSite, ...] = ()
    sizes: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class Step:
    """A node of the tree of steps. Native calls are leaves."""


@dataclass(frozen=True)
class CallNative(Step):
    """Call `module` on buffers: indices into the program's inputs + outputs + constants."""

    module: NativeModule
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """Everything the runtime needs to run a compiled function.

    arena_bytes: the peak of temporary storage, one block kept between calls
    """

    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    constants: tuple[np.ndarray, ...]
    steps: tuple[Step, ...]
    arena_bytes: int
    name: str = ""
