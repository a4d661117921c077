"""The operations. Importing this package registers all of them; one file a topic."""

from gradc.ir.ops import (  # noqa: F401
    contract,
    creation,
    elementwise,
    func,
    kernel,
    reduce,
    shape,
)
