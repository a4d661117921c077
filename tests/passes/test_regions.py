"""The place of operations with regions in the chain rule: `reverse` and `push` of their class."""

from __future__ import annotations

import numpy as np
import pytest
from programs import build, run

from gradc.ir.builder import Builder
from gradc.ir.core import Block, Region
from gradc.ir.diagnostic import IRError
from gradc.ir.opdef import Control
from gradc.ir.ops.scf import Yield, if_
from gradc.ir.types import f64, i1, tensor
from gradc.passes.adjoint import transpose
from gradc.passes.backward import differentiate
from gradc.passes.forward import push, pushforward


class Inline(Control):
    """Runs its body once: operands are the body's arguments; it may capture outer values."""

    name = "test.inline"

    def infer(*types, regions):
        return tuple(v.type for v in regions[0].block.terminator.operands)

    def interpret(self, run, arrays):
        return run(self.body, arrays)

    def reverse(driver, op, cotangents):
        ops, yielded = copy_body(driver.b, op)
        outside = list(dict.fromkeys([*op.operands, *captures(op)]))
        pairs = [(v, g) for v, g in zip(yielded, cotangents, strict=True) if g is not None]
        for value, g in zip(outside, transpose(driver.b, ops, pairs, outside), strict=True):
            if g is not None:
                driver.seed(value, g)

    def push(b, op, tangents, active):
        ops, yielded = copy_body(b, op)
        for inner in ops:
            if any(value in tangents for value in inner.operands):
                push(b, inner, tangents, {*active, *inner.results})
        for value, inner in zip(op.results, yielded, strict=True):
            if inner in tangents:
                tangents[value] = tangents[inner]


def captures(op):
    own = {*op.body.args, *(v for inner in op.body.ops for v in inner.results)}
    return [v for inner in op.body.ops for v in inner.operands if v not in own]


def copy_body(b, op):
    """The body's operations, copied to where `b` writes, and the values that it yields."""
    mapping = dict(zip(op.body.args, op.operands, strict=True))
    ops = [b.insert(inner.clone(mapping)) for inner in op.body.ops[:-1]]
    return ops, [mapping.get(v, v) for v in op.body.terminator.operands]


def function():
    """sin(x y) + exp(y), the product and the sine inside a region that captures y."""

    def body(b, x, y):
        block = Block([x.type])
        inner = Builder(block, b.location)
        product = inner.mul(block.args[0], y)
        inner.create(Yield, (inner.sin(product), product), {})
        sine, _ = b.create(Inline, (x,), {}, [Region([block])])
        return b.add(sine, b.exp(y))

    return build(body, tensor(f64), tensor(f64))


X, Y = np.array(0.7), np.array(-1.2)
DX, DY = Y * np.cos(X * Y), X * np.cos(X * Y) + np.exp(Y)


def test_an_operation_with_regions_reverses_itself():
    found = run(differentiate(function(), [0, 1], name="g", keep_values=False), X, Y)
    np.testing.assert_allclose(found, [DX, DY], rtol=1e-15)


def test_an_operation_with_regions_pushes_itself():
    _, tangent = run(pushforward(function(), [0, 1], name="p"), X, Y, np.array(2.0), np.array(3.0))
    np.testing.assert_allclose(tangent, 2 * DX + 3 * DY, rtol=1e-15)


class WithoutRules(Inline):
    """The same without rules."""

    name = "test.inline_without_rules"
    reverse = None
    push = None


@pytest.mark.parametrize("transform", [differentiate, pushforward])
def test_a_missing_rule_is_an_error_at_the_users_line(transform):
    def body(b, x):
        block = Block([x.type])
        Builder(block).create(Yield, (block.args[0],), {})
        return b.create(WithoutRules, (x,), {}, [Region([block])])

    with pytest.raises(IRError, match="test.inline_without_rules has no") as caught:
        transform(build(body, tensor(f64)), [0], name="g")
    assert "model.py:7" in str(caught.value)


def test_branches_that_carry_no_gradient_pass():
    """An scf.if over values that the input does not reach needs no rule."""

    def body(b, x, c):
        (picked,) = if_(b, c, lambda b: [b.full(2, x.type)], lambda b: [b.full(3, x.type)])
        return b.mul(x, picked)

    (found,) = run(
        differentiate(build(body, tensor(f64), i1), [0], name="g", keep_values=False), X, True
    )
    assert found == 2
