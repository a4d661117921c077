"""Operations that steer the chain rule: ad.stop_gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.core import defined_by
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Elementwise
from gradc.ir.ops.sampling import floats
from gradc.ir.type_rules import same_type
from gradc.ir.types import ARRAY_DTYPES


class StopGradient(Elementwise, name="ad.stop_gradient"):
    """x itself, as a constant for every derivative. Any array dtype."""

    tame = True
    infer = same_type(ARRAY_DTYPES)
    vjp = NOT_DIFFERENTIABLE
    cost = 0
    samples = floats(-4, 4, 1, ARRAY_DTYPES)

    def evaluate(x: Any) -> np.ndarray:
        return np.array(x)

    def scalar(s, x):
        return x

    def simplify(b, op):
        (x,) = op.operands
        return [x] if defined_by(x, "ad.stop_gradient") else None
