"""Trees of arguments and results: nested dicts, lists, tuples, namedtuples and dataclasses.

Built on optree. None is a leaf. Dataclasses need no registration: int, bool, str, None, enum and
callable fields belong to the structure (static), the others are children. `register_pytree` adds
other classes.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import optree

NAMESPACE = "gradc"
Structure = optree.PyTreeSpec

_STATIC_FIELDS = (int, str, bytes, type(None), enum.Enum, type)
_registered: set[type] = set()
_dataclass_parts: dict[type, Callable[[Any], Any]] = {}


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Leaves in order, and the structure that `unflatten` rebuilds the tree from."""
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    for leaf in leaves:
        kind = type(leaf)
        if dataclasses.is_dataclass(kind) and kind not in _registered:
            _register_dataclass(kind)
            return flatten(tree)
    return leaves, structure


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree with this structure and these leaves."""
    return optree.tree_unflatten(structure, leaves)


def key_orders(structure: Structure, tree: Any) -> tuple[tuple[Any, ...], ...]:
    """The keys of each dict in the tree, in the dict's own order.

    optree sorts them, so that equal structures may iterate in different orders; a function sees
    the dict's order, and its results follow it.
    """
    found: list[tuple[Any, ...]] = []

    def walk(structure: Structure, node: Any) -> None:
        cls = structure.type
        if cls is None:
            return
        if cls in (dict, collections.defaultdict):
            found.append(tuple(node))
            children = [node[key] for key in structure.entries()]
        else:
            children = optree.tree_flatten_one_level(
                node, none_is_leaf=True, namespace=NAMESPACE
            ).children
        for child, inner in zip(structure.children(), children, strict=True):
            walk(child, inner)

    walk(structure, tree)
    return tuple(found)


def leaf_paths(structure: Structure, root: str) -> list[str]:
    """The Python expression of each leaf, such as `params['w1'][0]`."""
    return [accessor.codify(root) for accessor in optree.treespec_accessors(structure)]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The tree of function(leaf, *other_leaves); the other trees must have the first one's
    structure.

    Raises TypeError naming both structures when they differ.
    """
    leaves, structure = flatten(tree)
    columns = [leaves]
    for other in others:
        more, found = flatten(other)
        if found != structure:
            raise TypeError(f"expected a tree of structure {structure}, got {found}")
        columns.append(more)
    return unflatten(structure, [function(*row) for row in zip(*columns)])


def register_pytree(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, tuple[Any, ...]], Any],
) -> type:
    """Make instances of `cls` trees in arguments and results.

    flatten(instance) -> (children, static): static must be hashable and comparable.
    unflatten(static, children) -> instance.
    Returns `cls`. Raises ValueError when the class is registered already.
    """

    def flatten_node(node: Any) -> tuple[tuple[Any, ...], Any, tuple[int, ...]]:
        children, static = flatten(node)
        children = tuple(children)
        return children, static, tuple(range(len(children)))

    def unflatten_node(static: Any, children: Iterable[Any]) -> Any:
        return unflatten(static, tuple(children))

    optree.register_pytree_node(cls, flatten_node, unflatten_node, namespace=NAMESPACE)
    _registered.add(cls)
    return cls


def is_static_field(value: Any) -> bool:
    """Does a dataclass field of this value belong to the structure?"""
    return isinstance(value, _STATIC_FIELDS) or (
        callable(value) and not hasattr(type(value), "__array__")
    )


def _register_dataclass(cls: type) -> None:
    names = tuple(f.name for f in dataclasses.fields(cls))

    def flatten_node(node: Any) -> tuple[list[Any], Any, Sequence[str]]:
        children: list[Any] = []
        entries: list[str] = []
        static: list[tuple[str, type, Any]] = []
        for name in names:
            value = getattr(node, name)
            # a bool is an int and 1 == 1.0: the type is part of the structure
            is_node = dataclasses.is_dataclass(value) and not isinstance(value, type)
            if is_static_field(value) and not is_node:
                static.append((name, type(value), value))
            else:
                children.append(value)
                entries.append(name)
        return children, (tuple(entries), tuple(static)), entries

    def unflatten_node(metadata: Any, children: Iterable[Any]) -> Any:
        entries, static = metadata
        node: Any = object.__new__(cls)
        for name, value in zip(entries, children):
            object.__setattr__(node, name, value)
        for name, _, value in static:
            object.__setattr__(node, name, value)
        return node

    optree.register_pytree_node(
        cls,
        flatten_node,
        unflatten_node,
        path_entry_type=optree.DataclassEntry,
        namespace=NAMESPACE,
    )
    _registered.add(cls)
    _dataclass_parts[cls] = flatten_node


def is_plain_dataclass(cls: type) -> bool:
    """Is this a dataclass that gradc opens by itself?"""
    return cls in _dataclass_parts


def static_fields(node: Any) -> tuple[tuple[str, type, Any], ...]:
    """(name, type, value) of the fields of a dataclass instance that belong to the structure."""
    found: tuple[tuple[str, type, Any], ...] = _dataclass_parts[type(node)](node)[1][1]
    return found


def leaf_type_error(value: Any, path: str) -> TypeError | None:
    """Why an array-like leaf cannot be an input: its dtype; None when it can."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "OSUVMmT":
        return TypeError(
            f"{path} is an array of dtype {dtype}: expected a bool, integer, floating or complex "
            "array; convert it first (for instance with .astype(np.float64)), or pass it through "
            "static_argnames"
        )
    return None
