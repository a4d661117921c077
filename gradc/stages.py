"""The stages between a traced function and the machine code of its gradient.

`f.ir`, `gradc dump` and `gradc demo` read them here. Each stage is made once, from the one before,
when it is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gradc.ir.ops.func import FuncOp, ModuleOp
from gradc.ir.printer import print_module, print_pretty
from gradc.modes import GradientMode, Mode, PullbackMode, check_argnums, wrt_inputs
from gradc.passes.lower.emit_llvm import emit
from gradc.passes.lower.emit_python import emit_python
from gradc.passes.lower.expand_math import expand_math
from gradc.passes.lower.plan import Lowered, lower
from gradc.pipeline import simplified
from gradc.runtime.compile import assembly
from gradc.tracing import Traced

IR_STAGES = ("trace", "grad", "simplified", "fused", "memory", "loops")
TEXT_STAGES = ("numba", "llvm", "asm")
STAGES = (*IR_STAGES, *TEXT_STAGES)


def checked_stage(stage: str) -> str:
    """The stage; ValueError for an unknown one."""
    if stage not in STAGES:
        raise ValueError(f"expected a stage of {', '.join(STAGES)}, got {stage!r}")
    return stage


def gradient_mode(traced: Traced, mode: GradientMode) -> Mode:
    """`mode`, or where the result is no real scalar its pullback, which takes a cotangent for each
    floating or complex result.

    Raises TypeError for what has no gradient: integer arguments, results that are all integers.
    """
    try:
        mode.value(traced)
    except TypeError:
        if mode.has_aux or not any(v.type.dtype.is_inexact for v in traced.function.returned):
            raise
        check_argnums(traced, mode.positions, mode.bound)
        wrt_inputs(traced, mode.positions, mode.allow_int, mode.holomorphic)
        return PullbackMode(mode.positions, keep_values=True)
    return mode


class Stages:
    """The stages of a traced function and one mode of its gradient.

    seconds: what making each stage took, for those made so far (`trace` was made before)
    arena_bytes: the peak of temporary storage; known from the stage `loops` on
    """

    def __init__(self, traced: Traced, mode: GradientMode) -> None:
        self.traced = traced
        self.seconds: dict[str, float] = {}
        self._mode = mode
        self._functions: dict[str, FuncOp] = {"trace": traced.function}
        self._lowered: Lowered | None = None
        self._texts: dict[str, str] = {}

    def function(self, stage: str) -> FuncOp:
        """The function at one of IR_STAGES. Not to be changed: later stages are made from it."""
        if stage not in self._functions:
            if stage == "grad":
                mode = gradient_mode(self.traced, self._mode)
                self._functions[stage] = self._timed(stage, mode.derive, self.traced)
            elif stage == "simplified":
                self._functions[stage] = self._timed(stage, simplified, self.function("grad"))
            else:
                self._lower()
        return self._functions[stage]

    def text(self, stage: str, pretty: bool = True) -> str:
        """The text of any stage. IR prints in a form for people, or as MLIR's generic form.

        Raises ValueError for an unknown stage, TypeError where there is no gradient.
        """
        if checked_stage(stage) in IR_STAGES:
            function = self.function(stage)
            if pretty:
                return print_pretty(function)
            return print_module(ModuleOp.build([function.clone({})]))
        if stage not in self._texts:
            source: Any = self.text("llvm") if stage == "asm" else self.function("loops")
            self._texts[stage] = self._timed(stage, _WRITERS[stage], source)
        return self._texts[stage]

    @property
    def arena_bytes(self) -> int:
        return self._lower().arena_bytes

    def _lower(self) -> Lowered:
        if self._lowered is None:
            found = self._lowered = lower(self.function("simplified"))
            self.seconds.update(found.seconds)
            self._functions["fused"] = found.fused
            self._functions["memory"] = found.memory
            self._functions["loops"] = found.loops
        return self._lowered

    def _timed(self, stage: str, make: Callable[[Any], Any], source: Any) -> Any:
        start = time.perf_counter()
        made = make(source)
        self.seconds[stage] = time.perf_counter() - start
        return made


def _llvm(loops: FuncOp) -> str:
    expanded = loops.clone({})
    assert isinstance(expanded, FuncOp)
    expand_math(expanded)
    return emit(expanded).text


_WRITERS: dict[str, Callable[[Any], str]] = {
    "numba": emit_python,
    "llvm": _llvm,
    "asm": assembly,
}
