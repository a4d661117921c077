"""Random straight-line tensor programs, as IR: every lowering class, in any combination."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import TensorType, f64, i64

UNARY = ("neg", "tanh", "sin", "exp", "abs", "square", "sigmoid", "relu")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
SIZES = (1, 2, 3, 4, 7, 17)


class ProgramMaker:
    """Draws one program from a random generator; values stay moderate, so that results compare."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def choose(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def make(self, inputs: int, steps: int, results: int) -> FuncOp:
        types = [TensorType(self.shape(), f64) for _ in range(inputs)]
        function = FuncOp.build("f", types)
        self.b = Builder(function.body)
        self.values: list[Value] = list(function.args)
        for _ in range(steps):
            self.values.append(self.bounded(self.step()))
        picked = [self.values[-1]]
        picked += [self.choose(self.values) for _ in range(results - 1)]
        return function.finish(picked)

    def shape(self) -> tuple[int, ...]:
        rank = self.choose((0, 1, 1, 2, 2, 2, 3))
        return tuple(self.choose(SIZES) for _ in range(rank))

    def bounded(self, x: Value) -> Value:
        """Keep magnitudes near one, in a smooth way."""
        return self.b.tanh(x) if self.rng.random() < 0.4 else x

    def operand(self, least_rank: int = 0) -> Value:
        fitting = [v for v in self.values if v.type.rank >= least_rank]
        if not fitting:
            fitting = [self.b.broadcast(self.values[0], shape=(3, 4), dims=())]
            self.values += fitting
        return self.choose(fitting[-6:])

    def like(self, x: Value) -> Value:
        """Another value with x's shape, by broadcasting or reducing if none is at hand."""
        same = [v for v in self.values if v.type == x.type]
        if len(same) > 1 or self.rng.random() < 0.5:
            return self.choose(same)
        scalars = [v for v in self.values if v.type.rank == 0]
        if scalars:
            return self.b.broadcast(self.choose(scalars), shape=x.type.shape, dims=())
        return self.choose(same)

    def step(self) -> Value:
        kinds = ("unary", "binary", "binary", "reduce", "broadcast", "move", "slice", "pad", "dot",
                 "gather", "store", "scan", "select", "concatenate", "normalise")  # fmt: skip
        made: Value = getattr(self, self.choose(kinds))()
        return made

    def unary(self) -> Value:
        made: Value = getattr(self.b, self.choose(UNARY))(self.operand())
        return made

    def binary(self) -> Value:
        x = self.operand()
        made: Value = getattr(self.b, self.choose(BINARY))(x, self.like(x))
        return made

    def reduce(self) -> Value:
        x = self.operand()
        axes = tuple(k for k in range(x.type.rank) if self.rng.random() < 0.5)
        kind = self.choose(("reduce_sum", "reduce_sum", "reduce_max", "reduce_min"))
        if 0 in x.type.shape:
            kind = "reduce_sum"
        found = getattr(self.b, kind)(x, axes=axes)
        count = max(1, int(np.prod([x.type.shape[a] for a in axes])))
        return self.b.div(found, float(count))

    def broadcast(self) -> Value:
        x = self.operand()
        if x.type.rank > 2:
            return self.b.neg(x)
        shape = list(x.type.shape)
        dims = list(range(len(shape)))
        at = int(self.rng.integers(len(shape) + 1))
        shape.insert(at, self.choose(SIZES))
        dims = [d + (d >= at) for d in dims]
        return self.b.broadcast(x, shape=tuple(shape), dims=tuple(dims))

    def move(self) -> Value:
        x = self.operand(1)
        if self.rng.random() < 0.5:
            perm = tuple(int(k) for k in self.rng.permutation(x.type.rank))
            return self.b.transpose(x, perm=perm)
        size = x.type.size
        shapes = [(size,), (1, size), (size, 1)]
        shapes += [(k, size // k) for k in (2, 3) if size and size % k == 0]
        return self.b.reshape(x, shape=self.choose(shapes))

    def slice(self) -> Value:
        x = self.operand(1)
        starts, sizes, steps = [], [], []
        for n in x.type.shape:
            step = self.choose((1, 1, 2, -1))
            size = int(self.rng.integers(1, max(2, (n + abs(step) - 1) // abs(step) + 1)))
            span = abs(step) * (size - 1)
            first = int(self.rng.integers(0, n - span))
            starts.append(first if step > 0 else first + span)
            sizes.append(size)
            steps.append(step)
        return self.b.slice(x, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))

    def pad(self) -> Value:
        x = self.operand(1)
        low, high = (tuple(int(self.rng.integers(0, 3)) for _ in x.type.shape) for _ in range(2))
        fill = self.b.full(float(self.choose((0, 1))), TensorType((), f64))
        return self.b.pad(x, fill, low=low, high=high)

    def dot(self) -> Value:
        x = self.operand(1)
        axis = int(self.rng.integers(x.type.rank))
        n = x.type.shape[axis]
        fitting = [v for v in self.values if n in v.type.shape]
        y = self.choose(fitting)
        other = y.type.shape.index(n)
        if x.type.rank + y.type.rank > 5:
            return self.b.sin(x)
        found = self.b.dot_general(x, y, contract=((axis,), (other,)), batch=((), ()))
        return self.b.div(found, float(n))

    def gather(self) -> Value:
        x = self.operand(1)
        axis = int(self.rng.integers(x.type.rank))
        index = self.rng.integers(0, x.type.shape[axis], size=self.choose((1, 3, 5)))
        index.setflags(write=False)
        at = self.b.constant(value=index, type=TensorType(index.shape, i64))
        return self.b.gather(x, at, axes=(axis,))

    def store(self) -> Value:
        x = self.operand(1)
        sizes = tuple(int(self.rng.integers(1, n + 1)) for n in x.type.shape)
        starts = tuple(
            int(self.rng.integers(0, n - s + 1)) for n, s in zip(x.type.shape, sizes, strict=True)
        )
        steps = (1,) * len(sizes)
        source = self.b.sin(self.b.slice(x, starts=(0,) * len(sizes), sizes=sizes, steps=steps))
        kind = self.choose((self.b.update_slice, self.b.accumulate_slice))
        made: Value = kind(x, source, starts=starts, steps=steps)
        return made

    def scan(self) -> Value:
        x = self.operand(1)
        axis = int(self.rng.integers(x.type.rank))
        kind = self.choose((self.b.cumsum, self.b.cumprod))
        return self.b.tanh(kind(x, axis=axis, reverse=self.rng.random() < 0.5, exclusive=False))

    def select(self) -> Value:
        x = self.operand()
        return self.b.select(self.b.gt(x, self.like(x)), self.b.sin(x), self.like(x))

    def concatenate(self) -> Value:
        x = self.operand(1)
        axis = int(self.rng.integers(x.type.rank))
        return self.b.concatenate(x, self.b.neg(x), self.like(x), axis=axis)

    def normalise(self) -> Value:
        """A row-wise normalisation: dependent reductions over one axis."""
        x = self.operand(1)
        axis = int(self.rng.integers(x.type.rank))
        kept = tuple(k for k in range(x.type.rank) if k != axis)
        peak = self.b.reduce_max(x, axes=(axis,))
        e = self.b.exp(self.b.sub(x, self.b.broadcast(peak, shape=x.type.shape, dims=kept)))
        total = self.b.reduce_sum(e, axes=(axis,))
        return self.b.div(e, self.b.broadcast(total, shape=x.type.shape, dims=kept))


def arguments(rng: np.random.Generator, function: FuncOp) -> list[Any]:
    return [rng.uniform(-1.5, 1.5, v.type.shape) for v in function.args]
