"""What must hold of a NumPy program and its compiled form: values, gradients, IR, memory.

The references are independent of gradc: plain NumPy for values; complex steps where the program
holds for complex numbers, else central differences of sixth order, for gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree
from numpy.exceptions import ComplexWarning
from program_source import Program

import gradc
from gradc.backend import executable
from gradc.ir.core import Operation
from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp, ModuleOp, copy_function
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module
from gradc.ir.verify import verify
from gradc.modes import GradientMode, ValueMode
from gradc.passes.lower.plan import lower
from gradc.pipeline import SIMPLIFY, run_passes

_STEP = 2e-4
_CENTRAL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))  # sixth order
_FOURTH = ((1, 2 / 3), (2, -1 / 12))
_MOST_AXES = 40


@dataclass
class Tally:
    """What was checked."""

    programs: int = 0
    entries: int = 0  # of gradients
    unsure: int = 0  # entries where the differences do not settle
    complex_steps: int = 0
    second_order: int = 0


def leaves_of(tree: Any) -> list[Any]:
    return list(optree.tree_leaves(tree, none_is_leaf=True))


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    return optree.tree_map(function, tree, none_is_leaf=True)


def is_floating(x: Any) -> bool:
    return isinstance(x, float | np.ndarray | np.generic) and np.asarray(x).dtype.kind in "fc"


# --------------------------------------------------------------------------------------- values
def check_values(program: Program, compiled: Any) -> None:
    plain, _ = program.functions()
    arguments = program.arguments
    before = mapped(lambda x: np.array(x), arguments)
    with np.errstate(all="ignore"):
        expected = plain(*arguments)
    got = compiled(*arguments)
    compare_trees(got, expected, program.has_single, exact_types=True)
    for x, y in zip(leaves_of(arguments), leaves_of(before), strict=True):
        np.testing.assert_array_equal(x, y, err_msg="an input was changed")
    for result in leaves_of(got):
        if not isinstance(result, np.ndarray):
            continue
        assert result.flags.writeable and result.flags.aligned
        for x in [*leaves_of(arguments), *program.captured.values()]:
            assert not (isinstance(x, np.ndarray) and np.shares_memory(result, x)), "aliases"
    compare_trees(compiled(*arguments), got, program.has_single)
    with gradc.disable_compile():
        compare_trees(compiled(*arguments), expected, program.has_single, exact_types=True)


def compare_trees(got: Any, expected: Any, single: bool, exact_types: bool = False) -> None:
    found, wanted = optree.tree_structure(got), optree.tree_structure(expected)
    assert found == wanted, f"structure {found}, expected {wanted}"
    for k, (x, y) in enumerate(zip(leaves_of(got), leaves_of(expected), strict=True)):
        if exact_types:
            assert type(x) is type(y), f"result {k} is a {type(x)}, expected {type(y)}"
        assert np.shape(x) == np.shape(y), f"result {k}: {np.shape(x)}, expected {np.shape(y)}"
        found, wanted = np.asarray(x), np.asarray(y)
        assert found.dtype == wanted.dtype, f"result {k}: {found.dtype}, expected {wanted.dtype}"
        tolerance = 3e-4 if single else 1e-10
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(
                found, wanted, rtol=tolerance, atol=tolerance, err_msg=f"result {k}"
            )
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=f"result {k}")


def views(x: Any, rng: np.random.Generator) -> Any:
    """The same numbers in memory of another kind: strided, reversed, Fortran order, misaligned."""
    if not isinstance(x, np.ndarray) or not x.size:
        return x
    kind = int(rng.integers(5))
    if kind == 0:
        wide = np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x
        return wide
    if kind == 1:
        return np.flip(np.flip(x).copy())
    if kind == 2:
        found = np.array(x, order="F")
        found.flags.writeable = False
        return found
    if kind == 3:
        memory = np.zeros(x.nbytes + 1, np.uint8)
        found = memory[1:].view(x.dtype).reshape(x.shape)
        found[...] = x
        return found
    return np.broadcast_to(x, (3, *x.shape))[1]


def check_layouts(program: Program, run: Any, expected: Any, rng: np.random.Generator) -> None:
    got = run(*mapped(lambda x: views(x, rng), program.arguments))
    compare_trees(got, expected, program.has_single)


# ------------------------------------------------------------------------------------ gradients
def wide_loss(program: Program) -> tuple[Callable[[Any], Any], np.ndarray]:
    """The loss in double precision as a function of one flat vector, and the vector."""
    _, loss = program.functions(wide=True)
    leaves, structure = optree.tree_flatten(program.arguments, none_is_leaf=True)
    active = [k for k, x in enumerate(leaves) if is_floating(x)]

    def value(vector: np.ndarray) -> Any:
        moved, at = list(leaves), 0
        for k in active:
            size = np.size(leaves[k])
            part = vector[at : at + size].reshape(np.shape(leaves[k]))
            moved[k] = part.copy() if isinstance(leaves[k], np.ndarray) else part[()]
            at += size
        with np.errstate(all="ignore"):
            return loss(*optree.tree_unflatten(structure, moved))

    parts = [np.ravel(np.asarray(leaves[k], np.float64)) for k in active]
    return value, np.concatenate(parts)


def reference(
    program: Program, tally: Tally, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(directions, slopes, sure): slopes of the loss, by complex steps, or by differences with
    their agreement. The directions are the axes, or some at random where there are many."""
    value, at = wide_loss(program)
    directions = np.eye(at.size)
    if at.size > _MOST_AXES:
        directions = rng.standard_normal((_MOST_AXES // 4, at.size)) / np.sqrt(at.size)
    if program.analytic:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", ComplexWarning)
                steps = [value(at + 1e-30j * d) for d in directions]
        except (TypeError, ValueError):
            pass  # a NumPy function without a complex loop
        else:
            tally.complex_steps += 1
            return directions, np.imag(steps) / 1e-30, np.ones(len(directions), bool)
    sixth, fourth = np.zeros(len(directions)), np.zeros(len(directions))
    for k, direction in enumerate(directions):
        for steps, weight in _CENTRAL:
            move = steps * _STEP * direction
            slope = (value(at + move) - value(at - move)) / _STEP
            sixth[k] += weight * slope
            fourth[k] += dict(_FOURTH).get(steps, 0.0) * slope
    sure = np.abs(sixth - fourth) <= 1e-6 * (1 + np.abs(sixth))
    return directions, sixth, sure


def flat(trees: Any) -> np.ndarray:
    parts = [np.ravel(np.asarray(x, np.float64)) for x in leaves_of(trees) if x is not None]
    return np.concatenate([*parts, np.zeros(0)])


def check_gradients(program: Program, loss: Any, tally: Tally, rng: np.random.Generator) -> None:
    arguments = program.arguments
    transform = gradc.value_and_grad(loss, tuple(range(len(arguments))), allow_int=True)
    value, gradients = transform(*arguments)
    for x, g in zip(leaves_of(arguments), leaves_of(gradients), strict=True):
        if not is_floating(x):
            assert g is None
            continue
        assert np.shape(g) == np.shape(x) and np.asarray(g).dtype == np.asarray(x).dtype
        assert isinstance(g, np.ndarray) == isinstance(x, np.ndarray)
    directions, expected, sure = reference(program, tally, rng)
    wide, at = wide_loss(program)
    tolerance = 2e-3 if program.has_single else 1e-6
    np.testing.assert_allclose(float(value), float(wide(at)), rtol=tolerance, atol=tolerance)
    found = directions @ flat(gradients)
    tally.entries += found.size
    tally.unsure += int(np.sum(~sure))
    scale = 1 + np.max(np.abs(expected), initial=0)
    np.testing.assert_allclose(
        found[sure], expected[sure], rtol=tolerance, atol=tolerance * scale, err_msg="gradient"
    )
    check_layouts(program, transform, (value, gradients), rng)


def check_second_order(program: Program, loss: Any, tally: Tally, rng: Any) -> None:
    """hvp and jvp against differences of gradc's gradient, which has been checked by then."""
    arguments = program.arguments
    if program.has_single or not all(is_floating(x) for x in leaves_of(arguments)):
        return
    vectors = mapped(lambda x: _alike(rng.standard_normal(np.shape(x)), x), arguments)
    gradient = gradc.grad(loss, tuple(range(len(arguments))))
    products = flat(gradc.hvp(loss, arguments, vectors))
    estimates = []
    for stencil in (_CENTRAL, _FOURTH):
        total = np.zeros(products.size)
        for steps, weight in stencil:
            for sign in (1, -1):
                moved = shifted(arguments, vectors, sign * steps * _STEP)
                total += sign * weight / _STEP * flat(gradient(*moved))
        estimates.append(total)
    sixth, fourth = estimates
    scale = 1 + np.max(np.abs(sixth), initial=0)
    sure = np.abs(sixth - fourth) <= 1e-5 * scale
    tally.second_order += 1
    np.testing.assert_allclose(
        products[sure], sixth[sure], rtol=1e-5, atol=1e-5 * scale, err_msg="hvp"
    )
    value, tangent = gradc.jvp(loss, arguments, vectors)
    along = float(flat(gradient(*arguments)) @ flat(vectors))
    np.testing.assert_allclose(tangent, along, rtol=1e-7, atol=1e-7 * scale, err_msg="jvp")


def shifted(arguments: Any, vectors: Any, by: float) -> Any:
    return optree.tree_map(lambda x, v: _alike(x + by * v, x), arguments, vectors)


def _alike(value: Any, x: Any) -> Any:
    """The value as an array, NumPy scalar or float, as x is."""
    return np.asarray(value) if isinstance(x, np.ndarray) else type(x)(value)


# ------------------------------------------------------------------------------------------- IR
def check_text(operation: Operation) -> None:
    text = print_module(operation)
    again = print_module(parse_module(text))
    assert again == text, "print -> parse -> print is no fixed point"


def check_ir(program: Program, loss: Any) -> None:
    """Text, the verifier and the interpreter's results through every stage, forward and back."""
    resolved = gradc.compile(loss).resolved()
    bound = resolved.engine.bind(resolved.function, program.arguments, {})
    mode = GradientMode(tuple(range(len(program.arguments))), allow_int=True)
    for derived in (ValueMode().derive(bound.traced), mode.derive(bound.traced)):
        function: FuncOp = copy_function(derived, "checked")
        verify(function)
        check_text(ModuleOp.build([function.clone()]))
        wanted = run_function(function, bound.inputs)
        for name in SIMPLIFY:
            run_passes(function, (name,))
            verify(function)
            same(run_function(function, bound.inputs), wanted, program, name)
        check_text(ModuleOp.build([function.clone()]))
        lowered = lower(function)
        for stage in (lowered.fused, lowered.memory, lowered.loops):
            verify(stage)
            check_text(ModuleOp.build([stage.clone()]))
        same(executable(function)(*bound.inputs), wanted, program, "native")


def same(got: Any, wanted: Any, program: Program, stage: str) -> None:
    for x, y in zip(got, wanted, strict=True):
        assert np.shape(x) == np.shape(y), stage
        tolerance = 3e-3 if program.has_single else 1e-9
        scale = 1 + np.max(np.abs(np.asarray(y, float)), initial=0)
        np.testing.assert_allclose(
            x, y, rtol=tolerance, atol=tolerance * scale, err_msg=f"after {stage}"
        )


# ------------------------------------------------------------------------------------ all checks
def check_program(program: Program, tally: Tally, seed: int, deep: bool) -> None:
    """All checks of one program; `deep`: also second order, and the IR of every stage."""
    rng = np.random.default_rng(seed)
    plain, loss = program.functions()
    tally.programs += 1
    compiled = gradc.compile(plain)
    try:
        check_values(program, compiled)
        check_gradients(program, loss, tally, rng)
        if deep:
            check_second_order(program, loss, tally, rng)
            check_ir(program, loss)
    except Exception as error:
        raise AssertionError(f"program {seed}:\n{program.source}\n{error}") from error
