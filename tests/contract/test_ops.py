"""The contract of every registered operation, generated from the registry.

Its type rule agrees with its reference meaning, it survives a round trip through text, its gradient
and second derivative agree with central differences, and the native kernel agrees with the
reference. An operation that is registered is tested; nothing here names one.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from contract_cases import SAMPLED, cases, groups, invalid_samples, needs_samples, operands, samples
from contract_numeric import (
    ULPS,
    assert_close_in_ulps,
    assert_gradient,
    carries_gradient,
    gradients,
    inexact,
    noise,
    pairing,
    slope,
)
from contract_programs import joined_program, materialize, program, pullback, run, sample_program

from gradc import backend
from gradc.ir.builder import EagerBuilder, EagerOp, EagerValue
from gradc.ir.diagnostic import VerificationError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, REGISTRY, Op
from gradc.ir.types import to_numpy
from gradc.ir.verify import verify

WIDE = ("f64", "c128")
NATIVE_GROUP = 8
# Lowering classes that only move elements, or compare them, are exact.
NATIVE_ULPS = dict.fromkeys(("shape", "index", "gather", "store", "creation", "argreduce"), 0)
SUMMING = ("reduce", "scan", "contract")


def smooth_samples(name: str, dtype: str) -> list[Any]:
    return [s for s in samples(name, dtype) if s.smooth]


def run_native(function: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The program through the back end that users get."""
    return [np.asarray(x) for x in backend.executable(function)(*arrays)]


def evaluated(cls: type[Op], arrays: list[np.ndarray], attributes: Any) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        found = cls.evaluate(*arrays, **attributes)
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def test_every_operation_keeps_the_contract() -> None:
    offenders = []
    for name, cls in sorted(REGISTRY.items()):
        own = cls.__dict__.get("__doc__")
        if not own or not own.strip():
            offenders.append(f"{name}: no docstring")
        if not needs_samples(cls):
            continue
        if cls.samples is None:
            offenders.append(f"{name}: no samples")
        if cls.evaluate is None:
            offenders.append(f"{name}: no evaluate")
        if cls.vjp is None:
            offenders.append(f"{name}: neither a vjp nor NOT_DIFFERENTIABLE")
        if cls.lowering == "elementwise" and not hasattr(cls, "scalar"):
            offenders.append(f"{name}: no scalar")
    assert not offenders, "\n".join(offenders)


def test_served_names_exist_and_have_one_owner() -> None:
    owners: dict[str, str] = {}
    for name, cls in REGISTRY.items():
        for served in cls.numpy_names():
            module, _, function = served.rpartition(".")
            assert callable(getattr(importlib.import_module(module), function)), served
            assert owners.setdefault(served, name) == name, f"{served}: {name}, {owners[served]}"


@pytest.mark.parametrize(("name", "dtype"), cases())
def test_inference_agrees_with_the_reference(name: str, dtype: str) -> None:
    cls = SAMPLED[name]
    drawn = samples(name, dtype)
    assert drawn, f"{name} has no sample for {dtype}"
    for sample in drawn:
        arrays = operands(sample)
        before = [x.copy() for x in arrays]
        function = sample_program(cls, arrays, sample.attributes)
        found = evaluated(cls, arrays, sample.attributes)
        for array, kept in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, kept, err_msg=f"{name} changed an operand")
        assert len(found) == len(function.returned)
        for array, value in zip(found, function.returned, strict=True):
            assert array.dtype == to_numpy(value.type.dtype), f"{name}({dtype}) {sample}"
            if value.type.is_static:
                assert array.shape == value.type.shape, f"{name}({dtype}) {sample}"
            assert not any(np.shares_memory(array, x) for x in arrays), f"{name} returns a view"


@pytest.mark.parametrize(("name", "dtype"), cases())
def test_invalid_uses_are_refused(name: str, dtype: str) -> None:
    for sample in invalid_samples(name, dtype):
        with pytest.raises(VerificationError) as caught:
            program(SAMPLED[name], sample.operand_types, sample.attributes)
        assert sample.message in caught.value.message, f"{name}({dtype}) {sample}"


def check_native(names: list[str], dtype: str) -> None:
    together, alone = [], []
    for name in names:
        for sample in samples(name, dtype):
            returned = sample_program(SAMPLED[name], operands(sample), sample.attributes).returned
            # Sizes born at run time have names, which would clash between samples.
            static = all(v.type.is_static for v in returned)
            (together if static else alone).append((SAMPLED[name], sample))
    for drawn in (together, *([use] for use in alone)):
        function = joined_program([(cls, operands(s), s.attributes) for cls, s in drawn])
        found = iter(run_native(function, [x for _, s in drawn for x in operands(s)]))
        for cls, sample in drawn:
            ulps = NATIVE_ULPS.get(cls.lowering, ULPS)
            for want in evaluated(cls, operands(sample), sample.attributes):
                assert_close_in_ulps(
                    next(found), want, ulps, f"{cls.name}({dtype}) {sample}",
                    summed=cls.lowering in SUMMING,
                )  # fmt: skip


@pytest.mark.parametrize(("dtype", "names"), groups(NATIVE_GROUP))
def test_native_kernels_agree_with_the_reference(dtype: str, names: list[str]) -> None:
    """Several operations in one program, which costs far less than compiling each alone."""
    try:
        check_native(names, dtype)
    except Exception:
        for name in names:  # say which of them it is
            check_native([name], dtype)
        raise


@pytest.mark.parametrize(("dtype", "names"), groups(NATIVE_GROUP, ("f64", "c64"), True))
def test_native_gradients_agree_with_the_interpreter(dtype: str, names: list[str]) -> None:
    rng = np.random.default_rng(6)
    drawn = [(SAMPLED[name], s) for name in names for s in samples(name, dtype)]
    function = joined_program([(cls, operands(s), s.attributes) for cls, s in drawn])
    rule = pullback(function)
    arrays = [x for _, s in drawn for x in operands(s)]
    arrays += [noise(rng, x) for x in inexact(run(function, arrays))]
    for got, want in zip(run_native(rule, arrays), run(rule, arrays), strict=True):
        assert_close_in_ulps(got, want, 4 * ULPS, f"{names} {dtype}", summed=True)


@pytest.mark.parametrize(("name", "dtype"), cases(differentiable=True))
def test_rule_gives_cotangents_of_the_operands_types(name: str, dtype: str) -> None:
    for sample in samples(name, dtype):
        verify(pullback(sample_program(SAMPLED[name], operands(sample), sample.attributes)))


@pytest.mark.parametrize(("name", "dtype"), cases(WIDE, differentiable=True))
def test_gradient_agrees_with_differences(name: str, dtype: str) -> None:
    rng = np.random.default_rng(7)
    for sample in smooth_samples(name, dtype):
        arrays = operands(sample)
        function = sample_program(SAMPLED[name], arrays, sample.attributes)

        def forward(changed: Any, function: Any = function) -> list[np.ndarray]:
            return inexact(run(function, changed))

        weights = [noise(rng, x) for x in forward(arrays)]
        expected = [x for x in gradients(forward, arrays, weights) if x is not None]
        found = [x for x in run(pullback(function), [*arrays, *weights]) if carries_gradient(x)]
        assert len(found) == len(expected)
        for k, (got, want) in enumerate(zip(found, expected, strict=True)):
            assert_gradient(got, want, f"{name}({dtype}) operand {k}: {sample}")


@pytest.mark.parametrize(("name", "dtype"), cases(WIDE, differentiable=True))
def test_eager_rule_agrees_with_the_emitted_one(name: str, dtype: str) -> None:
    """The rule evaluated at once (the define-by-run tape) and as IR through the interpreter."""
    cls = SAMPLED[name]
    rng = np.random.default_rng(8)
    b = EagerBuilder()
    for sample in samples(name, dtype):
        arrays = operands(sample)
        values = [EagerValue(x) for x in arrays]
        made = b.create(cls, values, sample.attributes)
        results = made if isinstance(made, tuple) else (made,)
        if not any(v.type.dtype.is_inexact for v in results):
            continue
        gs = [
            EagerValue(noise(rng, v.array)) if v.type.dtype.is_inexact else b.zeros(v.type)
            for v in results
        ]
        entries = cls.vjp(b, EagerOp(name, values, results, sample.attributes), *gs)
        function = sample_program(cls, arrays, sample.attributes)
        cotangents = [g.array for g in gs if g.type.dtype.is_inexact]
        emitted = iter(run(pullback(function), [*arrays, *cotangents]))
        for value, entry in zip(values, entries, strict=True):
            if not value.type.dtype.is_inexact:
                continue
            want = next(emitted)
            got = np.zeros_like(want) if entry is None else materialize(b, entry, value.type).array
            np.testing.assert_array_equal(got, want, err_msg=f"{name}({dtype}) {sample}")


@pytest.mark.parametrize(("name", "dtype"), cases(WIDE, differentiable=True))
def test_rule_is_linear_in_the_cotangent(name: str, dtype: str) -> None:
    rng = np.random.default_rng(9)
    for sample in smooth_samples(name, dtype):
        arrays = operands(sample)
        function = sample_program(SAMPLED[name], arrays, sample.attributes)
        rule = pullback(function)
        outputs = inexact(run(function, arrays))
        first = [noise(rng, x) for x in outputs]
        second = [noise(rng, x) for x in outputs]
        mixed = [np.asarray(2.5 * u - 0.75 * v) for u, v in zip(first, second, strict=True)]
        images = (run(rule, [*arrays, *gs]) for gs in (first, second, mixed))
        for u, v, w in zip(*images, strict=True):
            np.testing.assert_allclose(w, 2.5 * u - 0.75 * v, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "dtype"), cases(WIDE, differentiable=True))
def test_second_derivative_agrees_with_differences(name: str, dtype: str) -> None:
    """Along random directions: the rule of the rule against differences of the rule."""
    rng = np.random.default_rng(10)
    for sample in smooth_samples(name, dtype):
        arrays = operands(sample)
        function = sample_program(SAMPLED[name], arrays, sample.attributes)
        rule = pullback(function)
        outputs = inexact(run(function, arrays))
        point = [*arrays, *(noise(rng, x) for x in outputs)]
        weights = [noise(rng, x) for x in run(rule, point)]
        second = [x for x in run(pullback(rule), [*point, *weights]) if carries_gradient(x)]
        for _ in range(2):
            directions = [noise(rng, x) if carries_gradient(x) else None for x in point]

            def along(t: float, point=point, directions=directions, rule=rule, weights=weights):
                moved = [
                    x if d is None else np.asarray(x + t * d)
                    for x, d in zip(point, directions, strict=True)
                ]
                return pairing(weights, run(rule, moved))

            expected = slope(along)
            found = pairing([d for d in directions if d is not None], second)
            scale = 1 + abs(expected) + sum(np.sum(np.abs(x)) for x in second)
            assert abs(found - expected) <= 1e-7 * scale, f"{name}({dtype}) {sample}"


def test_rules_without_gradient_are_declared() -> None:
    """An op from inexact to integer results must say that it cuts the gradient."""
    for name, cls in SAMPLED.items():
        if cls.vjp is NOT_DIFFERENTIABLE or cls.lowering == "creation":
            continue
        dtype = next((d.name for d in cls.samples.dtypes if d.is_inexact), None)
        if dtype is None:
            continue
        returned = [
            v.type.dtype
            for s in samples(name, dtype)
            for v in sample_program(cls, operands(s), s.attributes).returned
        ]
        assert any(d.is_inexact for d in returned), f"{name} has a rule that nothing can reach"
