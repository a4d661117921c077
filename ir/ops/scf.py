"""MLIR's `scf` dialect: structured control flow, on arrays before `bufferize` and on scalars after
it.

The classes serve both levels: the values carried may be tensors, scalars or `index`. The functions
below (`for_`, `if_`, `while_`, `parallel`) build an operation with its regions in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.builder import Builder
from gradc.ir.core import Block, Operation, Region, Value
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Control
from gradc.ir.ops.memref import integers
from gradc.ir.types import Type, i1, index

Run = Callable[..., tuple[Any, ...]]
Name = Callable[[Value], str]


def _carried(args: Sequence[Value], init: Sequence[Value], name: Name, word: str) -> str:
    """` iter_args(%x = %start) : type` for people."""
    if not args:
        return ""
    pairs = ", ".join(f"{name(a)} = {name(v)}" for a, v in zip(args, init, strict=True))
    return f"{word}({pairs}) : {', '.join(str(a.type) for a in args)}"


def _names(types: Sequence[Type]) -> str:
    return "(" + ", ".join(str(t) for t in types) + ")"


def _terminator(block: Block, name: str) -> Operation:
    if not block.ops or block.ops[-1].name != name:
        raise TypeRuleError(f"expected a region that ends in {name}")
    return block.ops[-1]


def _expect_types(found: Sequence[Type], wanted: Sequence[Type], what: str) -> None:
    if tuple(found) != tuple(wanted):
        raise TypeRuleError(f"expected {what} of types {_names(wanted)}, got {_names(found)}")


def _types(values: Sequence[Value]) -> tuple[Type, ...]:
    return tuple(v.type for v in values)


class Yield(Control, name="scf.yield"):
    """Ends a region; its operands are the region's values."""

    vjp = NOT_DIFFERENTIABLE
    effects = True
    is_terminator = True

    def infer(*types: Type) -> tuple[Type, ...]:
        return ()


class For(Control, name="scf.for"):
    """Iterate from `lower` to below `upper` by `step` (> 0), carrying values.

    Operands: lower, upper, step (index), the initial values. Body: (index, carried...) -> yields.
    """

    def pretty(op: For, name: Name) -> str:
        lower, upper, step, *init = op.operands
        i, *carried = op.body.args
        head = f"scf.for {name(i)} = {name(lower)} to {name(upper)} step {name(step)}"
        return head + _carried(carried, init, name, " iter_args")

    def infer(lower: Type, upper: Type, step: Type, *init: Type, regions: Any, **rest: Any) -> Any:
        _expect_types((lower, upper, step), (index,) * 3, "bounds")
        body = regions[0].block
        _expect_types(_types(body.args), (index, *init), "block arguments")
        _expect_types(_types(_terminator(body, "scf.yield").operands), init, "yielded values")
        return tuple(init)

    def interpret(self, run: Run, arrays: Sequence[Any]) -> Sequence[Any]:
        lower, upper, step = (int(x) for x in arrays[:3])
        if step <= 0:
            raise TypeRuleError(f"scf.for needs a positive step, got {step}")
        carried: Sequence[Any] = tuple(arrays[3:])
        for i in range(lower, upper, step):
            carried = run(self.body, (np.int64(i), *carried))
        return tuple(carried)


class If(Control, name="scf.if"):
    """The first region when the i1 operand holds, else the second (which may be absent or
    empty)."""

    optional_regions = True

    def pretty(op: If, name: Name) -> tuple[str, ...]:
        types = ", ".join(str(v.type) for v in op.results)
        return (f"scf.if {name(op.operands[0])}{' : ' if types else ''}{types}", "else")

    def infer(condition: Type, *, regions: Any, **rest: Any) -> Any:
        _expect_types((condition,), (i1,), "a condition")
        blocks = [block for region in regions for block in region.blocks]
        yielded = [_types(_terminator(block, "scf.yield").operands) for block in blocks]
        if any(block.args for block in blocks):
            raise TypeRuleError("expected regions without arguments")
        if len(yielded) == 1 and yielded[0]:
            raise TypeRuleError("an scf.if with results needs an else region")
        for other in yielded[1:]:
            _expect_types(other, yielded[0], "values from the else region")
        return yielded[0]

    def interpret(self, run: Run, arrays: Sequence[Any]) -> Sequence[Any]:
        region = self.regions[0 if bool(arrays[0]) else 1]
        return run(region.block, ()) if region.blocks else ()


class Condition(Control, name="scf.condition"):
    """Ends the first region of scf.while: go on? (i1), and the values handed on."""

    vjp = NOT_DIFFERENTIABLE
    effects = True
    is_terminator = True

    def infer(condition: Type, *forwarded: Type) -> tuple[Type, ...]:
        _expect_types((condition,), (i1,), "a condition")
        return ()


class While(Control, name="scf.while"):
    """Run `before` on the carried values; while its condition holds, run `after` on what it hands
    on.

    The results are what `before` handed on when its condition was false.
    """

    def pretty(op: While, name: Name) -> tuple[str, ...]:
        before, after = (region.block for region in op.regions)
        handed = ", ".join(f"{name(v)}: {v.type}" for v in after.args)
        return (f"scf.while{_carried(before.args, op.operands, name, '')}", f"do ({handed})")

    def infer(*init: Type, regions: Any, **rest: Any) -> Any:
        before, after = (region.block for region in regions)
        _expect_types(_types(before.args), init, "arguments of the first region")
        forwarded = _types(_terminator(before, "scf.condition").operands[1:])
        _expect_types(_types(after.args), forwarded, "arguments of the second region")
        _expect_types(_types(_terminator(after, "scf.yield").operands), init, "yielded values")
        return forwarded

    def interpret(self, run: Run, arrays: Sequence[Any]) -> Sequence[Any]:
        before, after = (region.block for region in self.regions)
        carried: Sequence[Any] = tuple(arrays)
        while True:
            go_on, *forwarded = run(before, carried)
            if not bool(go_on):
                return tuple(forwarded)
            carried = run(after, forwarded)


class ExecuteRegion(Control, name="scf.execute_region"):
    """Run the region once; its yielded values are the results. Lowering puts each kernel in one."""

    vjp = NOT_DIFFERENTIABLE
    effects = True

    def infer(*types: Type, regions: Any) -> Any:
        _expect_types(types, (), "operands")
        return _types(_terminator(regions[0].block, "scf.yield").operands)

    def interpret(self, run: Run, arrays: Sequence[Any]) -> Sequence[Any]:
        return run(self.body, ())


class Reduce(Control, name="scf.reduce"):
    """Ends scf.parallel; without operands, since nothing is reduced."""

    vjp = NOT_DIFFERENTIABLE
    effects = True
    is_terminator = True

    def infer(*types: Type, regions: Any = ()) -> tuple[Type, ...]:
        _expect_types(types, (), "operands")
        return ()


class Parallel(Control, name="scf.parallel"):
    """Iterations without order or dependence over lowers, uppers, steps (index, as many of each).

    The discardable attribute `gradc.work` estimates the scalar operations of one iteration of the
    outermost dimension: a small total runs on one thread."""

    vjp = NOT_DIFFERENTIABLE
    effects = True

    def pretty(op: Parallel, name: Name) -> str:
        rank = len(op.body.args)
        lower, upper, step = (
            ", ".join(map(name, op.operands[k * rank : (k + 1) * rank])) for k in range(3)
        )
        indices = ", ".join(map(name, op.body.args))
        return f"scf.parallel ({indices}) = ({lower}) to ({upper}) step ({step})"

    def infer(*bounds: Type, regions: Any, **rest: Any) -> Any:
        body = regions[0].block
        rank = len(body.args)
        _expect_types(bounds, (index,) * (3 * max(1, rank)), "bounds")
        _expect_types(_types(body.args), (index,) * rank, "block arguments")
        _terminator(body, "scf.reduce")
        return ()

    def interpret(self, run: Run, arrays: Sequence[Any]) -> Sequence[Any]:
        rank = len(arrays) // 3
        lowers, uppers, steps = (arrays[k * rank : (k + 1) * rank] for k in range(3))
        sizes = [
            max(0, -((int(lo) - int(up)) // int(step)))
            for lo, up, step in zip(lowers, uppers, steps)
        ]
        for place in np.ndindex(*sizes):
            at = [np.int64(int(lo) + k * int(s)) for lo, k, s in zip(lowers, place, steps)]
            run(self.body, at)
        return ()


# ------------------------------------------------------------------------------------- building


def _filled(types: Sequence[Type], b: Builder) -> tuple[Block, Builder]:
    block = Block(types)
    return block, Builder(block, b.location)


def _results(found: Any) -> tuple[Value, ...]:
    return found if isinstance(found, tuple) else (found,)


def for_(
    b: Builder,
    lower: Value,
    upper: Value,
    step: Value,
    init: Sequence[Value] = (),
    body: Callable[..., Sequence[Value] | None] = lambda b, i, *carried: carried,
    attributes: dict[str, Any] | None = None,
) -> tuple[Value, ...]:
    """Emit scf.for; body(builder, i, *carried) returns the yielded values (None for none)."""
    block, inner = _filled((index, *_types(init)), b)
    inner.create(Yield, tuple(body(inner, *block.args) or ()), {})
    operands = (lower, upper, step, *init)
    return _results(b.create(For, operands, dict(attributes or {}), [Region([block])]))


def execute_region(
    b: Builder, body: Callable[[Builder], Sequence[Value] | None]
) -> tuple[Value, ...]:
    """Emit scf.execute_region; body(builder) returns the yielded values (None for none)."""
    block, inner = _filled((), b)
    inner.create(Yield, tuple(body(inner) or ()), {})
    return _results(b.create(ExecuteRegion, (), {}, [Region([block])]))


def if_(
    b: Builder,
    condition: Value,
    then: Callable[[Builder], Sequence[Value] | None],
    orelse: Callable[[Builder], Sequence[Value] | None] | None = None,
) -> tuple[Value, ...]:
    """Emit scf.if; each branch returns its yielded values. Without `orelse` there are no
    results."""
    regions = []
    for branch in (then, orelse):
        if branch is None:
            regions.append(Region([]))
            continue
        block, inner = _filled((), b)
        inner.create(Yield, tuple(branch(inner) or ()), {})
        regions.append(Region([block]))
    return _results(b.create(If, (condition,), {}, regions))


def while_(
    b: Builder,
    init: Sequence[Value],
    before: Callable[..., tuple[Value, Sequence[Value]]],
    after: Callable[..., Sequence[Value]],
) -> tuple[Value, ...]:
    """Emit scf.while; before(builder, *carried) returns (condition, values handed on)."""
    first, inner = _filled(_types(init), b)
    condition, forwarded = before(inner, *first.args)
    inner.create(Condition, (condition, *forwarded), {})
    second, inner = _filled(_types(forwarded), b)
    inner.create(Yield, tuple(after(inner, *second.args)), {})
    return _results(b.create(While, tuple(init), {}, [Region([first]), Region([second])]))


def parallel(
    b: Builder,
    lowers: Sequence[Value],
    uppers: Sequence[Value],
    steps: Sequence[Value],
    body: Callable[..., None],
    attributes: dict[str, Any] | None = None,
) -> None:
    """Emit scf.parallel; body(builder, *indices) emits one iteration."""
    rank = len(lowers)
    block, inner = _filled((index,) * rank, b)
    body(inner, *block.args)
    inner.create(Reduce, (), {})
    segments = {"operandSegmentSizes": integers(32, (rank, rank, rank, 0))}
    operands = (*lowers, *uppers, *steps)
    b.create(Parallel, operands, {**segments, **(attributes or {})}, [Region([block])])
