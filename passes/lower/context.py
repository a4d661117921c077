"""What the lowering of one operation needs of the function that it stands in."""

from __future__ import annotations

from dataclasses import dataclass

from gradc.ir.core import Value
from gradc.passes.lower.access import Array
from gradc.passes.lower.scratch import Scratch


@dataclass
class Context:
    """What the emission of a nest needs of its function.

    arrays:  storage of the values outside the nest;  sizes: index values of run-time sizes, by name
    scratch: gives out bytes of the arena for storage inside the nest
    """

    arrays: dict[Value, Array]
    sizes: dict[str, Value]
    scratch: Scratch
