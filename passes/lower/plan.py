"""From a tensor function to the `Program` that the runtime executes: the last passes in order.

Everything between two host steps is one native call; without host steps the whole function is one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gradc.ir.core import Location
from gradc.ir.ops.func import FuncOp, copy_function
from gradc.ir.program import ArraySpec, CallNative, Program
from gradc.ir.types import Dim, TensorType
from gradc.passes.bufferize import bufferize
from gradc.passes.fuse import fuse
from gradc.passes.lower.emit_llvm import emit
from gradc.passes.lower.expand_math import expand_math
from gradc.passes.lower.loops import lower_to_loops
from gradc.passes.release import release


@dataclass
class Lowered:
    """The stages of one function's way to native code.

    seconds: what making each took: `fused`, `memory`, `loops`
    """

    fused: FuncOp
    memory: FuncOp
    loops: FuncOp
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def arena_bytes(self) -> int:
        """The peak of temporary storage."""
        (size,) = self.loops.args[-1].type.shape
        found: int = size
        return found


def lower(function: FuncOp) -> Lowered:
    """Lower a simplified tensor function (left unchanged) to the loop level."""
    times = [time.perf_counter()]
    fused = copy_function(function)
    fuse(fused)
    times.append(time.perf_counter())
    memory = bufferize(fused)
    release(memory)
    times.append(time.perf_counter())
    loops = lower_to_loops(memory)
    times.append(time.perf_counter())
    seconds = {
        stage: after - before
        for stage, before, after in zip(("fused", "memory", "loops"), times, times[1:])
    }
    return Lowered(fused, memory, loops, seconds)


def plan(function: FuncOp) -> Program:
    """Compile a simplified tensor function to a Program of one native call."""
    lowered = lower(function)
    body = lowered.loops
    expand_math(body)
    module = emit(body)
    capacities = lowered.memory.attributes.get("capacities", {})
    place = function.location
    inputs = tuple(ArraySpec(v.type.shape, v.type.dtype, location=place) for v in function.args)
    outputs = tuple(output_spec(v.type, capacities, place) for v in function.returned)
    constants = lowered.memory.attributes.get("constants", ())
    count = len(inputs) + len(outputs) + len(constants)
    return Program(
        inputs, outputs, constants, (CallNative(module, tuple(range(count))),),
        lowered.arena_bytes, function["sym_name"],
    )  # fmt: skip


def output_spec(type: TensorType, capacities: dict[str, int], location: Location) -> ArraySpec:
    if type.is_static:
        return ArraySpec(type.shape, type.dtype, location=location)
    largest = tuple(capacities[n.name] if isinstance(n, Dim) else n for n in type.shape)
    return ArraySpec(type.shape, type.dtype, largest, location)
