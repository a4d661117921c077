"""Contractions on their way to kernels: which become nests, which BLAS calls, and in which layout.

`nd.dot_general` becomes `kernel.einsum` (a nest that fuses with its neighbours) when it is an outer product, a
matrix-vector product, small, or not of a BLAS dtype; else `kernel.contract`. Transposes of its operands and of its
result are folded into axis numbers, since BLAS reads and writes through strides; operands whose axes cannot be
seen as one strided matrix for each batch index are transposed first.
"""

from __future__ import annotations

from math import prod
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value
from gradc.ir.ops.contract import free_axes
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.kernel import ContractKernel, Einsum
from gradc.ir.types import c64, c128, f32, f64

BLAS_DTYPES = (f32, f64, c64, c128)
# Multiply-adds for each batch index under which a call costs more than a nest.
SMALLEST_BLAS = 4096


def normalize_contractions(function: FuncOp) -> None:
    """Replace every dot_general of the function's body by a kernel operation."""
    block = function.body
    for op in list(block.ops):
        if getattr(op, "lowering", "") == "contract":
            replace(op)
    for op in list(block.ops):
        if op.name == "kernel.contract":
            fold_result_transpose(op)
    for op in list(block.ops):
        if op.name == "nd.add":
            fold_addition(op)


def replace(op: Operation) -> None:
    x, y = op.operands
    contract = op.attributes["contract"]
    batch = op.attributes.get("batch", ((), ()))
    free = [free_axes(v.type.rank, contract[k], batch[k]) for k, v in enumerate((x, y))]
    sizes = [[v.type.shape[a] for a in axes] for v, axes in zip((x, y), free, strict=True)]
    depth = [x.type.shape[a] for a in contract[0]]
    assert op.parent is not None
    b = Builder(op.parent, op.location, before=op)
    if _is_nest(x.type.dtype, *sizes, depth):
        new = _einsum(b, x, y, contract, batch, free)
    else:
        (x, contract_x, batch_x, free_x) = _as_matrix(b, x, contract[0], batch[0], free[0])
        (y, contract_y, batch_y, free_y) = _as_matrix(b, y, contract[1], batch[1], free[1])
        perm = tuple(range(len(batch_x) + len(free_x) + len(free_y)))
        attributes = {"contract": (contract_x, contract_y), "batch": (batch_x, batch_y)}
        new = b.create(ContractKernel, [x, y], {**attributes, "perm": perm})
    op.replace_by([new])


def _is_nest(dtype: Any, left: list[Any], right: list[Any], depth: list[Any]) -> bool:
    if dtype not in BLAS_DTYPES:
        return True
    sizes = [*left, *right, *depth]
    if any(type(n) is not int for n in sizes):
        return True  # sizes known only at run time: the nest is generic in them
    m, n, k = prod(left), prod(right), prod(depth)
    return min(m, n, k) <= 1 or m * n * k < SMALLEST_BLAS


def _einsum(b: Builder, x: Value, y: Value, contract: Any, batch: Any, free: Any) -> Value:
    """A nest whose loops follow the larger operand's axes, so that memory is read in order."""
    # Number the dims in result order, contracted ones last; then reorder the loops.
    names_x: dict[int, int] = {}
    names_y: dict[int, int] = {}
    sizes: list[Any] = []

    def new_dim(size: Any) -> int:
        sizes.append(size)
        return len(sizes) - 1

    for i, j in zip(*batch, strict=True):
        names_x[i] = names_y[j] = new_dim(x.type.shape[i])
    for i in free[0]:
        names_x[i] = new_dim(x.type.shape[i])
    for j in free[1]:
        names_y[j] = new_dim(y.type.shape[j])
    result = tuple(range(len(sizes)))
    for i, j in zip(*contract, strict=True):
        names_x[i] = names_y[j] = new_dim(x.type.shape[i])
    dims_x = [names_x[k] for k in range(x.type.rank)]
    dims_y = [names_y[k] for k in range(y.type.rank)]
    leading = dims_x if x.type.rank >= y.type.rank else dims_y
    head = [d for d in result if d not in leading]
    order = head + leading + [d for d in range(len(sizes)) if d not in head + leading]
    position = {d: k for k, d in enumerate(order)}
    attributes = {
        "domain": tuple(sizes[d] for d in order),
        "dims": (tuple(position[d] for d in dims_x), tuple(position[d] for d in dims_y)),
        "result": tuple(position[d] for d in result),
    }
    return b.create(Einsum, [x, y], attributes)


def _as_matrix(
    b: Builder, value: Value, contract: Any, batch: Any, free: Any
) -> tuple[Value, Any, Any, Any]:
    """The operand and its axes, seen through transposes and brought into an order that BLAS can read."""
    op = value.defining_op
    while op is not None and op.name == "nd.transpose":
        perm = op.attributes["perm"]
        contract, batch, free = (tuple(perm[a] for a in axes) for axes in (contract, batch, free))
        value = op.operands[0]
        op = value.defining_op
    if list(free) != sorted(free) or not is_strided_matrix(value.type.shape, contract, free):
        order = (*batch, *free, *contract)
        value = b.transpose(value, perm=order)
        n, m = len(batch), len(batch) + len(free)
        batch, free, contract = (
            tuple(range(n)), tuple(range(n, m)), tuple(range(m, value.type.rank)),
        )  # fmt: skip
    return value, contract, batch, free


def is_strided_matrix(shape: Any, rows: Any, columns: Any) -> bool:
    """In row-major order, are both groups of axes runs of neighbours, one of them with unit stride?"""

    def is_run(axes: Any) -> bool:
        big = [a for a in axes if shape[a] != 1]
        between = set(range(big[0], big[-1] + 1)) - set(big) if big else set()
        return big == sorted(big) and all(shape[a] == 1 for a in between)

    last = max((a for a in range(len(shape)) if shape[a] != 1), default=-1)
    return is_run(rows) and is_run(columns) and (last == -1 or last in (*rows, *columns))


def fold_result_transpose(op: Operation) -> None:
    """kernel.contract followed only by a transpose writes its result transposed."""
    users = list(op.result.users)
    if len(users) != 1 or users[0].name != "nd.transpose":
        return
    transpose = users[0]
    perm = tuple(op.attributes["perm"][p] for p in transpose.attributes["perm"])
    nb = len(op.attributes["batch"][0])
    nx = op.operands[0].type.rank - nb - len(op.attributes["contract"][0])
    rows = tuple(perm.index(k) for k in range(nb, nb + nx))
    columns = tuple(perm.index(k) for k in range(nb + nx, len(perm)))
    if not is_strided_matrix(transpose.result.type.shape, rows, columns):
        return
    assert op.parent is not None
    b = Builder(op.parent, op.location, before=op)
    new = b.create(ContractKernel, list(op.operands), {**op.attributes, "perm": perm})
    transpose.replace_by([new])
    op.erase()


def fold_addition(op: Operation) -> None:
    """add(a, b) of two products used nowhere else: the second accumulates onto the first."""
    first, second = op.operands
    if first is second:
        return
    for value in (first, second):
        producer = value.defining_op
        if producer is None or producer.name != "kernel.contract" or value.num_uses != 1:
            return
        if producer.attributes.get("accumulate"):
            return
    product = second.defining_op
    assert product is not None and op.parent is not None
    b = Builder(op.parent, op.location, before=op)
    new = b.create(
        ContractKernel, [*product.operands, first], {**product.attributes, "accumulate": True}
    )
    op.replace_by([new])
    product.erase()
