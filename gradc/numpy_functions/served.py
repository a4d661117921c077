"""Functions that an operation serves by name (`Op.serves`) and that are no ufuncs.

Ufuncs are in ufuncs.py, `math` in python.py, `scipy.special` in special.py. What has an entry of
its own keeps it.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from gradc.frontend.promotion import broadcast_shapes, operand, result_type, shape_of, typed
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply
from gradc.ir.opdef import REGISTRY

_HOMES: dict[str, Any] = {"numpy": np, "builtins": builtins}
_ELSEWHERE = ("math", "scipy.special")


def serve(dotted: str, mnemonic: str) -> None:
    """Enter the function of this dotted name, done by the operation with this builder name.

    Operands have one dtype, as np.result_type gives it, and are broadcast. Raises ValueError for a
    module that the table does not know, and for a name that the module does not have.
    """
    module, _, name = dotted.rpartition(".")
    if module in _ELSEWHERE:
        return
    function = getattr(_HOMES.get(module), name, None)
    if function is None:
        homes = ", ".join((*_HOMES, *_ELSEWHERE))
        raise ValueError(f"{mnemonic} serves {dotted}: expected a function of {homes}")
    if function in TABLE or isinstance(function, np.ufunc):
        return

    def entry(*inputs: Any) -> Any:
        operands = [operand(x) for x in inputs]
        dtype = result_type(*operands)
        shape = broadcast_shapes(*map(shape_of, operands))
        return apply(mnemonic, *[typed(x, dtype, shape) for x in operands])

    entry.__name__ = name
    implements(function)(entry)


for _cls in REGISTRY.values():
    for _dotted in _cls.numpy_names():
        serve(_dotted, _cls.mnemonic())
