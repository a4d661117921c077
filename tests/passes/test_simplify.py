"""canonicalize, cse, dce: the interpreter's result stays, bit for bit; what must stay stays."""

from __future__ import annotations

import numpy as np
import pytest
from programs import PROGRAMS, build, build_for, names, run

from gradc.ir.builder import Builder
from gradc.ir.core import Operation
from gradc.ir.diagnostic import IRError
from gradc.ir.opdef import Elementwise
from gradc.ir.ops.func import copy_function
from gradc.ir.ops.scf import for_
from gradc.ir.type_rules import same_type
from gradc.ir.types import FLOATS, f16, f32, f64, i1, i8, index, tensor
from gradc.passes.backward import differentiate
from gradc.passes.canonicalize import canonicalize
from gradc.passes.cse import cse
from gradc.passes.dce import dce
from gradc.passes.manager import PassManager
from gradc.passes.rewrite import rewrite

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("step", [canonicalize, cse, dce], ids=["canonicalize", "cse", "dce"])
def test_the_result_stays_bit_for_bit(name, step):
    body, arrays = PROGRAMS[name]
    function = build_for(body, *arrays)
    weights = [RNG.standard_normal(v.shape) for v in run(function, *arrays)]
    gradient = differentiate(function, range(len(arrays)), name="g", cotangents="arguments")
    again = copy_function(gradient, "again")
    step(again)
    assert len(again.body.ops) <= len(gradient.body.ops)
    for special in (None, 0.0, -0.0, np.inf, np.nan):
        inputs = [*arrays, *weights]
        if special is not None:
            inputs[0] = np.full_like(inputs[0], special)
        for before, after in zip(run(gradient, *inputs), run(again, *inputs), strict=True):
            np.testing.assert_array_equal(np.isnan(before), np.isnan(after))
            kept = ~np.isnan(before)
            assert before[kept].tobytes() == after[kept].tobytes()


def test_a_second_run_changes_nothing():
    for body, arrays in PROGRAMS.values():
        gradient = differentiate(build_for(body, *arrays), [0], name="g")
        for step in (canonicalize, cse, dce):
            step(gradient)
        assert not cse(gradient)
        assert not dce(gradient)


def test_the_passes_are_registered():
    function = build(lambda b, x: [b.add(b.neg(b.neg(x)), b.mul(x, 1))], tensor(f64))
    PassManager.parse("func.func(canonicalize,cse,dce)").run(function)
    assert names(function) == ["nd.add"]


# ------------------------------------------------------------------------------------ constants


def folded(body, *types):
    function = build(body, *types)
    canonicalize(function)
    assert all(name == "nd.constant" for name in names(function))
    return run(function)[0]


def test_constants_fold_in_their_own_type():
    found = folded(lambda b: b.div(b.full(1, tensor(f16, 3)), b.full(3, tensor(f16, 3))))
    np.testing.assert_array_equal(found, np.full(3, np.float16(1) / np.float16(3)))
    assert found.dtype == np.float16
    found = folded(lambda b: b.mul(b.full(100, tensor(i8)), b.full(2, tensor(i8))))
    assert found.dtype == np.int8 and found == -56


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0])
def test_special_constants_fold(value):
    found = folded(lambda b: b.neg(b.full(value, tensor(f32, 2))))
    np.testing.assert_array_equal(found, np.full(2, -np.float32(value)))
    np.testing.assert_array_equal(np.signbit(found), np.full(2, not np.signbit(value)))


def test_zeros_of_both_signs_do_not_become_one_splat():
    def body(b):
        return b.concatenate(b.full(0.0, tensor(f64, 1)), b.full(-0.0, tensor(f64, 1)), axis=0)

    function = build(body)
    canonicalize(function)
    np.testing.assert_array_equal(np.signbit(run(function)[0]), [False, True])


def test_a_known_condition_selects():
    function = build(
        lambda b, x, y: b.select(b.full(True, tensor(i1, 2)), x, y), *[tensor(f64, 2)] * 2
    )
    canonicalize(function)
    assert names(function) == []
    assert function.returned == (function.args[0],)


# ------------------------------------------------------------------------------ effects, regions


class Noise(Elementwise):
    """An operation with an effect."""

    name = "test.noise"
    infer = same_type(FLOATS)
    effects = True


def test_effects_are_neither_merged_nor_dropped():
    def body(b, x):
        first, second = b.create(Noise, [x], {}), b.create(Noise, [x], {})
        b.create(Noise, [b.add(first, second)], {})
        b.exp(x)
        return x

    function = build(body, tensor(f64))
    for step in (canonicalize, cse, dce):
        step(function)
    assert names(function) == ["test.noise", "test.noise", "nd.add", "test.noise"]


def test_the_operation_that_gives_birth_to_a_size_stays():
    """np.ones_like(x[x > 0]).sum(): nobody reads the indices, but their number is the sum."""

    def body(b, x):
        at = b.nonzero(b.gt(x, 0), size="n0")
        unread = b.gather(x, at, axes=(0,))
        return b.reduce_sum(b.full(1, unread.type), axes=(0,))

    function = build(body, tensor(f64, 4))
    assert dce(function)
    assert names(function) == ["nd.constant", "nd.gt", "nd.nonzero", "nd.constant", "nd.reduce_sum"]
    assert run(function, np.array([1.0, -1.0, 2.0, 3.0])) == (3,)


def loop(inner):
    """A function with scf.for over 3 steps that carries x; `inner(b, carried, x)` is the body."""

    def body(b, x, zero, one, three):
        def step(b, i, carried):
            return [inner(b, carried, x)]

        return list(for_(b, zero, three, one, [x], step))

    return build(body, tensor(f64), index, index, index)


def loop_body(function) -> list[str]:
    return [op.name for op in function.body.ops[0].body.ops[:-1]]


def test_regions_are_simplified_too():
    def inner(b, carried, x):
        b.exp(carried)
        twice = b.add(b.neg(b.neg(carried)), b.neg(b.neg(carried)))
        return b.mul(b.sin(twice), b.sin(b.add(carried, carried)))

    function = loop(inner)
    for step in (canonicalize, cse, dce):
        assert step(function) or step is dce
    assert loop_body(function) == ["nd.add", "nd.sin", "nd.mul"]


def test_a_loop_without_effects_whose_result_is_unused_goes():
    function = loop(lambda b, carried, x: b.mul(carried, x))
    function.body.terminator.set_operands([function.args[0]])
    function.update_type()
    assert dce(function)
    assert names(function) == []


def test_a_loop_with_an_effect_stays():
    function = loop(lambda b, carried, x: b.create(Noise, [carried], {}))
    function.body.terminator.set_operands([function.args[0]])
    function.update_type()
    assert not dce(function)
    assert loop_body(function) == ["test.noise"]


def test_nested_blocks_use_outer_values_but_not_the_other_way_round():
    def inner(b, carried, x):
        return b.mul(b.sin(x), b.cos(x))

    function = loop(inner)
    b = Builder(function.body, before=function.body.ops[0])
    outer = b.sin(function.args[0])
    last = Builder(function.body, before=function.body.terminator).cos(function.args[0])
    function.body.terminator.set_operands([*function.returned, outer, last])
    function.update_type()
    assert cse(function)
    assert names(function) == ["nd.sin", "scf.for", "nd.cos"]
    body = function.body.ops[1].body.ops
    assert [op.name for op in body[:-1]] == ["nd.cos", "nd.mul"]


# ------------------------------------------------------------------------------- pattern driver


def test_a_pattern_that_changes_the_type_is_an_error():
    def narrow(b: Builder, op: Operation):
        return [b.convert(op.operands[0], dtype=f32)] if op.name == "nd.exp" else None

    function = build(lambda b, x: b.exp(x), tensor(f64))
    with pytest.raises(IRError, match="rewrite of nd.exp changes its type"):
        rewrite(function, [narrow])


def test_circular_patterns_are_an_error():
    def swap(b: Builder, op: Operation):
        return [b.add(*reversed(op.operands))] if op.name == "nd.add" else None

    function = build(lambda b, x, y: b.add(x, y), tensor(f64), tensor(f64))
    with pytest.raises(IRError, match="rewrites of nd.add do not come to an end"):
        rewrite(function, [swap])


def test_operations_of_a_pattern_that_gives_up_are_not_left():
    def hesitate(b: Builder, op: Operation):
        b.exp(op.operands[0])
        return None

    function = build(lambda b, x: b.sin(x), tensor(f64))
    assert not rewrite(function, [hesitate])
    assert names(function) == ["nd.sin"]
    assert list(function.args[0].users) == [function.body.ops[0]]
