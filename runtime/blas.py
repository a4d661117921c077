"""BLAS for compiled programs: SciPy's routines, called by name, on the threads of gradc's pool.

SciPy's wheels bring an OpenBLAS that hands its parallel jobs to a callback. Where a BLAS has no
such hook, it uses threads of its own and nothing else changes."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from gradc.ir.ops.blas import BLAS_LETTERS
from gradc.runtime import compile

ROUTINES = tuple(f"{letter}{stem}" for stem in ("gemm", "gemv") for letter in BLAS_LETTERS.values())
PREFIXES = ("scipy_", "")
CALLBACK = "openblas_set_threads_callback_function"

_library: Any = None
_searched = False


def provide() -> None:
    """Make SciPy's BLAS routines known to compiled code as gradc_sgemm and so on."""
    from numba.extending import get_cython_function_address

    importlib.import_module("scipy.linalg.cython_blas")
    for name in ROUTINES:
        address = get_cython_function_address("scipy.linalg.cython_blas", name)
        compile.add_symbol(f"gradc_{name}", address)


def library() -> Any:
    """SciPy's OpenBLAS as a ctypes library, or None where SciPy uses another BLAS."""
    global _library, _searched
    if not _searched:
        _searched = True
        # Symbols of libraries that an extension module was linked with are found through it.
        module = importlib.import_module("scipy.linalg._fblas")
        found = ctypes.CDLL(module.__file__)
        if hasattr(found, CALLBACK) and _function(found, "openblas_get_num_threads") is not None:
            _library = found
    return _library


def _function(found: Any, name: str) -> Any:
    for prefix in PREFIXES:
        if hasattr(found, prefix + name):
            return getattr(found, prefix + name)
    return None


def thread_functions() -> tuple[int, int]:
    """Addresses of OpenBLAS's get_num_threads and set_num_threads, or zeros."""
    if library() is None:
        return 0, 0
    names = ("openblas_get_num_threads", "openblas_set_num_threads")
    get, set = (ctypes.cast(_function(library(), n), ctypes.c_void_p).value for n in names)
    return get or 0, set or 0


def num_threads() -> int:
    """How many threads SciPy's BLAS uses; 1 where it does not say."""
    return 1 if library() is None else int(_function(library(), "openblas_get_num_threads")())


def set_callback(address: int) -> None:
    """Hand BLAS's parallel jobs to the function at an address; 0 gives them back to BLAS."""
    if library() is not None:
        getattr(library(), CALLBACK)(ctypes.c_void_p(address))


def core_name() -> str:
    """Which kernels the BLAS runs, such as "SkylakeX"; "" where it does not say."""
    function = _function(library(), "openblas_get_corename") if library() is not None else None
    if function is None:
        return ""
    function.restype = ctypes.c_char_p
    return function().decode()
