"""Contractions as kernels: matrix products through BLAS, and products as nests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Loop, Op
from gradc.ir.ops.contract import DotGeneral
from gradc.ir.ops.kernel import check_outputs, store_outputs
from gradc.ir.types import MemRefType, TensorType, i1


class ContractKernel(Loop, name="kernel.contract"):
    """nd.dot_general(x, y) with its result axes permuted (`perm`), plus `init` where given.

    Operands (x, y[, init], masks...[, out]); `accumulate` says that init is there. Result axis k is
    axis perm[k] of (batch, x free, y free). `masks` = (target, axes) for each mask operand, an i1
    array over those axes of x (target 0), y (1) or the result (2): elements where it is false count
    as zero.
    """

    def infer(
        x: Any,
        y: Any,
        *rest: Any,
        contract: Any,
        batch: Any,
        perm: Any,
        accumulate: bool = False,
        masks: Any = (),
    ) -> Any:
        as_tensors = [TensorType(t.shape, t.dtype) for t in (x, y)]
        found = DotGeneral.infer(*as_tensors, contract=contract, batch=batch)
        result = found.with_shape(tuple(found.shape[p] for p in perm))
        if accumulate:
            init, *rest = rest  # type: ignore[assignment]
            if not isinstance(init, TensorType | MemRefType) or init.shape != result.shape:
                raise TypeRuleError(f"expected init of type {result}, got {init}")
        for (target, axes), mask in zip(masks, rest, strict=False):
            shape = (x, y, result)[target].shape
            if mask.dtype is not i1 or mask.shape != tuple(shape[a] for a in axes):
                raise TypeRuleError(f"expected a mask over axes {axes} of {shape}, got {mask}")
        return check_outputs(rest[len(masks) :], [result])

    @staticmethod
    def mask_operands(op: Any) -> list[Any]:
        """(target, axes, mask value) of each mask."""
        first = 3 if op.attributes.get("accumulate") else 2
        masks = op.attributes.get("masks", ())
        values = op.operands[first : first + len(masks)]
        return [(*mask, value) for mask, value in zip(masks, values, strict=True)]

    @staticmethod
    def loops(op: Any) -> Any:
        """The batch loops' sizes, and the loop of each axis of the operands and of the result."""
        batch = op["batch"]
        sizes = tuple(op.operands[0].type.shape[a] for a in batch[0])
        written = _batch_dims(op["perm"], len(sizes))
        follows = []
        reads: dict[Any, Any] = {}
        for value, axes in zip(op.operands, batch, strict=False):
            access = tuple(axes.index(k) if k in axes else None for k in range(value.type.rank))
            follows.append(access)
            reads.setdefault(value, []).append(access)
        follows.append(written)
        if op.attributes.get("accumulate"):
            reads.setdefault(op.operands[2], []).append(written)
        for target, axes, value in ContractKernel.mask_operands(op):
            reads.setdefault(value, []).append(tuple(follows[target][a] for a in axes))
        return sizes, reads, written

    def interpret(self, run: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
        x, y, *rest = arrays
        init = rest.pop(0) if self.attributes.get("accumulate") else None
        masks = self.attributes.get("masks", ())
        values, outs = rest[: len(masks)], rest[len(masks) :]

        def masked(array: Any, wanted: int) -> Any:
            for (target, axes), mask in zip(masks, values, strict=True):
                if target == wanted:
                    shape = [n if k in axes else 1 for k, n in enumerate(array.shape)]
                    order = np.argsort(axes)
                    spread = np.transpose(mask, order).reshape(shape)
                    array = np.where(spread, array, 0).astype(array.dtype)
            return array

        attributes = {"contract": self["contract"], "batch": self["batch"]}
        value = DotGeneral.evaluate(masked(x, 0), masked(y, 1), **attributes)
        value = masked(np.transpose(value, self["perm"]), 2)
        if init is not None:
            value = value + init
        return store_outputs([value], outs)


def _batch_dims(perm: Sequence[int], batch: int) -> tuple[int | None, ...]:
    return tuple(p if p < batch else None for p in perm)


class Einsum(Op, name="kernel.einsum"):
    """sum over the dims not in `result` of x[dims[0]] * y[dims[1]] over a `domain` of sizes."""

    lowering = "einsum"

    def infer(x: Any, y: Any, *, domain: Any, dims: Any, result: Any) -> TensorType:
        for t, own in zip((x, y), dims, strict=True):
            if t.shape != tuple(domain[d] for d in own):
                raise TypeRuleError(f"{t} does not have dims {own} of {domain}")
        return x.with_shape(tuple(domain[d] for d in result))

    def evaluate(x: Any, y: Any, *, domain: Any, dims: Any, result: Any) -> Any:
        found = np.einsum(x, list(dims[0]), y, list(dims[1]), list(result))
        return np.asarray(found).astype(x.dtype, copy=False)
