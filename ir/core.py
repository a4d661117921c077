"""The data structures of the IR: values, operations, blocks, regions, locations.

MLIR's model. An operation has operands (SSA values), results, attributes, regions of blocks and a
source location. A value knows its users, so that passes can replace it. What an operation *means*
is its class (`opdef.py`); this file knows nothing of any particular operation.

Attributes are plain immutable Python values: bool, int, float, complex, str, None, a `Type`, an
`AffineMap`, a `Symbol`, a `TypedNumber`, an `OpaqueAttribute`, a read-only ndarray (a dense
constant), tuples and dicts (string keys) of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gradc.ir.types import ScalarType, Type


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's source; `role` names the pass that derived the op ("backward")."""

    file: str = ""
    line: int = 0
    column: int = 0
    role: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else "unknown location"
        return f"{place} (in the {self.role} pass)" if self.role else place

    def derived(self, role: str) -> Location:
        """The same place, marked as written by a pass."""
        return self if self.role == role else Location(self.file, self.line, self.column, role)

    def __bool__(self) -> bool:
        return bool(self.file)


UNKNOWN = Location()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A reference to a symbol such as a function: `@name`."""

    name: str

    def __str__(self) -> str:
        return f"@{self.name}"


@dataclass(frozen=True, slots=True)
class TypedNumber:
    """A number attribute with its type: `1.5 : f32`, `4 : index`.

    Plain Python numbers stand for the types that MLIR assumes (bool i1, int i64, float f64), and
    text of these types reads back as plain numbers; other scalar types need a TypedNumber.
    """

    value: bool | int | float
    type: ScalarType


@dataclass(frozen=True, slots=True)
class OpaqueAttribute:
    """An attribute of another dialect, kept as its text: `#arith.fastmath<reassoc,contract>`."""

    text: str

    def __str__(self) -> str:
        return self.text


class Value:
    """An SSA value: a result of an operation or an argument of a block.

    owner:  the Operation or Block that defines it;  index: its position there
    hint:   a name to print it by ("loss"), or ''
    users:  operations that use it, each with the number of its operands that are this value
    """

    __slots__ = ("type", "owner", "index", "hint", "users")

    def __init__(self, type: Type, owner: Operation | Block, index: int, hint: str = "") -> None:
        self.type: Any = type  # Any: rules know which type they take, the verifier has checked it
        self.owner = owner
        self.index = index
        self.hint = hint
        self.users: dict[Operation, int] = {}

    @property
    def defining_op(self) -> Operation | None:
        return self.owner if isinstance(self.owner, Operation) else None

    @property
    def block(self) -> Block | None:
        """The block in which the value is defined."""
        return self.owner if isinstance(self.owner, Block) else self.owner.parent

    @property
    def num_uses(self) -> int:
        return sum(self.users.values())

    def replace_by(self, other: Value) -> None:
        """Make every user use `other` instead."""
        if other is self:
            return
        for user in list(self.users):
            user.set_operands(tuple(other if v is self else v for v in user.operands))
        if self.hint and not other.hint:
            other.hint = self.hint

    def __repr__(self) -> str:
        where = self.owner.name if isinstance(self.owner, Operation) else "block argument"
        return f"<value {self.hint or ''}: {self.type} of {where}>"


class Operation:
    """An operation. Each registered operation is a subclass (see opdef.py)."""

    __slots__ = ("operands", "results", "attributes", "regions", "location", "parent")
    name: ClassVar[str] = ""

    def __init__(
        self,
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] = (),
        attributes: Mapping[str, Any] | None = None,
        regions: Sequence[Region] = (),
        location: Location = UNKNOWN,
    ) -> None:
        self.operands: tuple[Value, ...] = tuple(operands)
        self.results = tuple([Value(t, self, k) for k, t in enumerate(result_types)])
        self.attributes: dict[str, Any] = dict(attributes) if attributes else {}
        self.regions = tuple(regions)
        self.location = location
        self.parent: Block | None = None
        for region in self.regions:
            region.parent = self
        for value in self.operands:
            users = value.users
            users[self] = users.get(self, 0) + 1

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    @property
    def body(self) -> Block:
        """The only block of the first region."""
        (block,) = self.regions[0].blocks
        return block

    def set_operands(self, operands: Sequence[Value]) -> None:
        self.drop_uses()
        self.operands = tuple(operands)
        for value in self.operands:
            value.users[self] = value.users.get(self, 0) + 1

    def drop_uses(self) -> None:
        """Stop using the operands (before the operation is thrown away)."""
        for value in self.operands:
            value.users.pop(self, None)
        self.operands = ()

    def erase(self) -> None:
        """Remove from its block; its results must have no users, nor may values in its regions."""
        for value in self.results:
            if value.users:
                raise ValueError(f"cannot erase {self.name}: result {value.index} is still used")
        self.drop_all_uses()
        if self.parent is not None:
            self.parent.ops.remove(self)
            self.parent = None

    def drop_all_uses(self) -> None:
        """Drop the uses of this operation and of all operations in its regions."""
        for op in self.walk():
            op.drop_uses()

    def replace_by(self, values: Sequence[Value]) -> None:
        """Replace the results by `values` and erase the operation."""
        for old, new in zip(self.results, values, strict=True):
            old.replace_by(new)
        self.erase()

    def walk(self) -> Iterator[Operation]:
        """This operation and all operations nested in it, outer before inner, in order."""
        yield self
        for region in self.regions:
            for block in region.blocks:
                for op in block.ops:
                    yield from op.walk()

    def clone(self, mapping: dict[Value, Value] | None = None) -> Operation:
        """A copy; operands are looked up in `mapping` (else kept), which gains the new results."""
        mapping = {} if mapping is None else mapping
        new = type(self)._make(
            self,
            [mapping.get(v, v) for v in self.operands],
            [v.type for v in self.results],
        )
        for old, copy in zip(self.results, new.results, strict=True):
            copy.hint = old.hint
            mapping[old] = copy
        regions = []
        for region in self.regions:
            regions.append(region.clone(mapping))
            regions[-1].parent = new
        new.regions = tuple(regions)
        return new

    @classmethod
    def _make(
        cls, like: Operation, operands: Sequence[Value], result_types: Sequence[Type]
    ) -> Operation:
        return cls(operands, result_types, like.attributes, (), like.location)

    def __repr__(self) -> str:
        return f"<{self.name} at {self.location}>"


class UnregisteredOperation(Operation):
    """An operation read from text whose name gradc does not know; carried along unchanged."""

    __slots__ = ("name",)

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name  # type: ignore[misc]

    @classmethod
    def _make(
        cls, like: Operation, operands: Sequence[Value], result_types: Sequence[Type]
    ) -> Operation:
        return cls(like.name, operands, result_types, like.attributes, (), like.location)


class Block:
    """A list of operations with arguments; the last operation is the terminator."""

    __slots__ = ("args", "ops", "parent")

    def __init__(self, arg_types: Sequence[Type] = (), hints: Sequence[str] = ()) -> None:
        self.args: list[Value] = []
        for k, t in enumerate(arg_types):
            self.args.append(Value(t, self, k, hints[k] if k < len(hints) else ""))
        self.ops: list[Operation] = []
        self.parent: Region | None = None

    def append(self, op: Operation) -> Operation:
        op.parent = self
        self.ops.append(op)
        return op

    def add_argument(self, type: Type, hint: str = "") -> Value:
        self.args.append(Value(type, self, len(self.args), hint))
        return self.args[-1]

    @property
    def terminator(self) -> Operation:
        return self.ops[-1]

    @property
    def parent_op(self) -> Operation | None:
        return self.parent.parent if self.parent is not None else None

    def replace_ops(self, ops: list[Operation]) -> None:
        """Set the list of operations (a reordering, or with operations left out or added)."""
        for op in ops:
            op.parent = self
        self.ops = ops


class Region:
    """A list of blocks; every region of a registered operation has exactly one."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self.blocks = list(blocks)
        self.parent: Operation | None = None
        for block in self.blocks:
            block.parent = self

    @property
    def block(self) -> Block:
        (block,) = self.blocks
        return block

    def clone(self, mapping: dict[Value, Value]) -> Region:
        copies = []
        for block in self.blocks:
            copy = Block([v.type for v in block.args], [v.hint for v in block.args])
            mapping.update(zip(block.args, copy.args, strict=True))
            copies.append(copy)
        region = Region(copies)
        for block, copy in zip(self.blocks, copies, strict=True):
            for op in block.ops:
                copy.append(op.clone(mapping))
        return region


def captured_values(op: Operation) -> list[Value]:
    """Values used inside the regions of `op` but defined outside them, in order of first use."""
    inside: set[Value] = set()
    found: dict[Value, None] = {}

    def visit(region: Region) -> None:
        for block in region.blocks:
            inside.update(block.args)
            for inner in block.ops:
                for value in inner.operands:
                    if value not in inside:
                        found[value] = None
                inside.update(inner.results)
                for nested in inner.regions:
                    visit(nested)

    for region in op.regions:
        visit(region)
    return list(found)


def defined_by(value: Any, name: str) -> Any:
    """The operation that defines `value` if it is called `name`, else None."""
    op = value.defining_op
    return op if op is not None and op.name == name else None
