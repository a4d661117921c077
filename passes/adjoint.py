"""The adjoint driver: cotangents through a straight list of operations.

`Reverse` walks a list of operations backwards, asks each one's rule for the cotangents of its
operands and adds them up. It works on any straight segment of a block, so a function
(`differentiate`), the transposition of a linear segment (forward.py) and the body of a loop use the
same code.

**Masked cotangents.** A cotangent is a pair (value, live): exactly zero where `live` is false,
whatever `value` is there. Masks start at operations with a `masked_vjp` (select, maximum, clip) and
at partial reads (slice, gather), whose operand is live only where it was read.
- Elementwise rules and reductions work on the unmasked value and keep `live`.
- Rules that only move and add elements move `live` by running over booleans (masks.py).
- A contraction takes the masked value. Where branches were parted, and an operand may be infinite
  or NaN, it is zeroed where nothing live meets it; other masks end here.
- A scan takes the masked value too; an element of its operands is live where a result from its
  place on is.
- Every other rule gets the masked value.
A mask is kept only where activity.py finds that it matters, and gradients at the end have it
applied.

**Accumulation.** A rule may answer with an `Accumulate`, which adds into the operand's running
cotangent; the driver makes a zero only when there is none yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value, defined_by
from gradc.ir.diagnostic import IRError
from gradc.ir.opdef import Accumulate
from gradc.ir.ops.composite import spread_axes
from gradc.ir.types import i64
from gradc.passes.activity import Activity, analyse
from gradc.passes.masks import Mask, MaskBuilder, NoMask


@dataclass(frozen=True, slots=True)
class Cotangent:
    """clean: `value` is zero already wherever `live` is false
    branch: `live` comes from an operation that parts branches (numpy.where), not from a maximum or
        a partial read, so that it is worth keeping through contractions
    """

    value: Value
    live: Value | None = None
    clean: bool = True
    branch: bool = False


class _View:
    """An operation as its rule sees it, with other operands."""

    __slots__ = ("op", "operands")

    def __init__(self, op: Operation, operands: Sequence[Value]) -> None:
        self.op = op
        self.operands = tuple(operands)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)

    def __getitem__(self, attribute: str) -> Any:
        return self.op.attributes[attribute]


class Reverse:
    """Cotangents of values, filled in by walking operations backwards."""

    def __init__(self, b: Builder, activity: Activity, role: str = "backward") -> None:
        self.b = b
        self.activity = activity
        self.role = role
        self.cotangents: dict[Value, Cotangent] = {}

    def seed(self, value: Value, cotangent: Value) -> None:
        """Start (or add to) the cotangent of a value that has been computed."""
        if value in self.activity.active:
            self._contribute(value, Cotangent(cotangent))

    def run(self, ops: Sequence[Operation]) -> None:
        """Walk the operations, given in program order, from the last to the first."""
        for op in reversed(ops):
            found = [self._pop(value) for value in op.results]
            if any(g is not None for g in found):
                self.b.location = op.location.derived(self.role) if self.role else op.location
                self._step(op, found)

    def cotangent(self, value: Value) -> Value | None:
        """The cotangent of a value with its mask applied; None if nothing flowed there."""
        found = self.cotangents.get(value)
        return None if found is None else self._selected(found)

    def _pop(self, value: Value) -> Cotangent | None:
        """The finished cotangent of a value, with its mask where that matters."""
        found = self.cotangents.pop(value, None)
        if found is None or found.live is None or value in self.activity.exposed:
            return found
        return Cotangent(self._selected(found))

    # ------------------------------------------------------------------------------ one operation

    def _step(self, op: Any, found: Sequence[Cotangent | None]) -> None:
        active = [value in self.activity.active for value in op.operands]
        if op.regions:
            self._regions(op, found)
            return
        if not any(active):
            return
        if op.vjp is None:
            raise IRError(f"{op.name} has no derivative rule, so it cannot be differentiated", op)
        only = found[0] if len(found) == 1 else None
        if only is None:
            gs = [
                self.b.zeros(value.type) if g is None else self._selected(g)
                for value, g in zip(op.results, found)
            ]
            self._plain(op, active, gs)
        elif op.lowering == "elementwise":
            self._elementwise(op, active, only)
        elif op.lowering == "reduce":
            self._reduction(op, active, only)
        elif op.lowering == "contract" and only.branch and self._may_meet_infinity(op):
            self._contraction(op, active, only)
        elif op.lowering == "scan" and self._scan_keeps_mask(op, active, only):
            self._scan(op, active, only)
        elif op.finite_slope and op.lowering not in ("scan", "contract", "opaque"):
            self._moves(op, active, only)
        else:
            self._plain(op, active, [self._selected(only)])

    def _regions(self, op: Any, found: Sequence[Cotangent | None]) -> None:
        """An operation with regions reverses itself, given the cotangents of its results or None.

        Its rule writes through `driver.b`, runs `transpose` on the bodies and hands over cotangents
        of operands and captured values with `driver.seed`.
        """
        if op.reverse is None:
            raise IRError(f"{op.name} has no reverse rule, so it cannot be differentiated", op)
        op.reverse(self, op, [None if g is None else self._selected(g) for g in found])

    def _rule(self, op: Any, rule: Any, b: Any, gs: Sequence[Any]) -> Sequence[Any]:
        entries = rule(b, op, *gs)
        if len(entries) != len(op.operands):
            raise IRError(
                f"the rule of {op.name} gives {len(entries)} cotangents for "
                f"{len(op.operands)} operands",
                op,
            )
        return entries

    def _plain(
        self, op: Any, active: Sequence[bool], gs: Sequence[Value], rule: Any = None
    ) -> None:
        """Any rule, on cotangents with their masks applied."""
        for k, entry in enumerate(self._rule(op, rule or op.vjp, self.b, gs)):
            if active[k]:
                self._deliver(op, k, entry, None, False)

    def _elementwise(self, op: Any, active: Sequence[bool], g: Cotangent) -> None:
        """Element by element: what is garbage stays at its place, outside `live`."""
        rule = op.vjp if op.masked_vjp is None else op.masked_vjp
        for k, entry in enumerate(self._rule(op, rule, self.b, [g.value])):
            if active[k]:
                self._deliver(op, k, entry, g.live, g.branch)

    def _reduction(self, op: Any, active: Sequence[bool], g: Cotangent) -> None:
        """The rule spreads the cotangent over the reduced axes; so does `live`."""
        rule = op.vjp if op.masked_vjp is None else op.masked_vjp
        entries = self._rule(op, rule, self.b, [g.value])
        live = g.live
        if live is not None:
            live = spread_axes(self.b, live, op.operands[0].type.shape, op["axes"])
        for k, entry in enumerate(entries):
            if active[k]:
                self._deliver(op, k, entry, live, g.branch)

    def _may_meet_infinity(self, op: Any) -> bool:
        return any(value not in self.activity.tame for value in op.operands)

    def _contraction(self, op: Any, active: Sequence[bool], g: Cotangent) -> None:
        """No infinity may meet a dead element: operands are zeroed where their cotangent is dead.

        Exactly there they meet no live element.
        """
        masks = MaskBuilder(self.b)
        found = self._rule(op, op.vjp, masks, [Mask(g.value.type, None, g.live)])
        operands = [
            value
            if mask is None or mask.value is None or value in self.activity.tame
            else self._select(mask.value, value)
            for value, mask in zip(op.operands, found)
        ]
        view = _View(op, operands)
        for k, entry in enumerate(self._rule(view, op.vjp, self.b, [self._selected(g)])):
            if active[k]:
                self._deliver(op, k, entry, found[k].value, True)

    def _scan_keeps_mask(self, op: Any, active: Sequence[bool], g: Cotangent) -> bool:
        if g.live is None:
            return False
        spoils = g.branch and not op.finite_slope and self._may_meet_infinity(op)
        return spoils or self._mask_matters(op, active, g)

    def _scan(self, op: Any, active: Sequence[bool], g: Cotangent) -> None:
        """An element is live where a result from its place on is live.

        Operands are zeroed elsewhere, as in a contraction: there they meet no live result.
        """
        assert g.live is not None
        axis, reverse = op["axis"], op.attributes.get("reverse", False)
        exclusive = op.attributes.get("exclusive", False)
        count = self.b.convert(g.live, dtype=i64)
        count = self.b.cumsum(count, axis=axis, reverse=not reverse, exclusive=exclusive)
        live = self.b.gt(count, 0)
        operands = [
            value if value in self.activity.tame else self._select(live, value)
            for value in op.operands
        ]
        view = _View(op, operands)
        for k, entry in enumerate(self._rule(view, op.vjp, self.b, [self._selected(g)])):
            if active[k]:
                self._deliver(op, k, entry, live, g.branch)

    def _moves(self, op: Any, active: Sequence[bool], g: Cotangent) -> None:
        """A linear rule that moves and adds elements."""
        if not self._mask_matters(op, active, g):
            self._plain(op, active, [self._selected(g)])
            return
        branch = g.branch or op.branches
        masks = MaskBuilder(self.b)
        start = Mask(g.value.type, True) if g.live is None else Mask(g.value.type, None, g.live)
        try:
            lives = self._rule(op, op.vjp, masks, [start])
        except NoMask:
            self._plain(op, active, [self._selected(g)], op.masked_vjp)
            return
        accumulates = any(isinstance(entry, Accumulate) for entry in lives)
        selected = masks.summed or accumulates
        value = self._selected(g) if selected else g.value
        for k, entry in enumerate(self._rule(op, op.vjp, self.b, [value])):
            if not active[k] or entry is None:
                continue
            live = lives[k]
            if isinstance(entry, Accumulate):
                self._accumulate(op, k, entry, (masks, live), branch)
            elif live.known is not False:
                self._check(op, k, entry)
                clean = selected or g.clean
                self._contribute(op.operands[k], Cotangent(entry, live.value, clean, branch))

    def _mask_matters(self, op: Any, active: Sequence[bool], g: Cotangent) -> bool:
        """Whether to keep the mask of `g`, or to start one where the operation reads a part."""
        if g.live is None:
            kept = self.activity.singular
        elif op.repeats and not g.branch:
            return False
        else:
            kept = self.activity.exposed
        return any(a and v in kept for a, v in zip(active, op.operands))

    # ------------------------------------------------------------------------------ contributions

    def _deliver(self, op: Any, k: int, entry: Any, live: Value | None, branch: bool) -> None:
        """Add a rule's answer for operand k, live where `live` and the answer's own mask hold."""
        if entry is None:
            return
        if isinstance(entry, Accumulate):
            if live is not None:
                raise IRError(f"{op.name}: an elementwise rule cannot accumulate", op)
            self._accumulate(op, k, entry, None, False)
            return
        clean = live is None
        if isinstance(entry, tuple):
            entry, own = entry
            live = own if live is None else self.b.logical_and(live, own)
            clean = False
            branch = branch or op.branches
        self._check(op, k, entry)
        self._contribute(op.operands[k], Cotangent(entry, live, clean, branch))

    def _accumulate(self, op: Any, k: int, entry: Accumulate, masks: Any, branch: bool) -> None:
        operand = op.operands[k]
        running = self.cotangents.get(operand)
        value = self.b.zeros(operand.type) if running is None else self._selected(running)
        live = None
        if masks is not None and operand in self.activity.exposed:
            builder, move = masks
            if running is None:
                before = Mask(operand.type, False)
            elif running.live is None:
                before = Mask(operand.type, True)
            else:
                before = Mask(operand.type, None, running.live)
            live = move.add(builder, before).value
        added = entry.add(self.b, value)
        self._check(op, k, added)
        self.cotangents[operand] = Cotangent(added, live, branch=branch)

    def _contribute(self, value: Value, new: Cotangent) -> None:
        old = self.cotangents.get(value)
        if old is None:
            self.cotangents[value] = new
        elif old.live is not None and old.live is new.live:
            total = self.b.add(old.value, new.value)
            clean, branch = old.clean and new.clean, old.branch or new.branch
            self.cotangents[value] = Cotangent(total, old.live, clean, branch)
        elif old.live is not None and new.live is not None and _opposite(old.live, new.live):
            # One of the two everywhere, as in the two branches of a select: no sum is needed.
            chosen = self.b.select(old.live, old.value, new.value)
            self.cotangents[value] = Cotangent(chosen)
        else:
            total = self.b.add(self._selected(old), self._selected(new))
            live = self._either(value, old.live, new.live)
            self.cotangents[value] = Cotangent(total, live, branch=old.branch or new.branch)

    def _either(self, value: Value, one: Value | None, other: Value | None) -> Value | None:
        if one is None or other is None or value not in self.activity.exposed:
            return None
        return self.b.logical_or(one, other)

    def _selected(self, g: Cotangent) -> Value:
        return g.value if g.clean or g.live is None else self._select(g.live, g.value)

    def _select(self, live: Value, value: Value) -> Value:
        return self.b.select(live, value, self.b.zeros(value.type))

    def _check(self, op: Any, k: int, value: Any) -> None:
        expected = op.operands[k].type
        if value.type != expected:
            raise IRError(
                f"the rule of {op.name} gives a cotangent of the wrong type for operand {k}: "
                f"expected {expected}, got {value.type}",
                op,
            )


def _opposite(one: Value, other: Value) -> bool:
    """Whether one mask is the logical_not of the other."""
    for x, y in ((one, other), (other, one)):
        op = defined_by(x, "nd.logical_not")
        if op is not None and op.operands[0] is y:
            return True
    return False


def transpose(
    b: Builder,
    ops: Sequence[Operation],
    cotangents: Sequence[tuple[Value, Value]],
    wanted: Sequence[Value],
    role: str = "backward",
) -> list[Value | None]:
    """Cotangents of `wanted`, given those of some values that `ops` (in program order) compute.

    New operations go through `b`. None where nothing flows. Operations that turn out to be unneeded
    are left for dce.
    """
    driver = Reverse(b, analyse(ops, wanted, [value for value, _ in cotangents]), role)
    for value, cotangent in cotangents:
        driver.seed(value, cotangent)
    driver.run(ops)
    return [driver.cotangent(value) for value in wanted]
