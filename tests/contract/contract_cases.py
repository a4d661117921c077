"""What the contract tests run over: every registered operation, its dtypes, its samples."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradc.ir.ops  # noqa: F401  (fills the registry)
from gradc.ir.opdef import NOT_DIFFERENTIABLE, REGISTRY, Invalid, Op, Sample
from gradc.ir.types import SCALARS, ScalarType

# Structure, kernels and the loop level: tested with the passes that make them. The chain rule runs
# before any kernel exists, so kernel operations have no rules.
STRUCTURAL = ("control", "loop")
KERNEL_DIALECTS = ("kernel", "mem")

SAMPLED = {
    name: cls
    for name, cls in sorted(REGISTRY.items())
    if cls.samples is not None and cls.evaluate is not None
}


def cases(dtypes: tuple[str, ...] | None = None, differentiable: bool = False) -> list[Any]:
    """(operation name, dtype name) for every dtype that an op has samples of."""
    return [
        (name, dtype.name)
        for name, cls in SAMPLED.items()
        if not (differentiable and cls.vjp in (None, NOT_DIFFERENTIABLE))
        for dtype in cls.samples.dtypes
        if dtypes is None or dtype.name in dtypes
    ]


def groups(
    size: int, dtypes: tuple[str, ...] | None = None, differentiable: bool = False
) -> list[Any]:
    """(dtype name, operation names): the cases, up to `size` operations of one dtype at a time.

    Dtypes whose code differs from another's only in the width are marked slow.
    """
    by_dtype: dict[str, list[str]] = {}
    for name, dtype in cases(dtypes, differentiable):
        by_dtype.setdefault(dtype, []).append(name)
    return [
        pytest.param(
            dtype,
            names[k : k + size],
            id=f"{dtype}-{names[k]}",
            marks=[pytest.mark.slow] * (dtype in ("i16", "ui16", "ui32")),
        )
        for dtype, names in by_dtype.items()
        for k in range(0, len(names), size)
    ]


def draw(name: str, dtype: ScalarType) -> Iterator[Sample | Invalid]:
    """The same samples in each test and each run."""
    seed = zlib.crc32(f"{name} {dtype.name}".encode())
    return REGISTRY[name].samples.draw(np.random.default_rng(seed), dtype)


def samples(name: str, dtype: str) -> list[Sample]:
    return [s for s in draw(name, SCALARS[dtype]) if isinstance(s, Sample)]


def invalid_samples(name: str, dtype: str) -> list[Invalid]:
    return [s for s in draw(name, SCALARS[dtype]) if isinstance(s, Invalid)]


def operands(sample: Sample) -> list[np.ndarray]:
    return [np.asarray(x) for x in sample.operands]


def needs_samples(cls: type[Op]) -> bool:
    return cls.lowering not in STRUCTURAL and cls.name.split(".")[0] not in KERNEL_DIALECTS
