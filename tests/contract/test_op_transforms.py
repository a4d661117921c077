"""The chain rule's drivers on every operation: gradients, tangents, and canonical forms.

The gradient through passes/backward.py equals the operation's own rule; tangents agree with central
differences; canonicalize keeps value and gradient bit for bit, at the corners of the types too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contract_cases import SAMPLED, cases, operands, samples
from contract_numeric import STENCIL, STEP, carries_gradient, inexact, noise
from contract_programs import pullback, run, sample_program

from gradc.ir.verify import verify
from gradc.passes.backward import differentiate
from gradc.passes.canonicalize import canonicalize
from gradc.passes.forward import pushforward

WIDE = ("f64", "c128")


def active_inputs(arrays: list[np.ndarray]) -> list[int]:
    return [k for k, x in enumerate(arrays) if carries_gradient(x)]


@pytest.mark.parametrize(("name", "dtype"), cases(WIDE, differentiable=True))
def test_driver_gives_what_the_rule_gives(name: str, dtype: str) -> None:
    rng = np.random.default_rng(11)
    for sample in samples(name, dtype):
        arrays = operands(sample)
        wrt = active_inputs(arrays)
        function = sample_program(SAMPLED[name], arrays, sample.attributes)
        gs = [noise(rng, x) for x in inexact(run(function, arrays))]
        driven = differentiate(function, wrt, name="d", keep_values=False, cotangents="arguments")
        verify(driven)
        for got, want in zip(
            run(driven, [*arrays, *gs]), run(pullback(function), [*arrays, *gs]), strict=True
        ):
            np.testing.assert_allclose(got, want, rtol=1e-14, err_msg=f"{name} {sample}")


@pytest.mark.parametrize(("name", "dtype"), cases(WIDE, differentiable=True))
def test_tangents_agree_with_differences(name: str, dtype: str) -> None:
    rng = np.random.default_rng(12)
    for sample in samples(name, dtype):
        if not sample.smooth:
            continue
        arrays = operands(sample)
        wrt = active_inputs(arrays)
        function = sample_program(SAMPLED[name], arrays, sample.attributes)
        tangents = [noise(rng, arrays[k]) for k in wrt]
        pushed = pushforward(function, wrt, name="p")
        verify(pushed)
        count = len(function.returned)
        found = run(pushed, [*arrays, *tangents])[count:]

        def moved(t: float, arrays: Any = arrays, wrt: Any = wrt, v: Any = tangents) -> Any:
            changed = list(arrays)
            for k, tangent in zip(wrt, v, strict=True):
                changed[k] = np.asarray(arrays[k] + t * tangent)
            return changed

        expected = [np.zeros_like(x) for x in found]
        for step, weight in STENCIL:
            for sign in (1, -1):
                outputs = run(function, moved(sign * step * STEP))
                kept = inexact(outputs)
                for total, x in zip(expected, kept, strict=True):
                    total += sign * weight / STEP * x
        for got, want in zip(found, expected, strict=True):
            scale = 1 + np.max(np.abs(want), initial=0)
            np.testing.assert_allclose(
                got, want, rtol=0, atol=2e-7 * scale, err_msg=f"{name}({dtype}) {sample}"
            )


def same_bits(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Equal bit for bit, NaNs of any payload alike."""
    np.testing.assert_array_equal(found, expected, err_msg=what)
    if inexact([expected]):
        for part in (np.real, np.imag):
            known = ~np.isnan(part(expected))
            np.testing.assert_array_equal(
                np.signbit(part(found))[known], np.signbit(part(expected))[known], err_msg=what
            )


@pytest.mark.parametrize(("name", "dtype"), cases(("f32", "c64", "i32", "i1")))
def test_canonicalize_keeps_the_program(name: str, dtype: str) -> None:
    rng = np.random.default_rng(13)
    for sample in samples(name, dtype):
        arrays = operands(sample)
        function = sample_program(SAMPLED[name], arrays, sample.attributes)
        if SAMPLED[name].vjp is not None and inexact(arrays):
            gs = [noise(rng, x) for x in inexact(run(function, arrays))]
            function = pullback(function)
            arrays = [*arrays, *gs]
        before = run(function, arrays)
        canonicalize(function)
        verify(function)
        for got, want in zip(run(function, arrays), before, strict=True):
            same_bits(got, want, f"{name}({dtype}) {sample}")
