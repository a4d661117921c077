"""What can be computed of a traced function: its value, its gradients, pullbacks and tangents.

A mode derives a tensor-level function from a traced one (`derive`) and says how the results are
arranged (`arrange`). The same mode serves compiled programs and, inlined, transforms inside traced
functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradc import pytree
from gradc.ir.builder import Builder
from gradc.ir.ops.func import FuncOp, copy_function
from gradc.passes.backward import differentiate
from gradc.passes.dce import dce
from gradc.passes.forward import pushforward
from gradc.tracing import Result, ResultTree, Traced


class Mode(ABC):
    """Base of the modes; instances are hashable."""

    __slots__ = ()

    @abstractmethod
    def derive(self, traced: Traced) -> FuncOp:
        """The function to run: inputs of `traced.function`, then the mode's own inputs."""

    @abstractmethod
    def arrange(self, traced: Traced) -> ResultTree:
        """The tree of the derived function's results."""


@dataclass(frozen=True, slots=True)
class ValueMode(Mode):
    """The function's own results."""

    def derive(self, traced: Traced) -> FuncOp:
        return traced.function

    def arrange(self, traced: Traced) -> ResultTree:
        return ResultTree(traced.result)


@dataclass(frozen=True, slots=True)
class GradientMode(Mode):
    """The gradients of a scalar result with respect to positional arguments.

    argnums: one position, or a tuple of them (then the gradients are a tuple)
    with_value: results are (value, gradients), with has_aux ((value, aux), gradients); otherwise
        gradients, with has_aux (gradients, aux)
    bound: how many leading arguments the user does not pass, such as a method's self
    """

    argnums: int | tuple[int, ...]
    has_aux: bool = False
    holomorphic: bool = False
    allow_int: bool = False
    with_value: bool = True
    bound: int = 0

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.argnums,) if isinstance(self.argnums, int) else self.argnums

    def derive(self, traced: Traced) -> FuncOp:
        check_argnums(traced, self.positions, self.bound)
        # Arguments first: an integer argument often is why the result is one.
        wrt = wrt_inputs(traced, self.positions, self.allow_int, self.holomorphic)
        value = self.value(traced)
        function = differentiate(
            traced.function,
            wrt,
            name=f"{traced.function['sym_name']}_grad",
            keep_values=self._keeps_values,
            outputs=[value.position],
        )
        return conjugated(function, len(wrt)) if self.holomorphic else function

    @property
    def _keeps_values(self) -> bool:
        return self.with_value or self.has_aux

    def value(self, traced: Traced) -> Result:
        """The scalar that is differentiated; an error that says what came instead."""
        result = traced.result
        name = traced.function["sym_name"]
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"has_aux=True: expected {name} to return (value, aux), got "
                    f"{describe_result(traced)}"
                )
            result = result[0]
        if not isinstance(result, Result):
            raise TypeError(
                f"a gradient needs one scalar result, got {describe_result(traced)} from {name}: "
                f"return a "
                "number, or use has_aux=True for (value, aux), or gradc.vjp or gradc.jacobian"
            )
        if result.position < 0:
            raise TypeError(
                f"a gradient needs a result computed from the arguments, got {result.value!r} from "
                f"{name}"
            )
        type_ = traced.function.returned[result.position].type
        if type_.shape:
            raise TypeError(
                f"a gradient needs a scalar result, got {type_.dtype.name}{list(type_.shape)} from "
                f"{name}: reduce it (for instance with .sum() or .mean()), or use gradc.vjp or "
                "gradc.jacobian"
            )
        if type_.dtype.is_complex and not self.holomorphic:
            raise TypeError(
                f"a gradient needs a real result, got {type_.dtype.name} from {name}: return its "
                "real part or absolute value, or pass holomorphic=True for a holomorphic function"
            )
        if not type_.dtype.is_inexact:
            raise TypeError(
                f"a gradient needs a floating result, got {type_.dtype.name} from {name}"
            )
        if self.holomorphic and not type_.dtype.is_complex:
            raise TypeError(
                f"holomorphic=True needs a complex result, got {type_.dtype.name} from {name}"
            )
        return result

    def arrange(self, traced: Traced) -> ResultTree:
        first = len(traced.function.returned) if self._keeps_values else 0
        trees = gradient_trees(traced, self.positions, first)
        gradients = trees[0] if isinstance(self.argnums, int) else tuple(trees)
        if self.with_value:
            return ResultTree((traced.result, gradients))
        return ResultTree((gradients, traced.result[1]) if self.has_aux else gradients)


@dataclass(frozen=True, slots=True)
class PullbackMode(Mode):
    """Cotangents of positional arguments, given one cotangent for each floating or complex result.

    keep_values: the program computes the function's results too (they come first)
    """

    argnums: tuple[int, ...]
    keep_values: bool = False

    def derive(self, traced: Traced) -> FuncOp:
        wrt = wrt_inputs(traced, self.argnums, allow_int=True)
        return differentiate(
            traced.function,
            wrt,
            name=f"{traced.function['sym_name']}_vjp",
            keep_values=self.keep_values,
            cotangents="arguments",
        )

    def arrange(self, traced: Traced) -> ResultTree:
        first = len(traced.function.returned) if self.keep_values else 0
        return ResultTree(tuple(gradient_trees(traced, self.argnums, first)))


@dataclass(frozen=True, slots=True)
class TangentMode(Mode):
    """Results and their tangents, given one tangent for each floating or complex input leaf."""

    argnums: tuple[int, ...]

    def derive(self, traced: Traced) -> FuncOp:
        wrt = wrt_inputs(traced, self.argnums, allow_int=True)
        return pushforward(traced.function, wrt, name=f"{traced.function['sym_name']}_jvp")

    def arrange(self, traced: Traced) -> ResultTree:
        return ResultTree((traced.result, tangent_tree(traced)))


@dataclass(frozen=True, slots=True)
class HessianVectorMode(Mode):
    """The tangents of the gradients: forward over reverse."""

    argnums: tuple[int, ...]

    def derive(self, traced: Traced) -> FuncOp:
        gradient = GradientMode(self.argnums, with_value=False).derive(traced)
        wrt = wrt_inputs(traced, self.argnums, allow_int=True)
        both = pushforward(gradient, wrt, name=f"{traced.function['sym_name']}_hvp")
        return select_results(both, range(len(wrt), 2 * len(wrt)))

    def arrange(self, traced: Traced) -> ResultTree:
        return ResultTree(tuple(gradient_trees(traced, self.argnums, 0)))


# ---------------------------------------------------------------------------------- pieces
def wrt_leaves(traced: Traced, argnums: Sequence[int]) -> list[int]:
    """The floating and complex leaves of these arguments."""
    call = traced.call
    check_argnums(traced, argnums)
    found = []
    for argument in argnums:
        for k in call.argument_leaves(argument):
            type_ = call.kinds[k].type
            if type_ is not None and type_.dtype.is_inexact:
                found.append(k)
    return found


def check_argnums(traced: Traced, argnums: Sequence[int], bound: int = 0) -> None:
    """Raise ValueError for a position that the call does not have. The first `bound` arguments
    are not the user's, who counts from the next one."""
    count = traced.call.argument_count
    for argument in argnums:
        if not bound <= argument < count:
            raise ValueError(
                f"argnums={argument - bound}: {traced.function['sym_name']} was called with "
                f"{count - bound} positional argument{'s' * (count - bound != 1)} (keyword "
                "arguments are not differentiated)"
            )


def wrt_inputs(
    traced: Traced, argnums: Sequence[int], allow_int: bool = False, holomorphic: bool = False
) -> list[int]:
    """The inputs of the function for the leaves of these arguments that carry a gradient.

    Raises TypeError, with the path, for an integer, bool or static leaf unless allow_int is set.
    """
    leaves = wrt_leaves(traced, argnums)
    call = traced.call
    for argument in argnums:
        for k in call.argument_leaves(argument):
            leaf = call.kinds[k]
            if holomorphic and (leaf.type is None or not leaf.type.dtype.is_complex):
                raise TypeError(
                    f"holomorphic=True needs complex arguments, got {leaf.describe()} for "
                    f"{call.paths()[k]}"
                )
            if k in leaves or allow_int or (leaf.kind == "static" and leaf.value is None):
                continue
            convert = (
                "Pass a float (3.0 instead of 3)" if leaf.kind == "python"
                else "Convert it (for instance to float64)"
            )  # fmt: skip
            raise TypeError(
                f"the gradient with respect to {call.paths()[k]}, {leaf.describe()}: only floating "
                f"and complex arrays have gradients. {convert}, choose other arguments with "
                "argnums=, or pass allow_int=True to get None for it"
            )
    return [traced.input_number(k) for k in leaves]


def gradient_trees(traced: Traced, argnums: Sequence[int], first: int) -> list[Any]:
    """For each argument its tree of gradients; they are the program's results from `first` on."""
    call = traced.call
    leaves = wrt_leaves(traced, argnums)
    trees = []
    done = 0
    for argument in argnums:
        row: list[Any] = []
        for k in call.argument_leaves(argument):
            if k in leaves:
                kind = "array" if call.kinds[k].kind == "array" else "scalar"
                row.append(Result(first + done, kind))
                done += 1
            else:
                row.append(Result(-1, "static", None))
        trees.append(pytree.unflatten(call.argument_structure(argument), row))
    return trees


def tangent_tree(traced: Traced) -> Any:
    """The tree of the results' tangents, which follow the values; None for other leaves."""
    returned = traced.function.returned
    number: dict[int, int] = {}
    for k, value in enumerate(returned):
        if value.type.dtype.is_inexact:
            number[k] = len(returned) + len(number)
    leaves, structure = pytree.flatten(traced.result)
    row = [
        Result(number[r.position], "array" if r.kind == "array" else "scalar")
        if r.position in number
        else Result(-1, "static", None)
        for r in leaves
    ]
    return pytree.unflatten(structure, row)


def select_results(function: FuncOp, numbers: Sequence[int]) -> FuncOp:
    """Keep only these results of a function, in place; returns it."""
    terminator = function.body.terminator
    terminator.set_operands([terminator.operands[k] for k in numbers])
    function.update_type()
    dce(function)
    return function


def conjugated(function: FuncOp, count: int) -> FuncOp:
    """A function with its last `count` results conjugated: f'(z) from the gradient of f at z."""
    new = copy_function(function, function["sym_name"])
    returned = list(new.returned)
    terminator = new.body.terminator
    b = Builder(new.body, terminator.location, before=terminator)
    for k in range(len(returned) - count, len(returned)):
        returned[k] = b.conj(returned[k])
    terminator.set_operands(returned)
    return new


def describe_result(traced: Traced) -> str:
    """The result tree with types, for messages: `(f64[3], None)`."""
    leaves, structure = pytree.flatten(traced.result)

    class Shown:
        def __init__(self, text: str) -> None:
            self.text = text

        def __repr__(self) -> str:
            return self.text

    row = []
    for leaf in leaves:
        if leaf.position < 0:
            row.append(Shown(repr(leaf.value)))
        else:
            type_ = traced.function.returned[leaf.position].type
            row.append(Shown(f"{type_.dtype.name}{list(type_.shape)}"))
    return repr(pytree.unflatten(structure, row))
