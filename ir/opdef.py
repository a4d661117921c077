"""What an operation definition is, and the registry.

One op, one place: a class states all that gradc knows of an operation, and the tracer, the chain
rule, the passes, the printers, the docs and the tests read it from there.

    class Tanh(Elementwise, name="nd.tanh"):
        '''Elementwise hyperbolic tangent.'''
        infer = same_type(INEXACT)            # type rule = verifier
        evaluate = np.tanh                    # reference meaning; also the NumPy name it serves
        scalar = "tanh"                       # payload of its lowering class
        cost = 20                             # arithmetic operations an element, for the fuser
        samples = floats(-4, 4)               # feeds the contract test

        def vjp(b, op, g):
            y = op.result
            return [b.mul(g, b.sub(1.0, b.mul(y, y)))]

`infer`, `evaluate`, `vjp`, `masked_vjp`, `scalar`, `samples`, `simplify`, `pieces` are written as
plain functions without self; the class turns them into static methods.

infer(*operand_types, **attributes) -> Type or tuple of Types; raises TypeRuleError with a message.
    An op with regions gets them as the keyword `regions`.
evaluate(*arrays, **attributes) -> array or tuple of arrays: NumPy only, no side effects, operands
    unchanged.
vjp(b, op, *gs) -> one entry for each operand: a cotangent Value of exactly the operand's type, an
    `Accumulate`, or None (no gradient flows there). `gs` has one cotangent for each result, never
    None. Rules build through `b` alone and read op.operands, op.results, op["attribute"]. A rule
    that is `NOT_DIFFERENTIABLE` cuts the gradient on purpose (floor, comparisons); a missing rule
    is an error.
masked_vjp(b, op, *gs) -> as vjp, where an entry may also be a pair (value, live): the cotangent is
    `value` where `live` (i1, the operand's shape) holds and exactly zero elsewhere, whatever
    `value` is there. Ops that choose among their operands (select, maximum, clip) write this one
    instead of `vjp`, which follows from it: select(live, value, 0). `live` comes from conditions on
    the operands, never from the cotangent.
simplify(b, op) -> list of Values that replace the results, or None: local rewrites for
    `canonicalize`; they keep the value and the gradient bit for bit at every point, NaN, inf and
    signed zeros included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from gradc.ir.affine import AffineMap
from gradc.ir.core import Operation, Value
from gradc.ir.types import ScalarType, Type

REGISTRY: dict[str, type[Op]] = {}
_STATIC = (
    "infer", "evaluate", "vjp", "masked_vjp", "scalar", "samples", "simplify", "pieces", "identity",
    "pretty", "verify", "combine", "merge", "finite_slope_at", "reverse", "push", "capacity",
)  # fmt: skip


class _NotDifferentiable:
    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


NOT_DIFFERENTIABLE: Any = _NotDifferentiable()


@dataclass(frozen=True, slots=True)
class Accumulate:
    """A rule's answer that adds into the operand's running cotangent instead of making a new array.

    add(b, running) -> running + this contribution, as one operation on the whole array
    """

    add: Callable[[Any, Value], Value]


def _selected(masked_vjp: Callable[..., Any]) -> Callable[..., Any]:
    """The plain rule that follows from a masked one: zero wherever the cotangent is not live."""

    def vjp(b: Any, op: Any, *gs: Any) -> list[Any]:
        found = []
        for entry in masked_vjp(b, op, *gs):
            if isinstance(entry, tuple):
                value, live = entry
                entry = b.select(live, value, b.zeros(value.type))
            found.append(entry)
        return found

    return vjp


class Op(Operation):
    """Base of all registered operations."""

    __slots__ = ()

    infer: ClassVar[Callable[..., Any]]
    evaluate: ClassVar[Callable[..., Any] | None] = None
    vjp: ClassVar[Any] = None
    masked_vjp: ClassVar[Callable[..., Any] | None] = None
    reverse: ClassVar[Any] = None  # vjp of an op with regions: reverse(driver, op, cotangents)
    push: ClassVar[Any] = None  # its tangents: push(b, op, tangents, active)
    samples: ClassVar[Any] = None
    simplify: ClassVar[Callable[..., Any] | None] = None
    pretty: ClassVar[Any] = None  # its text for people, see printer.py
    verify: ClassVar[Any] = None  # verify(op): checks beyond the type rule; raises TypeRuleError
    serves: ClassVar[tuple[str, ...]] = ()  # further public names, such as "scipy.special.expit"
    effects: ClassVar[bool] = False  # never dropped, merged, reordered or repeated
    is_terminator: ClassVar[bool] = False  # ends a block, and stands nowhere else
    no_terminator: ClassVar[bool] = False  # the blocks of its regions need no terminator
    isolated: ClassVar[bool] = False  # its regions see no values from outside (a function)
    cost: ClassVar[int] = 1  # arithmetic operations an element
    finite_slope: ClassVar[bool] = False  # its vjp multiplies by finite factors only (linear ops)
    finite_slope_at: ClassVar[Any] = None  # finite_slope_at(op, k): that, for operand k of this op
    tame: ClassVar[bool] = False  # finite operands give finite results and slopes (overflow aside)
    branches: ClassVar[bool] = False  # its masks part branches of the program, as numpy.where does
    repeats: ClassVar[bool] = False  # an operand element may stand at several places of the result
    linear: ClassVar[bool] = False  # in all its floating and complex operands together
    shift: ClassVar[str] = ""  # how the result follows a growing operand: a rule of shifts.py
    lowering: ClassVar[str] = ""  # the lowering class: "elementwise", "reduce", ...
    emitter: ClassVar[str] = ""  # what emits its loops, where the lowering class does not say
    commutative: ClassVar[bool] = False
    never_negative: ClassVar[bool] = False  # its results are indices, 0 or more
    capacity: ClassVar[Any] = None  # capacity(op) -> upper bounds of the sizes that it bears
    optional_regions: ClassVar[bool] = False  # a region may be empty (scf.if without an else)

    def __init_subclass__(cls, name: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for attribute in _STATIC:
            value = cls.__dict__.get(attribute)
            if callable(value) and hasattr(value, "__get__") and not isinstance(value, type):
                setattr(cls, attribute, staticmethod(value))
        masked_vjp = cls.masked_vjp if "masked_vjp" in cls.__dict__ else None
        if masked_vjp is not None and "vjp" not in cls.__dict__:
            cls.vjp = staticmethod(_selected(masked_vjp))
        if "__slots__" not in cls.__dict__:
            # Subclasses need no state of their own: everything is in operands and attributes.
            cls.__slots__ = ()
        if name:
            if name in REGISTRY:
                raise ValueError(f"operation {name} is defined twice")
            cls.name = name
            REGISTRY[name] = cls

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    @classmethod
    def mnemonic(cls) -> str:
        """The builder's method name: `nd.add` is `add`, `memref.load` is `memref_load`."""
        dialect, _, rest = cls.name.partition(".")
        return rest if dialect in ("nd", "ad") else f"{dialect}_{rest}".replace(".", "_")

    @classmethod
    def numpy_names(cls) -> tuple[str, ...]:
        """Dotted public names that this op implements exactly, for the tracer's table."""
        function = cls.evaluate
        names = list(cls.serves)
        if isinstance(function, np.ufunc):
            names.append(f"numpy.{function.__name__}")
        return tuple(names)

    @classmethod
    def result_types(
        cls, operands: Sequence[Value], attributes: dict[str, Any], regions: Any
    ) -> Any:
        """Run the type rule on operand values; always a tuple of types."""
        types = [v.type for v in operands]
        if regions:
            found = cls.infer(*types, regions=regions, **attributes)
        else:
            found = cls.infer(*types, **attributes)
        return found if isinstance(found, tuple) else (found,)


class Elementwise(Op):
    """Same shape in and out (all operands), each result element from the operands' elements there.

    scalar: the name of a loop-level scalar operation ("tanh", "add"), or a function
        scalar(s, *operand_scalars, **attributes) that builds the result through the scalar builder
        `s` (passes/lower/scalars.py: s.add, s.mul, s.select, s.exp, s.const(value, like=x), ...).
    """

    scalar: ClassVar[Any]
    lowering = "elementwise"


class Reduce(Op):
    """nd.reduce_*: one operand, attribute `axes` (sorted tuple of ints); reduced axes are dropped.

    combine:      the name of the scalar operation that merges two partial results ("add", ...)
    merge:        merge(s, x, y), that operation through the scalar builder `s`; None where it is
                  the scalar builder's own method `combine`
    ufunc:        NumPy's function of two arrays with the same meaning
    identity:     function dtype -> the neutral Python value
    has_identity: whether no elements reduce to the neutral value; otherwise that is an error
    reassociates: merging rounds, so that half types are held in f32; any order of terms is right
    vector_op:    the float operation that LLVM vectorises as this reduction, or ""
    linear:       of a reduction: it is a sum (and long ones carry their rounding error)
    """

    combine: ClassVar[str]
    merge: ClassVar[Callable[..., Any] | None] = None
    ufunc: ClassVar[Any]
    identity: ClassVar[Callable[[ScalarType], Any]]
    has_identity: ClassVar[bool] = True
    reassociates: ClassVar[bool] = False
    vector_op: ClassVar[str] = ""
    lowering = "reduce"


@cache
def reduction(combine: str) -> type[Reduce]:
    """The Reduce class that merges by `combine` (the first that was defined); KeyError if none."""
    for cls in REGISTRY.values():
        if issubclass(cls, Reduce) and cls.combine == combine:
            return cls
    raise KeyError(combine)


class ArgReduce(Op):
    """argmax, argmin: attribute `axis`; result i64; the first of equal elements, NaN wins."""

    never_negative = True
    lowering = "argreduce"


class Scan(Op):
    """cumsum, cumprod, linear_scan: attributes `axis`, `reverse`, `exclusive` (both false if
    absent); the result has the operands' type. A result element depends on the operands' elements
    up to its own place, in the direction of the scan.

    combine:  the scalar operation that takes the next element ("add"), or a function
        combine(s, state, *elements) that builds the new state through the scalar builder `s`
    identity: as in Reduce; the first element of an exclusive scan. The state after the first
        element is that of the last operand itself.
    """

    combine: ClassVar[Any]
    identity: ClassVar[Callable[[ScalarType], Any]]
    lowering = "scan"


@dataclass(frozen=True, slots=True)
class Piece:
    """Result elements with lower <= index < upper come from operand[map(index)]."""

    operand: int
    lower: tuple[int, ...]
    upper: tuple[Any, ...]
    map: AffineMap


class Shape(Op):
    """Pure index maps: every result element is an operand's element, or the fill value.

    pieces(op) -> list of disjoint Pieces; where none applies the element is operand `fill`'s (rank
        0). Symbols of a piece's map are the op's trailing scalar operands (dynamic starts), in
        order. None, for an op that `keeps_order`, when the map is not piecewise affine: the operand
        is then materialised and its row-major buffer read under the new shape.
    keeps_order: the result is the operand's elements in row-major order
    """

    pieces: ClassVar[Callable[[Any], list[Piece] | None]]
    fill: ClassVar[int | None] = None
    keeps_order: ClassVar[bool] = False
    finite_slope = True
    linear = True
    lowering = "shape"

    @staticmethod
    def checked(op: Any) -> tuple[int, ...]:
        """The axes of operand 0 whose index comes from data: operand 0 is read from an array there,
        and an index out of range raises IndexError."""
        return ()


class Contract(Op):
    """nd.dot_general: sums of products over contracted dimensions, with batch dimensions."""

    lowering = "contract"


class Index(Op):
    """Data-dependent element addresses: gather, scatter, boolean masks. `emitter` names what in
    passes/lower/apply.py writes its loops; indices out of range raise IndexError."""

    lowering = "index"


class Creation(Op):
    """Results from attributes and sizes alone: constant, iota."""

    lowering = "creation"


class Control(Op):
    """Structure: functions, branches, loops, terminators."""

    lowering = "control"


class Opaque(Op):
    """A library call (BLAS, LAPACK, FFT) on whole arrays."""

    lowering = "opaque"


class Loop(Op):
    """Operations of the loop level and of the memory stage (arith, math, memref, mem, kernel)."""

    lowering = "loop"


# ---------------------------------------------------------------------------------- samples
# What the contract test feeds an op. A Sample gives NumPy operands and attributes; `smooth` is
# False where finite differences would straddle a kink, so that only the value is checked there.


@dataclass(frozen=True)
class Sample:
    operands: tuple[Any, ...]
    attributes: dict[str, Any]
    smooth: bool = True


@dataclass(frozen=True)
class Invalid:
    """Operand types and attributes that the type rule must refuse, with a part of its message."""

    operand_types: tuple[Type, ...]
    attributes: dict[str, Any]
    message: str


SampleMaker = Callable[[np.random.Generator, ScalarType], Iterable[Sample | Invalid]]


@dataclass(frozen=True)
class Samples:
    """`make(rng, dtype)` yields Samples; run for each dtype in `dtypes`."""

    make: SampleMaker
    dtypes: tuple[ScalarType, ...]

    def draw(self, rng: np.random.Generator, dtype: ScalarType) -> Iterator[Sample | Invalid]:
        yield from self.make(rng, dtype)
