"""Compiled functions."""

from __future__ import annotations

import copy
import functools
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

from gradc.engine import Engine
from gradc.modes import GradientMode, ValueMode
from gradc.resolve import Resolved, Transform, bound_to, resolve
from gradc.signature import keyword_names, parameter_names
from gradc.stages import Stages, checked_stage
from gradc.transforms import checked_argnums, shifted


class CompiledFunction(Transform):
    """A function that is traced and compiled when called; made by `gradc.compile`.

    Calling it gives the function's result. `value_and_grad` and `grad` give gradients with the
    argnums and has_aux of `compile`. On a class it is a method.
    """

    __name__: str  # the function's

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        argnums: int | Sequence[int] = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
        static_argnames: str | Iterable[str] = (),
        static_argnums: int | Iterable[int] = (),
        no_rewrite: Iterable[Any] = (),
    ) -> None:
        self._options = {
            "argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic,
            "static_argnames": static_argnames, "static_argnums": static_argnums,
            "no_rewrite": no_rewrite,
        }  # fmt: skip
        self.function = function
        self._instance: Any = None
        functools.update_wrapper(self, function, updated=())
        opened = resolve(function)
        names = parameter_names(opened.function)
        bound = len(opened.args)
        accepted = keyword_names(opened.function)
        engine = Engine(
            opened.function,
            _static_names(
                names[bound:],
                None if accepted is None else accepted[bound:],
                static_argnames,
                static_argnums,
            ),
            tuple(getattr(m, "__name__", m) for m in no_rewrite),
        )
        self._setup(
            Resolved(engine, opened.function, opened.args, opened.keywords),
            GradientMode(checked_argnums(argnums), has_aux, holomorphic),
        )

    def _setup(self, target: Resolved, mode: GradientMode) -> None:
        self._target = target
        self._mode = mode
        shift = len(target.args)
        engine = target.engine
        self._value = engine.dispatcher(ValueMode())
        argnums = shifted(mode.argnums, shift)
        options = (mode.has_aux, mode.holomorphic, mode.allow_int)
        self._both = engine.dispatcher(GradientMode(argnums, *options, True, bound=shift))
        self._gradient = engine.dispatcher(GradientMode(argnums, *options, False, bound=shift))
        self._plain = not target.args and not target.keywords

    def _all(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (*self._target.args, *args), {**self._target.keywords, **kwargs}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._plain:
            args, kwargs = self._all(args, kwargs)
        return self._value(self._target.function, args, kwargs)

    def value_and_grad(self, *args: Any, **kwargs: Any) -> Any:
        """(value, gradients) at these arguments; with has_aux ((value, aux), gradients)."""
        if not self._plain:
            args, kwargs = self._all(args, kwargs)
        return self._both(self._target.function, args, kwargs)

    def grad(self, *args: Any, **kwargs: Any) -> Any:
        """The gradients at these arguments; with has_aux (gradients, aux)."""
        if not self._plain:
            args, kwargs = self._all(args, kwargs)
        return self._gradient(self._target.function, args, kwargs)

    def ir(self, stage: str = "grad", *args: Any, pretty: bool = True, **kwargs: Any) -> str:
        """The IR of the value and gradient at a stage: trace, grad, simplified, fused, memory,
        loops, numba, llvm or asm (`trace` is the function alone). Without arguments, of the last
        call.

        A function whose result is not one real scalar gains a cotangent argument.
        Raises ValueError for an unknown stage, RuntimeError without arguments before the first
        call.
        """
        checked_stage(stage)
        if args or kwargs:
            return self.stages_at(args, kwargs).text(stage, pretty)
        traced = self._target.engine.last_traced
        if traced is None:
            raise RuntimeError(
                f"{self._target.engine.label} has not been called yet: give example arguments, "
                "f.ir(stage, *args)"
            )
        return Stages(traced, self._gradient_mode).text(stage, pretty)

    def stages_at(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stages:
        """The stages of the value and gradient at these arguments."""
        all_args, all_kwargs = self._all(args, kwargs)
        target = self._target
        traced = target.engine.bind(target.function, all_args, all_kwargs).traced
        return Stages(traced, self._gradient_mode)

    @property
    def argnums(self) -> tuple[int, ...]:
        """The positions that value_and_grad and grad differentiate."""
        return self._mode.positions

    @property
    def _gradient_mode(self) -> GradientMode:
        mode = self._both.mode
        assert isinstance(mode, GradientMode)
        return mode

    def with_argnums(self, argnums: int | Sequence[int]) -> CompiledFunction:
        """The same function, whose value_and_grad and grad use other argnums."""
        m = self._mode
        mode = GradientMode(checked_argnums(argnums), m.has_aux, m.holomorphic, m.allow_int)
        new = self._copy(self._target, mode)
        new._options = {**self._options, "argnums": argnums}
        return new

    def _copy(self, target: Resolved, mode: GradientMode) -> CompiledFunction:
        new = object.__new__(CompiledFunction)
        new.__dict__.update(self.__dict__)
        new._setup(target, mode)
        return new

    def explain(self) -> str:
        """How often the function was traced, and why each time."""
        return self._target.engine.explain()

    def __get__(self, instance: Any, owner: type | None = None) -> CompiledFunction:
        first = bound_to(self.function, instance, owner)
        if first is None:
            return self
        target = self._target
        bound = self._copy(
            Resolved(target.engine, target.function, (*target.args, first), target.keywords),
            self._mode,
        )
        bound._instance = first
        return bound

    def resolved(self) -> Resolved:
        return self._target

    def __copy__(self) -> CompiledFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        """The same function, bound to copies of the objects that it is bound to."""
        target = self._target
        if self._plain:
            return self
        args, keywords = copy.deepcopy((target.args, target.keywords), memo)
        return self._copy(Resolved(target.engine, target.function, args, keywords), self._mode)

    def __reduce__(self) -> Any:
        if self._instance is not None:
            return getattr, (self._instance, self.__name__)
        name = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return _by_name, (self.__module__, name)
        if found is self.function or not isinstance(self.function, FunctionType):
            return _compiled, (self.function, self._options)
        raise pickle.PicklingError(
            f"a compiled function is pickled by its qualified name, but {self.__module__}.{name} "
            "is another object: define it at the top of a module"
        )

    def __repr__(self) -> str:
        return f"<gradc.compile of {self.function!r}>"


def _by_name(module: str, name: str) -> Any:
    __import__(module)
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _compiled(function: Any, options: dict[str, Any]) -> CompiledFunction:
    return CompiledFunction(function, **options)


def _static_names(
    names: Sequence[str], accepted: Sequence[str] | None, by_name: Any, by_position: Any
) -> frozenset[str]:
    """The names of static parameters. `names` are the positional ones, `accepted` those that a
    call may give (None for any)."""
    by_name = (by_name,) if isinstance(by_name, str) else tuple(by_name)
    for name in by_name:
        if accepted is not None and name not in accepted:
            known = f"one of {', '.join(accepted)}" if accepted else "none: it has no arguments"
            raise ValueError(
                f"static_argnames: expected names of the function's arguments, {known}; got "
                f"{name!r}"
            )
    positions = (by_position,) if isinstance(by_position, int) else tuple(by_position)
    for position in positions:
        if not 0 <= position < len(names):
            raise ValueError(
                f"static_argnums: expected positions in [0, {len(names)}), got {position}"
            )
    return frozenset((*by_name, *(names[k] for k in positions)))


def compile(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a plain NumPy function: traced when called, differentiated, run as native code.

        @gradc.compile
        def loss(params, x, y): ...

        value, gradients = loss.value_and_grad(params, x, y)

    argnums, has_aux, holomorphic: what value_and_grad and grad use (see gradc.value_and_grad)
    static_argnames, static_argnums: arguments that are part of the program (hashable; traced again
        when they change). Bools, strings, None, enums and functions are static by themselves
    no_rewrite: modules (or their names) whose functions run as they are

    Works on functions, lambdas, methods and callable objects, with or without parentheses.
    Raises TypeError for something that is not callable or an unknown option, ValueError for static
    arguments that the function does not have.
    """
    if function is None:
        return lambda decorated: CompiledFunction(decorated, **options)
    return CompiledFunction(function, **options)
