"""NumPy, Python's built-in functions, `math` and `scipy.special` on traced arrays: one file a
topic.

Importing this package fills the table. `TABLE` maps a public callable to its implementation, which
takes the same arguments, tracers among them; `CREATION` holds those that give a traced array
without any.
"""

from gradc.frontend.table import CREATION, TABLE, implementation
from gradc.numpy_functions import (  # noqa: F401
    arithmetic,
    contraction,
    creation,
    einsum,
    norms,
    operators,
    python,
    rearranging,
    reductions,
    selection,
    served,
    shaping,
    special,
    statistics,
    ufunc_methods,
    ufuncs,
)

__all__ = ["CREATION", "TABLE", "implementation"]
