"""The NumPy interpreter: the reference meaning of every program.

Each operation runs its own `evaluate`. Operations with regions define `interpret(run, op, arrays)` instead,
where run(block, arrays) executes a block and returns its terminator's operand values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.core import Block, Operation, Value
from gradc.ir.diagnostic import GradcError, IRError

Environment = dict[Value, Any]


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
            found = evaluate(*arrays, **op.attributes)
    except (GradcError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
        raise
    except Exception as error:
        raise IRError(f"the interpreter failed in {op.name}: {error}", op) from error
    if len(op.results) == 1 and not isinstance(found, tuple | list):
        found = (found,)
    return [np.asarray(x) for x in found]
