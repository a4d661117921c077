"""Arrays on their way into and out of native code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.ir.diagnostic import GradcError
from gradc.ir.program import (
    ARRAY_DATA,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_SIZES,
    ARRAY_TYPE,
    RECORD_SIZES,
    ArraySpec,
)
from gradc.ir.types import from_numpy


class ArgumentError(GradcError, TypeError):
    """An array does not have the shape or dtype that a program was made for."""


class LayoutError(GradcError):
    """This build of Python or NumPy keeps arrays in memory in another way than native code
    expects."""


def check_layout() -> None:
    """Compare the fields of an array object with what native code reads; LayoutError if they
    differ."""
    sample = np.zeros((3, 5), np.float32)
    offsets = {
        ARRAY_TYPE: id(np.ndarray),
        ARRAY_DATA: sample.ctypes.data,
        ARRAY_DTYPE: id(sample.dtype),
    }
    base = id(sample)
    for offset, wanted in offsets.items():
        if ctypes.c_size_t.from_address(base + offset).value != wanted:
            raise LayoutError(
                f"unexpected field at offset {offset} of an ndarray: use standard builds"
            )
    rank = ctypes.c_int.from_address(base + ARRAY_RANK).value
    sizes = ctypes.c_size_t.from_address(base + ARRAY_SIZES).value
    shape = tuple((ctypes.c_ssize_t * 2).from_address(sizes)) if rank == 2 else ()
    flags = ctypes.c_int.from_address(base + ARRAY_FLAGS).value
    if shape != sample.shape or flags & 0x101 != 0x101:
        raise LayoutError("unexpected sizes or flags in an ndarray: use standard builds")


def argument_words(specs: Sequence[ArraySpec]) -> list[int]:
    """What `gradc_check_arguments` compares the inputs with."""
    words = [len(specs)]
    for spec in specs:
        words += [id(spec.numpy_dtype), len(spec.shape), *spec.allocated]
    return words


def conform(array: Any, spec: ArraySpec, position: int) -> np.ndarray:
    """The array as native code wants it (exact ndarray, aligned, row-major): itself or a copy.

    ArgumentError when its shape or dtype is not that of the program.
    """
    found = np.asarray(array)
    if found.shape != spec.shape or from_numpy(found.dtype) != spec.dtype:
        shown = ", ".join(str(n) for n in spec.shape)
        raise ArgumentError(
            f"expected input {position} to be {spec.dtype.name}[{shown}], got "
            f"{found.dtype.name}[{', '.join(str(n) for n in found.shape)}]"
        )
    wanted = spec.numpy_dtype
    fits = found.dtype is wanted and found.flags.c_contiguous and found.flags.aligned
    if fits and type(found) is np.ndarray:
        return found
    copy = np.empty(spec.shape, wanted)
    copy[...] = found
    return copy


def new_record(sizes: int) -> np.ndarray:
    """An error record with room for as many sizes born at run time."""
    return np.zeros(RECORD_SIZES + sizes, np.int64)
