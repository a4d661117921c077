"""What the lowering of one operation needs of the function that it stands in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.ops import scf
from gradc.ir.types import Dim
from gradc.passes.lower.access import Array, index_constant
from gradc.passes.lower.scratch import Scratch

Body = Callable[[Builder, list[Value]], None]


@dataclass
class Context:
    """What the emission of a nest needs of its function.

    arrays:  storage of the values outside the nest;  sizes: index values of run-time sizes, by name
    scratch: gives out bytes of the arena for storage inside the nest
    """

    arrays: dict[Value, Array]
    sizes: dict[str, Value]
    scratch: Scratch

    def size(self, b: Builder, size: Any) -> Value:
        """A size as an index value."""
        return self.sizes[size.name] if isinstance(size, Dim) else index_constant(b, size)

    def over(self, b: Builder, sizes: Sequence[Any], body: Body) -> None:
        """Plain loops over sizes around body(builder, indices)."""

        def level(inner: Builder, k: int, ivs: list[Value]) -> None:
            if k == len(sizes):
                body(inner, ivs)
                return

            def step(deep: Builder, iv: Value) -> Sequence[Value]:
                deep.location = b.location
                level(deep, k + 1, [*ivs, iv])
                return ()

            zero, one = index_constant(inner, 0), index_constant(inner, 1)
            scf.for_(inner, zero, self.size(inner, sizes[k]), one, (), step)

        level(b, 0, [])
