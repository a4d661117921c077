"""Where a cotangent is live: derivative rules run over the boolean semiring.

A masked cotangent is a pair (value, live). To move `live` through an operation whose rule only
moves and adds elements, the rule itself runs with a `MaskBuilder`: an index map stays what it is, a
sum becomes an `any`, a zero becomes false. Masks that are all true or all false are known and cost
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.builder import AbstractBuilder, Builder
from gradc.ir.core import Region, Value
from gradc.ir.opdef import Op
from gradc.ir.types import TensorType, i1


class NoMask(Exception):
    """The rule does more than move and add: apply the mask before it."""


class Mask:
    """What a rule sees in place of a cotangent: its `type`, and where it is live.

    known: True or False when the whole mask is, else None and `value` is the i1 array
    """

    __slots__ = ("type", "known", "value")

    def __init__(self, type: TensorType, known: bool | None = None, value: Value | None = None):
        self.type = type
        self.known = known
        self.value = value


class MaskBuilder(AbstractBuilder):
    """Runs rules on Masks; operands that are plain values (indices, factors) belong to the program.

    summed: set when several elements met in one, so that the values must be masked before they are
    added
    """

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.summed = False

    def array(self, mask: Mask) -> Value:
        """The mask as an i1 array."""
        if mask.value is not None:
            return mask.value
        return self.b.full(mask.known, mask.type.with_dtype(i1))

    def create(
        self,
        cls: type[Op],
        operands: Sequence[Any],
        attributes: dict[str, Any],
        regions: Sequence[Region] = (),
    ) -> Any:
        masks = [x for x in operands if isinstance(x, Mask)]
        if not masks:
            return self._without_masks(cls, operands, attributes, regions)
        if any(x.type.dtype.is_inexact for x in operands if not isinstance(x, Mask)):
            if cls.lowering == "contract":
                return self._contract(cls, operands, attributes)
            raise NoMask
        (type,) = cls.result_types(operands, attributes, ())
        if cls.lowering == "elementwise":
            if not cls.finite_slope:
                raise NoMask
            if len(masks) == len(operands):
                return self._either(masks, type)
            # A choice between masks by a condition of the program: it moves elements, as below.
        if cls.lowering == "reduce" and cls.linear:  # a sum
            self.summed = True
            return self._mapped(masks, type, self.b.reduce_any, attributes)
        if not cls.finite_slope or cls.lowering in ("reduce", "scan", "contract", "opaque"):
            raise NoMask
        if len(masks) > 1:
            self.summed = True
        known = {mask.known for mask in masks}
        if len(known) == 1 and None not in known:
            return Mask(type, masks[0].known)
        arrays = [self.array(x) if isinstance(x, Mask) else x for x in operands]
        return Mask(type, None, self.b.create(cls, arrays, attributes))

    def _without_masks(
        self, cls: type[Op], operands: Sequence[Any], attributes: dict[str, Any], regions: Any
    ) -> Any:
        if not operands and attributes["type"].dtype.is_inexact:
            value = attributes.get("value")
            if isinstance(value, int | float | complex) and value == 0:
                return Mask(attributes["type"], False)
            raise NoMask
        return self.b.create(cls, operands, attributes, regions)

    def _either(self, masks: Sequence[Mask], type: TensorType) -> Mask:
        """Live where any of the operands is."""
        if any(mask.known is True for mask in masks):
            self.summed = self.summed or len(masks) > 1
            return Mask(type, True)
        found: Value | None = None
        for mask in masks:
            if mask.value is not None:
                self.summed = self.summed or found is not None
                found = mask.value if found is None else self.b.logical_or(found, mask.value)
        return Mask(type, False) if found is None else Mask(type, None, found)

    def _mapped(self, masks: Sequence[Mask], type: TensorType, build: Any, attributes: Any) -> Mask:
        (mask,) = masks
        if mask.value is None:
            return Mask(type, mask.known)
        return Mask(type, None, build(mask.value, **attributes))

    def _contract(self, cls: type[Op], operands: Sequence[Any], attributes: dict[str, Any]) -> Mask:
        """A product with a factor that may be anything: live where a live element takes part."""
        (type,) = cls.result_types(operands, attributes, ())
        self.summed = True
        at = 0 if isinstance(operands[0], Mask) else 1
        mask = operands[at]
        if mask.value is None:
            return Mask(type, mask.known)
        summed = attributes["contract"][at]
        batch = attributes.get("batch", ((), ()))[at]
        live = self.b.reduce_any(mask.value, axes=tuple(sorted(summed)))
        kept = [k for k in range(mask.type.rank) if k not in summed]
        free = [k for k in kept if k not in batch]
        order = (*batch, *free)
        if order != tuple(kept):
            live = self.b.transpose(live, perm=tuple(kept.index(k) for k in order))
        other = type.rank - len(order)
        lead = len(batch) if at == 0 else len(batch) + other
        dims = (*range(len(batch)), *range(lead, lead + len(free)))
        return Mask(type, None, self.b.broadcast(live, shape=type.shape, dims=dims))
