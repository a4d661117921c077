"""np.einsum with its full syntax: several operands, ellipses, repeated and implicit subscripts,
lists.

Operands are contracted two at a time in the order of np.einsum_path. Where nothing is summed, or
each result element has its own short sum ("ij,ij->i"), the product is elementwise, which fuses;
otherwise it is nd.dot_general.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.frontend.promotion import (
    as_tracer,
    broadcast_to,
    result_type,
    size_equal,
    typed,
)  # fmt: skip
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply
from gradc.frontend.tracer import Tracer
from gradc.ir.types import Dim
from gradc.numpy_functions.contraction import contract
from gradc.numpy_functions.reductions import refuse_out, sum_
from gradc.numpy_functions.shaping import as_view

# A label is a letter, or an int for an axis that an ellipsis stands for (-1 is the last).
Labels = tuple[Any, ...]


@implements(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = True, dtype: Any = None,
           order: str = "K", casting: str = "safe") -> Tracer:  # fmt: skip
    refuse_out(out, "einsum")
    text, given = _subscripts(operands)
    arrays = [as_tracer(x) for x in given]
    kind = result_type(*arrays) if dtype is None else np.dtype(dtype)
    tracers = [typed(x, kind) for x in arrays]
    inputs, output = _labels(text, tracers)
    if not tracers:
        raise ValueError("must specify at least one operand to einsum")
    sizes = _sizes(inputs, tracers)
    terms = [_single(x, labels, sizes) for x, labels in zip(tracers, inputs)]
    for pair in _path(text, tracers, optimize):
        chosen = [terms[k] for k in pair]
        terms = [t for k, t in enumerate(terms) if k not in pair]
        needed = {*output, *(n for _, labels in terms for n in labels)}
        joined = chosen[0]
        for other in chosen[1:]:
            joined = _join(joined, other, needed)
        terms.append(joined)
    (found, labels), *_ = terms
    spare = tuple(k for k, n in enumerate(labels) if n not in output)
    if spare:
        found = _sum(found, spare)
        labels = tuple(n for n in labels if n in output)
    whole = len(given) == 1 and len(output) == len(set(inputs[0]))
    found = _ordered(found, labels, output, sizes)
    if whole and output:
        return as_view(found, given[0], ("einsum", text))
    return Tracer(found.value, found.owner)


# -------------------------------------------------------------------------------- subscripts


def _subscripts(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The subscripts as text and the operands; reads the form with lists of ints too."""
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    rest = list(operands)
    arrays, lists = [], []
    while len(rest) >= 2:
        arrays.append(rest.pop(0))
        lists.append(rest.pop(0))
    text = ",".join(map(_letters, lists))
    return (f"{text}->{_letters(rest[0])}" if rest else text), arrays


def _letters(items: Any) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join("..." if k is Ellipsis else letters[int(k)] for k in items)


def _labels(text: str, tracers: list[Tracer]) -> tuple[list[Labels], Labels]:
    """Labels of each operand and of the result."""
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(tracers):
        raise ValueError(
            f"einsum {text!r}: {len(parts)} operand subscripts, but {len(tracers)} operands "
            "were given"
        )
    inputs = [_operand_labels(p, x, text) for p, x in zip(parts, tracers)]
    widest = max((sum(isinstance(n, int) for n in labels) for labels in inputs), default=0)
    dots = tuple(range(-widest, 0))
    if not arrow:
        letters = [n for labels in inputs for n in labels if isinstance(n, str)]
        return inputs, (*dots, *sorted(n for n in set(letters) if letters.count(n) == 1))
    before, ellipsis, after = right.partition("...")
    output = (*before, *(dots if ellipsis else ()), *after)
    known = {n for labels in inputs for n in labels}
    for n in output:
        if n not in known:
            raise ValueError(
                f"einsum {text!r}: the output subscript {n!r} does not appear in any operand"
            )
    if len(set(output)) != len(output):
        raise ValueError(f"einsum {text!r}: an output subscript appears more than once")
    if dots and not ellipsis:
        raise ValueError(
            f"einsum {text!r}: the output has no ellipsis, but an operand's ellipsis stands for "
            "axes"
        )
    return inputs, output


def _operand_labels(part: str, x: Tracer, text: str) -> Labels:
    before, ellipsis, after = part.partition("...")
    for letter in before + after:
        if not letter.isalpha():
            raise ValueError(f"einsum {text!r}: {letter!r} is not a valid subscript")
    named = len(before) + len(after)
    if (not ellipsis and named != x.ndim) or named > x.ndim:
        raise ValueError(
            f"einsum {text!r}: the subscripts {part!r} do not fit an operand of {x.ndim} dimensions"
        )
    return (*before, *range(named - x.ndim, 0), *after) if ellipsis else tuple(before)


def _sizes(inputs: list[Labels], tracers: list[Tracer]) -> dict[Any, Any]:
    sizes: dict[Any, Any] = {}
    for labels, x in zip(inputs, tracers):
        for label, n in zip(labels, x.shape):
            known = sizes.get(label, 1)
            if known == 1:
                sizes[label] = n
            elif n != 1 and not size_equal(n, known):
                raise ValueError(
                    f"einsum: operands could not be broadcast together: subscript {label!r} has "
                    f"sizes {known} and {n}"
                )
    return sizes


def _path(text: str, tracers: list[Tracer], optimize: Any) -> list[tuple[int, ...]]:
    """Which terms to join, step by step."""
    count = len(tracers)
    if count == 1:
        return []
    if count == 2:
        return [(0, 1)]
    if any(isinstance(n, Dim) for x in tracers for n in x.shape):
        return [(0, 1)] * (count - 1)
    if isinstance(optimize, list | tuple) and optimize and optimize[0] == "einsum_path":
        return [tuple(step) for step in optimize[1:]]
    shown = [np.broadcast_to(np.float64(0), x.shape) for x in tracers]
    path, _ = np.einsum_path(text, *shown, optimize="greedy")
    return [tuple(step) for step in path[1:]]


# ----------------------------------------------------------------------------------- products


def _sum(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    if x.element.is_bool:
        return apply("reduce_any", x, axes=axes)
    return sum_(x, axes, dtype=x.dtype)


def _single(x: Tracer, labels: Labels, sizes: dict[Any, Any]) -> tuple[Tracer, Labels]:
    """Diagonals of repeated labels taken, and axes that are only repeated (size 1 of n) dropped."""
    for label in dict.fromkeys(labels):
        places = [k for k, n in enumerate(labels) if n == label]
        while len(places) > 1:
            first, second = places[0], places[1]
            if x.shape[first] != x.shape[second]:
                raise ValueError(
                    f"einsum: dimensions {x.shape[first]} and {x.shape[second]} of subscript "
                    f"{label!r} of one operand differ"
                )
            x = TABLE[np.diagonal](x, 0, first, second)  # the diagonal becomes the last axis
            rest = tuple(n for k, n in enumerate(labels) if k not in (first, second))
            labels = (*rest, label)
            places = [k for k, n in enumerate(labels) if n == label]
    repeated = tuple(k for k, n in enumerate(labels) if x.shape[k] == 1 and sizes[n] != 1)
    if repeated:
        shape = tuple(n for k, n in enumerate(x.shape) if k not in repeated)
        x = apply("reshape", x, shape=shape)
        labels = tuple(n for k, n in enumerate(labels) if k not in repeated)
    return x, labels


def _join(
    first: tuple[Tracer, Labels], second: tuple[Tracer, Labels], needed: set[Any]
) -> tuple[Tracer, Labels]:
    """The product of two terms, summed over the labels that nothing else needs."""
    (x, xs), (y, ys) = _lone_summed(first, second, needed), _lone_summed(second, first, needed)
    shared = [n for n in xs if n in ys]
    batch = [n for n in shared if n in needed]
    summed = [n for n in shared if n not in needed]
    free_x = [n for n in xs if n not in ys]
    free_y = [n for n in ys if n not in xs]
    if not summed or (batch and not free_x and not free_y):
        labels = (*batch, *free_x, *free_y, *summed)
        product = TABLE[np.multiply](_aligned(x, xs, labels), _aligned(y, ys, labels))
        if summed:
            product = _sum(product, tuple(range(len(labels) - len(summed), len(labels))))
        return product, labels[: len(labels) - len(summed)]
    found = contract(
        x,
        y,
        tuple(xs.index(n) for n in summed),
        tuple(ys.index(n) for n in summed),
        (tuple(xs.index(n) for n in batch), tuple(ys.index(n) for n in batch)),
    )
    return found, (*batch, *free_x, *free_y)


def _lone_summed(
    term: tuple[Tracer, Labels], other: tuple[Tracer, Labels], needed: set[Any]
) -> tuple[Tracer, Labels]:
    """Sum over the labels that only this term has."""
    x, labels = term
    lone = tuple(k for k, n in enumerate(labels) if n not in needed and n not in other[1])
    if not lone:
        return term
    return _sum(x, lone), tuple(n for k, n in enumerate(labels) if k not in lone)


def _aligned(x: Tracer, own: Labels, labels: Labels) -> Tracer:
    """x with its axes in the order of `labels`, size 1 where it has none."""
    order = tuple(own.index(n) for n in labels if n in own)
    if order != tuple(range(len(order))):
        x = apply("transpose", x, perm=order)
    sizes = iter(x.shape)
    shape = tuple(next(sizes) if n in own else 1 for n in labels)
    return x if shape == x.shape else apply("reshape", x, shape=shape)


def _ordered(x: Tracer, labels: Labels, output: Labels, sizes: dict[Any, Any]) -> Tracer:
    found = _aligned(x, labels, output)
    return broadcast_to(found, tuple(sizes[n] for n in output))


@implements(np.einsum_path)
def einsum_path(*operands: Any, **options: Any) -> Any:
    """By shapes alone."""
    text, given = _subscripts(operands)
    shapes = [as_tracer(x).static_shape("np.einsum_path") for x in given]
    return np.einsum_path(text, *[np.broadcast_to(np.float64(0), s) for s in shapes], **options)
