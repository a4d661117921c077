"""BLAS for compiled programs: SciPy's routines, called by name."""

from __future__ import annotations

from gradc.runtime import compile

ROUTINES = tuple(f"{letter}{stem}" for stem in ("gemm", "gemv") for letter in "sdcz")


def provide() -> None:
    """Make SciPy's BLAS routines known to compiled code as gradc_sgemm and so on."""
    import scipy.linalg.cython_blas  # noqa: F401  (numba looks the module up)
    from numba.extending import get_cython_function_address

    for name in ROUTINES:
        address = get_cython_function_address("scipy.linalg.cython_blas", name)
        compile.add_symbol(f"gradc_{name}", address)
