"""Which names a Python function binds: the scope rules that the rewrite needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

ScopeNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class Scope:
    """Names of one function, class or comprehension.

    bound:      assigned here;  globals, nonlocals: declared so here
    is_class:   a class body, whose names are invisible to functions inside it
    """

    bound: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    is_class: bool = False


def scope_of(node: ScopeNode) -> Scope:
    """The scope that a function or class opens."""
    scope = Scope(is_class=isinstance(node, ast.ClassDef))
    if not isinstance(node, ast.ClassDef):
        a = node.args
        arguments = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
        scope.bound.update(x.arg for x in arguments if x is not None)
    body = [node.body] if isinstance(node.body, ast.expr) else node.body
    for child in body:
        _collect(child, scope)
    scope.bound -= scope.globals | scope.nonlocals
    return scope


def comprehension_scope(generators: list[ast.comprehension]) -> Scope:
    """The scope of a comprehension: its targets."""
    scope = Scope()
    for generator in generators:
        scope.bound.update(stored_names(generator.target))
    return scope


def stored_names(target: ast.AST) -> Iterator[str]:
    """The plain names that an assignment target stores or deletes."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id


def _collect(node: ast.AST, scope: Scope) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store | ast.Del):
            scope.bound.add(node.id)
    elif isinstance(node, ast.Global):
        scope.globals.update(node.names)
    elif isinstance(node, ast.Nonlocal):
        scope.nonlocals.update(node.names)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        scope.bound.update((a.asname or a.name).split(".")[0] for a in node.names)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        if node.name:
            scope.bound.add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        scope.bound.add(node.rest)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope.bound.add(node.name)
        children: list[ast.AST] = list(node.decorator_list)
        if isinstance(node, ast.ClassDef):
            children += [*node.bases, *node.keywords]
        else:
            children += _defaults(node.args)
    elif isinstance(node, ast.Lambda):
        children = _defaults(node.args)
    elif isinstance(node, _COMPREHENSIONS):
        # targets live in the comprehension, but `:=` inside it binds here
        children = [
            child
            for inner in ast.walk(node)
            if isinstance(inner, ast.NamedExpr)
            for child in (inner.target,)
        ]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        _collect(child, scope)


def _defaults(arguments: ast.arguments) -> list[ast.AST]:
    return [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
