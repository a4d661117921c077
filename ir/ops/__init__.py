"""The operations. Importing this package registers all of them; one file a topic."""

from gradc.ir.ops import (  # noqa: F401
    arith,
    arith_casts,
    arith_integers,
    contract,
    creation,
    elementwise,
    func,
    kernel,
    math,
    reduce,
    shape,
)
