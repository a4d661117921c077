"""The NumPy interpreter: the reference meaning of every program.

Each operation runs its own `evaluate`. Operations with regions define a method
`interpret(run, arrays)` instead, where run(block, arrays) executes a block and returns its
terminator's operand values. Errors name the user's line.

A symbolic size (`Dim`) has the value of the array that was last made or passed in with it: the
environment maps it to that int, which stands for it in the attributes of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.core import Block, Operation, Value
from gradc.ir.diagnostic import GradcError, IRError
from gradc.ir.types import Dim, TensorType, Type

Environment = dict[Value | Dim, Any]


def run_function(
    function: Operation,
    arguments: Sequence[Any],
    observe: Callable[[Operation, Sequence[Any]], None] | None = None,
) -> tuple[Any, ...]:
    """Execute a `func.func` on arrays; the returned arrays. `observe` sees each op's results."""
    with np.errstate(all="ignore"):
        return run_block(function.body, arguments, {}, observe)


def run_block(
    block: Block,
    arguments: Sequence[Any],
    env: Environment,
    observe: Callable[[Operation, Sequence[Any]], None] | None = None,
) -> tuple[Any, ...]:
    """Execute a block in an environment of outer values; the terminator's operands."""
    env.update(zip(block.args, arguments, strict=True))
    for value, array in zip(block.args, arguments, strict=True):
        learn_sizes(value.type, array, env)
    for op in block.ops[:-1]:
        results = run_op(op, [env[v] for v in op.operands], env, observe)
        if observe is not None:
            observe(op, results)
        env.update(zip(op.results, results, strict=True))
    return tuple(env[v] for v in block.ops[-1].operands)


def run_op(
    op: Operation, arrays: Sequence[Any], env: Environment, observe: Any = None
) -> Sequence[Any]:
    """The results of one operation."""
    interpret = getattr(op, "interpret", None)
    try:
        if interpret is not None:

            def run(block: Block, arguments: Sequence[Any]) -> tuple[Any, ...]:
                return run_block(block, arguments, env, observe)

            found = interpret(run, arrays)
        else:
            evaluate = getattr(op, "evaluate", None)
            if evaluate is None:
                raise IRError(f"{op.name} has no reference meaning (evaluate)", op)
            found = evaluate(*arrays, **concrete(op.attributes, env))
    except GradcError:
        raise
    except (IndexError, ZeroDivisionError, np.linalg.LinAlgError) as error:
        place = f"\nat {op.location}" if op.location else ""
        if place and "\nat " not in str(error):  # an operation in a region has named its own
            raise type(error)(f"{error}{place}") from error
        raise
    except Exception as error:
        raise IRError(f"the interpreter failed in {op.name}: {error}", op) from error
    if len(op.results) == 1 and not isinstance(found, tuple | list):
        found = (found,)
    results = [np.asarray(x) for x in found]
    for value, array in zip(op.results, results, strict=True):
        learn_sizes(value.type, array, env)
    return results


def learn_sizes(type: Type, array: Any, env: Environment) -> None:
    """Note in the environment what the symbolic sizes of a type are in this array."""
    if isinstance(type, TensorType) and not type.is_static:
        for size, n in zip(type.shape, np.shape(array), strict=True):
            if isinstance(size, Dim):
                env[size] = n


def concrete(attribute: Any, env: Environment) -> Any:
    """The attribute with each symbolic size replaced by its value."""
    if isinstance(attribute, Dim):
        if attribute not in env:
            raise GradcError(f"the size {attribute.name} is used before an array has it")
        return env[attribute]
    if isinstance(attribute, tuple):
        return tuple(concrete(x, env) for x in attribute)
    if isinstance(attribute, dict):
        return {key: concrete(x, env) for key, x in attribute.items()}
    if isinstance(attribute, TensorType) and not attribute.is_static:
        return attribute.with_shape(concrete(attribute.shape, env))
    return attribute
