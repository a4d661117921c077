"""Pass `plan`: from a tensor function to the `Program` that the runtime executes.

Everything between two host steps is one native call; without host steps the whole function is one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gradc.ir.core import Location, Operation
from gradc.ir.ops.func import FuncOp
from gradc.ir.program import ArraySpec, CallNative, Program
from gradc.ir.types import Dim, TensorType
from gradc.passes.bufferize import Buffers, bufferize
from gradc.passes.fuse import fuse
from gradc.passes.lower.emit_llvm import emit
from gradc.passes.lower.expand_math import expand_math
from gradc.passes.lower.loops import LoopFunction, lower_to_loops
from gradc.passes.release import release


def copy_function(function: FuncOp) -> FuncOp:
    copy: Operation = function.clone({})
    assert isinstance(copy, FuncOp)
    return copy


@dataclass
class Lowered:
    """The stages of one function's way to native code.

    seconds: what making each took: `fused`, `memory`, `loops`
    """

    fused: FuncOp
    buffers: Buffers
    loops: LoopFunction
    seconds: dict[str, float] = field(default_factory=dict)


def lower(function: FuncOp) -> Lowered:
    """Lower a simplified tensor function (left unchanged) to the loop level."""
    times = [time.perf_counter()]
    fused = copy_function(function)
    fuse(fused)
    times.append(time.perf_counter())
    buffers = bufferize(fused)
    release(buffers.function)
    times.append(time.perf_counter())
    loops = lower_to_loops(buffers, output_sizes(function))
    times.append(time.perf_counter())
    seconds = {
        stage: after - before
        for stage, before, after in zip(("fused", "memory", "loops"), times, times[1:])
    }
    return Lowered(fused, buffers, loops, seconds)


def output_sizes(function: FuncOp) -> list[Dim]:
    """The run-time sizes that results have, each once."""
    found: dict[str, Dim] = {}
    for value in function.returned:
        for n in value.type.shape:
            if isinstance(n, Dim):
                found[n.name] = n
    return list(found.values())


def plan(function: FuncOp) -> Program:
    """Compile a simplified tensor function to a Program of one native call."""
    lowered = lower(function)
    body = lowered.loops.function
    expand_math(body)
    module = emit(body)
    capacities = lowered.buffers.capacities
    place = function.location
    inputs = tuple(ArraySpec(v.type.shape, v.type.dtype, location=place) for v in function.args)
    outputs = tuple(output_spec(v.type, capacities, place) for v in function.returned)
    constants = tuple(lowered.buffers.constants)
    count = len(inputs) + len(outputs) + len(constants)
    return Program(
        inputs, outputs, constants, (CallNative(module, tuple(range(count))),),
        lowered.loops.arena_bytes, function["sym_name"],
    )  # fmt: skip


def output_spec(type: TensorType, capacities: dict[str, int], location: Location) -> ArraySpec:
    if type.is_static:
        return ArraySpec(type.shape, type.dtype, location=location)
    largest = tuple(capacities[n.name] if isinstance(n, Dim) else n for n in type.shape)
    return ArraySpec(type.shape, type.dtype, largest, location)
