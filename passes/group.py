"""Grouping kernels that can share their outer loop.

A kernel may join a group when its first loop has the group's size and everything that it reads of
the group's values at iteration i was written at iteration i. Lowering then runs the group as one
loop over i, in which those values are rows or single scalars instead of whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gradc.ir.core import Block, Operation, Region, Value
from gradc.ir.ops.kernel import Access, Fusion, Generic, Yield
from gradc.passes.inline import BodyWriter

T = TypeVar("T")


@dataclass(eq=False)
class Node:
    """A kernel in the making, or an operation kept as it is.

    roots:      the values it computes
    sizes:      its loops (of a batched contraction the batch loops; none for other kept operations)
    inputs:     the arrays it reads;  ancestors: the nodes it must come after
    body:       the operations computed at one point of its loops
    reads:      for each array the accesses to it;  writes: for each root the dims of its axes
    """

    roots: list[Value]
    sizes: tuple[Any, ...] = ()
    op: Operation | None = None
    inputs: set[Value] = field(default_factory=set)
    ancestors: set[Node] = field(default_factory=set)
    body: set[Operation] = field(default_factory=set)
    writer: BodyWriter | None = None
    kernel: Generic | None = None
    reads: dict[Value, list[Access]] = field(default_factory=dict)
    writes: dict[Value, Any] = field(default_factory=dict)


def aligned(producer: Node, consumer: Node, depth: int) -> bool:
    """Does `consumer`, at one iteration of its first `depth` + 1 loops, read of `producer`'s values
    only what the same iteration wrote? The loops above `depth` are known to be aligned."""
    for value, dims in producer.writes.items():
        accesses = consumer.reads.get(value)
        if accesses is None:
            continue
        if depth not in dims:
            return False
        axis = dims.index(depth)
        if any(access[axis] != depth for access in accesses):
            return False
    return True


@dataclass(eq=False)
class Group:
    """Nodes that run together; `above` are all groups that it must come after."""

    nodes: list[Node]
    above: set[Group] = field(default_factory=set)


def group_kernels(nodes: Sequence[Node], terminator: Operation) -> list[Operation]:
    """The operations of the new body in order: kernels, kept operations, `kernel.fusion`s."""
    groups: list[Group] = []
    home: dict[Node, Group] = {}
    for node in nodes:
        needs = {home[a] for a in node.ancestors}
        for need in list(needs):
            needs |= need.above
        for group in reversed(groups):
            if can_join(group, node, needs):
                group.nodes.append(node)
                home[node] = group
                new = needs - group.above - {group}
                if new:
                    group.above |= new
                    for other in groups:
                        if group in other.above:
                            other.above |= new
                break
        else:
            home[node] = Group([node], needs)
            groups.append(home[node])
    ordered = in_order(groups, lambda group: group.above, by_level=True)
    return [build(group, terminator) for group in ordered]


def can_join(group: Group, node: Node, needs: set[Group]) -> bool:
    first = group.nodes[0]
    if not node.sizes or not first.sizes or node.sizes[0] != first.sizes[0]:
        return False
    if any(other is not group and group in other.above for other in needs):
        return False
    related = False
    for member in group.nodes:
        if not aligned(member, node, 0):
            return False
        shared = (set(member.roots) | member.inputs) & node.inputs
        related = related or any(v.type.rank > 0 for v in shared)
    return related


def in_order(items: Sequence[T], above: Callable[[T], set[T]], by_level: bool = False) -> list[T]:
    """The items after all that stand `above` them, otherwise in the given order.

    by_level: first those with nothing above them, then those that only wait for these, and so on
    """
    done: set[T] = set()
    ordered: list[T] = []
    rest = list(items)
    while rest:
        known = set(done) if by_level else done
        later = []
        for item in rest:
            if above(item) <= known:
                ordered.append(item)
                done.add(item)
            else:
                later.append(item)
        if len(later) == len(rest):
            raise AssertionError("fuse: kernels depend on each other in a cycle")
        rest = later
    return ordered


def build(group: Group, terminator: Operation) -> Operation:
    """The group's operation: its only member, or a kernel.fusion of its members."""
    members = [node.kernel or node.op for node in group.nodes]
    ops = [op for op in members if op is not None]
    if len(ops) == 1:
        return ops[0]
    inside = {inner for op in ops for inner in op.walk()}
    escaping = [v for op in ops for v in op.results if any(u not in inside for u in v.users)]
    block = Block()
    for op in ops:
        block.append(op)
    fusion = Fusion((), [v.type for v in escaping], {}, [Region([block])], ops[-1].location)
    for value, result in zip(escaping, fusion.results, strict=True):
        result.hint = value.hint
        for user in list(value.users):
            if user not in inside:
                user.set_operands([result if v is value else v for v in user.operands])
    block.append(Yield(escaping))
    return fusion
