"""Loops of the operations that are no nests of `kernel.generic`: scans, argmax, scatters, nonzero.

One emitter for each lowering class, or for each `emitter` that an operation names; what a class
member computes is its own payload (`combine`, `better`, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.diagnostic import IRError
from gradc.ir.opdef import REGISTRY
from gradc.ir.ops import scf
from gradc.ir.ops.kernel import Apply
from gradc.ir.ops.slicing import region_map
from gradc.ir.types import Dim, bf16, f16, f32, i64
from gradc.passes.lower.access import Array, index_constant, index_value, load, store
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.body import check_bounds, index_to_number, number_to_index
from gradc.passes.lower.context import Body, Context
from gradc.passes.lower.scalar_value import Scalar
from gradc.passes.lower.scalars import ScalarBuilder


class Application:
    """A kernel.apply being lowered: the operation's class, attributes and arrays."""

    def __init__(self, b: Builder, op: Apply, context: Context) -> None:
        self.b = b
        self.cls: Any = REGISTRY[op["op"]]
        self.attributes: dict[str, Any] = op["attributes"]
        self.context = context
        split = len(op.operands) - op["outputs"]
        self.types = [v.type for v in op.operands]
        self.inputs = [context.arrays[v] for v in op.operands[:split]]
        self.outputs = [context.arrays[v] for v in op.operands[split:]]
        self.shapes = op.attributes.get("shapes", ())

    def over(self, b: Builder, sizes: Sequence[Any], body: Body) -> None:
        self.context.over(b, sizes, body)

    def size(self, b: Builder, size: Any) -> Value:
        return self.context.size(b, size)

    def copy(self, b: Builder, source: Array, target: Array, shape: Sequence[Any]) -> None:
        if source.buffer is not target.buffer:
            self.over(
                b, shape, lambda inner, ivs: store(inner, load(inner, source, ivs), target, ivs)
            )


def emit_apply(b: Builder, op: Apply, context: Context) -> None:
    cls = REGISTRY[op["op"]]
    emitter = EMITTERS.get(cls.emitter or cls.lowering)
    if emitter is None:
        raise IRError(
            f"{cls.name} cannot be compiled to native code: expected an operation that `fuse` puts "
            f"into a kernel, or one lowered as {', '.join(EMITTERS)}",
            location=op.location,
        )
    emitter(b, Application(b, op, context))


def emit_scan(b: Builder, run: Application) -> None:
    """Outer loops over the other axes, a sequential one along the scanned axis."""
    axis = run.attributes["axis"]
    backwards = run.attributes.get("reverse", False)
    exclusive = run.attributes.get("exclusive", False)
    shape = run.shapes[0]
    dtype = run.inputs[0].dtype
    wide = f32 if dtype in (f16, bf16) else dtype
    others = [n for k, n in enumerate(shape) if k != axis]

    def line(inner: Builder, ivs: list[Value]) -> None:
        s = ScalarBuilder(inner)
        length = run.size(inner, shape[axis])
        one = index_constant(inner, 1)

        def at(deep: Builder, k: Value) -> list[Value]:
            a = Arithmetic(deep)
            place = a.sub(a.sub(length, one), k) if backwards else k
            return [*ivs[:axis], place, *ivs[axis:]]

        def read(deep: Builder, k: Value) -> list[Scalar]:
            found = [load(deep, x, at(deep, k)) for x in run.inputs]
            return [ScalarBuilder(deep).convert(x, wide) for x in found]

        def write(deep: Builder, k: Value, value: Scalar) -> None:
            store(deep, ScalarBuilder(deep).convert(value, dtype), run.outputs[0], at(deep, k))

        def step(deep: Builder, k: Value, *parts: Value) -> Sequence[Value]:
            deep.location = b.location
            state = Scalar(wide, parts)
            if exclusive:
                write(deep, k, state)
            xs = read(deep, k)
            combine = run.cls.combine
            inner_s = ScalarBuilder(deep)
            if isinstance(combine, str):
                state = getattr(inner_s, combine)(state, *xs)
            else:
                state = combine(inner_s, state, *xs)
            if not exclusive:
                write(deep, k, state)
            return state.parts

        # The first element is taken as it is: the neutral one would lose the sign of zero.
        zero = index_constant(inner, 0)

        def rest(deep: Builder) -> Sequence[Value]:
            first = read(deep, zero)[-1]
            write(deep, zero, s_neutral(deep) if exclusive else first)
            scf.for_(deep, one, length, one, first.parts, step)
            return ()

        def s_neutral(deep: Builder) -> Scalar:
            return ScalarBuilder(deep).const(run.cls.identity(wide), wide)

        scf.if_(inner, s.arithmetic.cmp("sgt", length, zero), rest)

    run.over(b, others, line)


def emit_argreduce(b: Builder, run: Application) -> None:
    axis = run.attributes["axis"]
    shape = run.shapes[0]
    others = [n for k, n in enumerate(shape) if k != axis]
    x = run.inputs[0]
    if isinstance(shape[axis], Dim):
        some = Arithmetic(b).cmp("sgt", run.size(b, shape[axis]), index_constant(b, 0))
        name = run.cls.mnemonic()
        message = f"attempt to get {name} of an empty sequence"
        b.kernel_check(some, exception="ValueError", message=message)

    def line(inner: Builder, ivs: list[Value]) -> None:
        zero, one = index_constant(inner, 0), index_constant(inner, 1)
        first = load(inner, x, [*ivs[:axis], zero, *ivs[axis:]])

        def step(deep: Builder, k: Value, best_at: Value, *parts: Value) -> Sequence[Value]:
            s = ScalarBuilder(deep)
            best = Scalar(x.dtype, parts)
            value = load(deep, x, [*ivs[:axis], k, *ivs[axis:]])
            wins = getattr(s, run.cls.better)(value, best)
            if x.dtype.is_floating:
                fresh = s.logical_and(s.isnan(value), s.logical_not(s.isnan(best)))
                stays = s.isnan(best)
                wins = s.logical_or(fresh, s.logical_and(wins, s.logical_not(stays)))
            a = s.arithmetic
            chosen = s.select(wins, value, best)
            return [a.select(wins.value, k, best_at), *chosen.parts]

        size = run.size(inner, shape[axis])
        found = scf.for_(inner, one, size, one, [zero, *first.parts], step)
        store(inner, index_to_number(inner, found[0], i64), run.outputs[0], ivs)

    run.over(b, others, line)


def emit_scatter(b: Builder, run: Application) -> None:
    """Copy x, then store or add the values in row-major order of the indices."""
    x, v, *indices = run.inputs
    out = run.outputs[0]
    axes = run.attributes["axes"]
    adds = run.attributes.get("combine", "set") == "add"
    shape = run.shapes[0]
    run.copy(b, x, out, shape)
    lead = len(run.shapes[2])

    def rows(inner: Builder, at: list[Value]) -> None:
        places = {}
        for axis, array in zip(axes, indices, strict=True):
            place = number_to_index(inner, load(inner, array, at))
            check_bounds(inner, place, run.size(inner, shape[axis]), axis)
            places[axis] = place

        def element(deep: Builder, more: list[Value]) -> None:
            rest = iter(more)
            place = [places[k] if k in places else next(rest) for k in range(len(shape))]
            add_or_store(deep, adds, load(deep, v, [*at, *more]), out, place)

        run.over(inner, run.shapes[1][lead:], element)

    run.over(b, run.shapes[1][:lead], rows)


def emit_store(b: Builder, run: Application) -> None:
    """update_slice and accumulate_slice: copy x, then store or add the sub-array."""
    x, v, *dynamic = run.inputs
    out = run.outputs[0]
    starts, steps = run.attributes["starts"], run.attributes["steps"]
    run.copy(b, x, out, run.shapes[0])
    symbols = []
    axes = [k for k, start in enumerate(starts) if start is None]
    for axis, array in zip(axes, dynamic, strict=True):
        first = number_to_index(b, load(b, array, ()))
        symbols.append(first)
        if run.shapes[1][axis] == 0:
            continue  # nothing is stored, wherever that is
        size = run.size(b, run.shapes[0][axis])
        extent = steps[axis] * (run.shapes[1][axis] - 1)
        check_bounds(b, first, size, axis)
        check_bounds(b, Arithmetic(b).add(first, index_constant(b, extent)), size, axis)
    map = region_map(starts, steps)

    def element(inner: Builder, ivs: list[Value]) -> None:
        place = [index_value(inner, e, [*ivs, *symbols]) for e in map.results]
        add_or_store(inner, run.cls.adds, load(inner, v, ivs), out, place)

    run.over(b, run.shapes[1], element)


def add_or_store(b: Builder, adds: bool, value: Scalar, out: Array, place: Sequence[Value]) -> None:
    if adds:
        s = ScalarBuilder(b)
        before = load(b, out, place)
        value = s.logical_or(before, value) if out.dtype.is_bool else s.add(before, value)
    store(b, value, out, place)


def emit_nonzero(b: Builder, run: Application) -> None:
    """Write the indices of true elements, counting them: the count is the size born here."""
    mask = run.inputs[0]
    shape = run.shapes[0]

    def level(inner: Builder, k: int, ivs: list[Value], count: Value) -> Value:
        if k == len(shape):
            a = Arithmetic(inner)
            value = load(inner, mask, ivs).value

            def write(deep: Builder) -> Sequence[Value]:
                for out, iv in zip(run.outputs, ivs, strict=True):
                    store(deep, index_to_number(deep, iv, i64), out, [count])
                return ()

            scf.if_(inner, value, write)
            more = a.add(count, index_constant(inner, 1))
            return a.select(value, more, count)

        def step(deep: Builder, iv: Value, carried: Value) -> Sequence[Value]:
            return [level(deep, k + 1, [*ivs, iv], carried)]

        zero, one = index_constant(inner, 0), index_constant(inner, 1)
        return scf.for_(inner, zero, run.size(inner, shape[k]), one, [count], step)[0]

    run.context.sizes[run.attributes["size"]] = level(b, 0, [], index_constant(b, 0))


def emit_size(b: Builder, run: Application) -> None:
    size = run.size(b, run.shapes[0][run.attributes["axis"]])
    store(b, index_to_number(b, size, i64), run.outputs[0], ())


# By `Op.emitter`, or the lowering class of an operation that names none.
EMITTERS: dict[str, Callable[[Builder, Application], None]] = {
    "scan": emit_scan,
    "argreduce": emit_argreduce,
    "store": emit_store,
    "scatter": emit_scatter,
    "nonzero": emit_nonzero,
    "size": emit_size,
}
