"""Contractions on their way to kernels: which become nests, which BLAS calls, and in which layout.

`nd.dot_general` becomes `kernel.einsum` (a nest that fuses with its neighbours) when it is an outer
product, a matrix-vector product, small, or not of a BLAS dtype; else `kernel.contract`. Transposes
of its operands and of its result are folded into axis numbers, since BLAS reads and writes through
strides; operands whose axes cannot be seen as one strided matrix for each batch index are
transposed first.
"""

from __future__ import annotations

from math import prod
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value
from gradc.ir.opdef import Contract
from gradc.ir.ops.blas import BLAS_LETTERS
from gradc.ir.ops.choose import Select
from gradc.ir.ops.contract import free_axes
from gradc.ir.ops.contract_kernel import ContractKernel, Einsum
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.elementwise import Add
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.shape import Broadcast, Transpose

# Multiply-adds for each batch index under which a call costs more than a nest.
SMALLEST_BLAS = 4096


def normalize_contractions(function: FuncOp) -> None:
    """Replace every dot_general of the function's body by a kernel operation."""
    block = function.body
    for op in list(block.ops):
        if isinstance(op, Contract):
            replace(op)
    for op in list(block.ops):
        if isinstance(op, ContractKernel):
            fold_result_mask(op)
    for op in list(block.ops):
        if isinstance(op, ContractKernel):
            fold_result_transpose(op)
    for op in list(block.ops):
        if isinstance(op, Add):
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
    if _is_nest(x.type.dtype, sizes[0], sizes[1], depth):
        new = _einsum(b, x, y, contract, batch, free)
    else:
        left = Matrix(x, contract[0], batch[0], free[0]).prepare(b)
        right = Matrix(y, contract[1], batch[1], free[1]).prepare(b)
        attributes: dict[str, Any] = {
            "contract": (left.contract, right.contract),
            "batch": (left.batch, right.batch),
            "perm": tuple(range(len(left.batch) + len(left.free) + len(right.free))),
        }
        masks = [(0, *m) for m in left.masks] + [(1, *m) for m in right.masks]
        if masks:
            attributes["masks"] = tuple((target, axes) for target, axes, _ in masks)
        operands = [left.value, right.value, *(mask for _, _, mask in masks)]
        new = b.create(ContractKernel, operands, attributes)
    op.replace_by([new])


def _is_nest(dtype: Any, left: list[Any], right: list[Any], depth: list[Any]) -> bool:
    if dtype not in BLAS_LETTERS:
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


class Matrix:
    """An operand of a contraction: an array, the roles of its axes, and masks over some of them.

    masks: (axes, i1 array over them): elements where a mask is false count as zero
    """

    def __init__(self, value: Value, contract: Any, batch: Any, free: Any) -> None:
        self.value = value
        self.contract, self.batch, self.free = contract, batch, free
        self.masks: list[tuple[tuple[int, ...], Value]] = []

    def prepare(self, b: Builder) -> Matrix:
        """See through transposes and masks; bring the axes into an order that BLAS can read."""
        best = self
        current = self
        while True:
            below = current.below_transpose() or current.below_mask()
            if below is None:
                break
            current = below
            if current.is_readable():
                best = current
        if best.is_readable():
            return best
        order = (*best.batch, *best.free, *best.contract)
        n, m = len(best.batch), len(best.batch) + len(best.free)
        axes = tuple(range(len(order)))
        return Matrix(b.transpose(best.value, perm=order), axes[m:], axes[:n], axes[n:m])

    def is_readable(self) -> bool:
        return list(self.free) == sorted(self.free) and is_strided_matrix(
            self.value.type.shape, self.contract, self.free
        )

    def below_transpose(self) -> Matrix | None:
        op = self.value.defining_op
        if not isinstance(op, Transpose):
            return None
        perm = op.attributes["perm"]
        roles = [tuple(perm[a] for a in r) for r in (self.contract, self.batch, self.free)]
        found = Matrix(op.operands[0], *roles)
        found.masks = [(tuple(perm[a] for a in axes), mask) for axes, mask in self.masks]
        return found

    def below_mask(self) -> Matrix | None:
        parts = masked_parts(self.value)
        if parts is None:
            return None
        value, axes, mask = parts
        found = Matrix(value, self.contract, self.batch, self.free)
        found.masks = [*self.masks, (axes, mask)]
        return found


def masked_parts(value: Value) -> tuple[Value, tuple[int, ...], Value] | None:
    """(array, axes, mask) when `value` is the array where a mask over some axes holds, else 0."""
    op = value.defining_op
    if not isinstance(op, Select) or constant_value(op.operands[2]) != 0:
        return None
    condition = op.operands[0].defining_op
    if not isinstance(condition, Broadcast):
        return None
    axes = condition.attributes["dims"]
    return (op.operands[1], axes, condition.operands[0]) if axes else None


def is_strided_matrix(shape: Any, rows: Any, columns: Any) -> bool:
    """Are both groups of axes runs of neighbours in row-major order, one with unit stride?"""

    def is_run(axes: Any) -> bool:
        big = [a for a in axes if shape[a] != 1]
        between = set(range(big[0], big[-1] + 1)) - set(big) if big else set()
        return big == sorted(big) and all(shape[a] == 1 for a in between)

    last = max((a for a in range(len(shape)) if shape[a] != 1), default=-1)
    return is_run(rows) and is_run(columns) and (last == -1 or last in (*rows, *columns))


def fold_result_mask(op: Operation) -> None:
    """kernel.contract used only under a mask over some of its axes applies the mask itself."""
    users = list(op.result.users)
    if len(users) != 1 or op.result.num_uses != 1 or not isinstance(users[0], Select):
        return
    parts = masked_parts(users[0].result)
    if parts is None or parts[0] is not op.result:
        return
    _, axes, mask = parts
    # The mask may be computed after the product: the product moves down to its user.
    assert op.parent is not None
    b = Builder(op.parent, op.location, before=users[0])
    masks = (*op.attributes.get("masks", ()), (2, axes))
    new = b.create(ContractKernel, [*op.operands, mask], {**op.attributes, "masks": masks})
    users[0].replace_by([new])
    op.erase()


def fold_result_transpose(op: Operation) -> None:
    """kernel.contract followed only by a transpose writes its result transposed."""
    users = list(op.result.users)
    if len(users) != 1 or not isinstance(users[0], Transpose):
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
    attributes = {**op.attributes, "perm": perm}
    if "masks" in attributes:
        place = {old: new for new, old in enumerate(transpose.attributes["perm"])}
        attributes["masks"] = tuple(
            (target, tuple(place[a] for a in axes) if target == 2 else axes)
            for target, axes in attributes["masks"]
        )
    new = b.create(ContractKernel, list(op.operands), attributes)
    transpose.replace_by([new])
    op.erase()


def fold_addition(op: Operation) -> None:
    """add(a, b) of two products used nowhere else: the second accumulates onto the first."""
    first, second = op.operands
    if first is second:
        return
    for value in (first, second):
        producer = value.defining_op
        if not isinstance(producer, ContractKernel) or value.num_uses != 1:
            return
        if producer.attributes.get("accumulate"):
            return
        if any(target == 2 for target, _ in producer.attributes.get("masks", ())):
            return
    product = second.defining_op
    assert product is not None and op.parent is not None
    b = Builder(op.parent, op.location, before=op)
    operands = [*product.operands[:2], first, *product.operands[2:]]
    new = b.create(ContractKernel, operands, {**product.attributes, "accumulate": True})
    op.replace_by([new])
    product.erase()
