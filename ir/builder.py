"""The abstract builder `b` that derivative rules and passes write through, and its two kinds.

`b.add(x, y)`, `b.reduce_sum(x, axes=(0,))`: one method for each registered operation, named by its
mnemonic. `Builder` emits IR into a block. `EagerBuilder` evaluates at once with NumPy, so that the
define-by-run tape uses the same rules. A Python number among the operands of an elementwise op
becomes a constant of the last array operand's type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.core import UNKNOWN, Block, Location, Operation, Region
from gradc.ir.diagnostic import TypeRuleError, VerificationError
from gradc.ir.opdef import REGISTRY, Op
from gradc.ir.types import TensorType, type_of

_BY_MNEMONIC: dict[str, type[Op]] = {}


def op_class(mnemonic: str) -> type[Op]:
    """The operation class of a builder method name; AttributeError when there is none."""
    found = _BY_MNEMONIC.get(mnemonic)
    if found is None:
        for cls in REGISTRY.values():
            _BY_MNEMONIC[cls.mnemonic()] = cls
        found = _BY_MNEMONIC.get(mnemonic)
    if found is None:
        raise AttributeError(f"no operation with builder name {mnemonic!r} is registered")
    return found


class AbstractBuilder(ABC):
    """Shared conveniences; subclasses say how an operation comes about in `create`."""

    @abstractmethod
    def create(
        self,
        cls: type[Op],
        operands: Sequence[Any],
        attributes: dict[str, Any],
        regions: Sequence[Region] = (),
    ) -> Any:
        """Make the operation; its only result, or the tuple of its results."""

    def __getattr__(self, mnemonic: str) -> Callable[..., Any]:
        if mnemonic.startswith("__"):
            raise AttributeError(mnemonic)
        cls = op_class(mnemonic)
        elementwise = cls.lowering == "elementwise"

        def build(self: AbstractBuilder, *operands: Any, **attributes: Any) -> Any:
            if elementwise:
                operands = self._with_literals(operands)
            return self.create(cls, operands, attributes)

        build.__name__ = mnemonic
        # A method from now on, so that __getattr__ runs once for each operation of the process.
        setattr(AbstractBuilder, mnemonic, build)
        return getattr(self, mnemonic)

    def _with_literals(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        if not any(isinstance(x, int | float | complex) for x in operands):
            return operands
        # The last one: select's first operand is the condition, of another dtype than the choices.
        like = next(x.type for x in operands[::-1] if not isinstance(x, int | float | complex))
        return tuple(
            self.full(x, like) if isinstance(x, int | float | complex) else x for x in operands
        )

    def full(self, value: Any, type: TensorType) -> Any:
        """A constant array with every element `value`, of the given type."""
        dtype = type.dtype
        if dtype.is_bool:
            value = bool(value)
        elif dtype.is_integer:
            value = int(value)
        elif dtype.is_floating:
            value = float(value)
        else:
            value = complex(value)
        return self.constant(value=value, type=type)

    def zeros(self, type: TensorType) -> Any:
        return self.full(0, type)

    def broadcast_to(self, x: Any, shape: Sequence[Any]) -> Any:
        """NumPy broadcasting of `x` to `shape`: leading axes are added, axes of size 1 repeated.

        Built from nd.reshape (to drop axes of size 1 that are repeated) and nd.broadcast.
        """
        shape = tuple(shape)
        own = x.type.shape
        if own == shape:
            return x
        lead = len(shape) - len(own)
        if lead < 0 or any(a not in (1, b) for a, b in zip(own, shape[lead:], strict=True)):
            raise TypeRuleError(f"cannot broadcast shape {list(own)} to {list(shape)}")
        keep = [k for k, a in enumerate(own) if a == shape[lead + k]]
        if len(keep) < len(own):
            x = self.reshape(x, shape=tuple(own[k] for k in keep))
        return self.broadcast(x, shape=shape, dims=tuple(lead + k for k in keep))


class Builder(AbstractBuilder):
    """Emits operations at the end of `block`, or before `before` where that is given."""

    def __init__(
        self, block: Block, location: Location = UNKNOWN, before: Operation | None = None
    ) -> None:
        self.block = block
        self.location = location
        self.before = before

    def create(
        self,
        cls: type[Op],
        operands: Sequence[Any],
        attributes: dict[str, Any],
        regions: Sequence[Region] = (),
    ) -> Any:
        try:
            types = cls.result_types(operands, attributes, regions)
        except (TypeRuleError, TypeError) as error:
            failed = cls(operands, (), attributes, regions, self.location)
            failed.drop_uses()
            shown = ", ".join(str(v.type) for v in operands)
            raise VerificationError(f"{cls.name}({shown}): {error}", None, self.location) from error
        op = cls(operands, types, attributes, regions, self.location)
        self.insert(op)
        return op.results[0] if len(op.results) == 1 else op.results

    def insert(self, op: Operation) -> Operation:
        if self.before is None:
            return self.block.append(op)
        op.parent = self.block
        self.block.ops.insert(self.block.ops.index(self.before), op)
        return op


class EagerValue:
    """An array with the interface of a Value that rules read: `type`; plus the `array` itself."""

    __slots__ = ("array", "type")

    def __init__(self, array: Any, type: Any = None) -> None:
        self.array = array
        self.type = type_of(array) if type is None else type


class EagerOp:
    """What a vjp rule reads of an operation, over EagerValues."""

    __slots__ = ("name", "operands", "results", "attributes", "location")

    def __init__(
        self,
        name: str,
        operands: Sequence[EagerValue],
        results: Sequence[EagerValue],
        attributes: dict[str, Any],
        location: Location = UNKNOWN,
    ) -> None:
        self.name = name
        self.operands = tuple(operands)
        self.results = tuple(results)
        self.attributes = attributes
        self.location = location

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    @property
    def result(self) -> EagerValue:
        (value,) = self.results
        return value


class EagerBuilder(AbstractBuilder):
    """Evaluates each operation at once with its reference meaning."""

    def create(
        self,
        cls: type[Op],
        operands: Sequence[Any],
        attributes: dict[str, Any],
        regions: Sequence[Region] = (),
    ) -> Any:
        if cls.evaluate is None or regions:
            raise TypeRuleError(f"{cls.name} cannot run eagerly")
        types = cls.result_types(operands, attributes, ())
        with np.errstate(all="ignore"):
            found = cls.evaluate(*[x.array for x in operands], **attributes)
        if len(types) == 1:
            array = found[0] if isinstance(found, tuple) else found
            return EagerValue(np.asarray(array), _in_full(types[0], array))
        return tuple(
            EagerValue(np.asarray(a), _in_full(t, a)) for a, t in zip(found, types, strict=True)
        )


def _in_full(type: Any, array: Any) -> Any:
    """The type with the array's own shape, where the type rule left a size open."""
    return type if getattr(type, "is_static", True) else type.with_shape(np.shape(array))
