"""LLVM text to machine code, through Numba's code library. The only file that touches Numba's
internals.

Numba is imported on first use. Machine code is kept for the life of the process, keyed by a digest
of the text, and on disk (cache.py)."""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
from collections.abc import Sequence
from typing import Any

from gradc.ir.diagnostic import GradcError
from gradc.runtime import cache, objectfile

FASTCALL = 0x80  # METH_FASTCALL of CPython's methodobject.h
PIPELINE = {"opt": 2, "loop_vectorize": True, "slp_vectorize": False}  # LLVM's passes

# Symbols that compiled code may leave to the process: the C runtime, libm, and CPython.
C_LIBRARY = frozenset(
    """memcpy memmove memset bzero __bzero fmod fmodf
    exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh
    atanh erf erfc cbrt pow expf exp2f expm1f logf log2f log10f log1pf sinf cosf tanf asinf acosf
    atanf atan2f sinhf coshf tanhf asinhf acoshf atanhf erff erfcf cbrtf powf floor floorf ceil
    ceilf trunc truncf rint rintf roundeven roundevenf fma fmaf sched_yield clock_gettime malloc
    free pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait pthread_cond_broadcast
    pthread_create pthread_join pthread_self PyEval_SaveThread PyEval_RestoreThread PyLong_FromLong
    PyErr_CheckSignals _GLOBAL_OFFSET_TABLE_""".split()
)

_linked: dict[str, dict[str, int]] = {}  # for the digest of a text: addresses asked for
_known_symbols: set[str] = set()
_compilations = 0
_codegen: Any = None


class CompileError(GradcError):
    """LLVM refuses a module, or it needs a symbol that is not provided."""


def native_compilations() -> int:
    """How many modules LLVM has compiled in this process (what a cache answered does not count)."""
    return _compilations


def add_symbol(name: str, address: int) -> None:
    """Make an address callable from compiled code under a name."""
    import llvmlite.binding as llvm

    llvm.add_symbol(name, address)
    _known_symbols.add(name)


def address_of(text: str, entry: str) -> int:
    """The address of `entry` in the machine code of an LLVM module, compiled when it is new."""
    return addresses_of(text, (entry,))[entry]


def addresses_of(text: str, names: Sequence[str]) -> dict[str, int]:
    """Addresses of functions that an LLVM module defines, compiled unless a cache has it."""
    key = cache.key(text, target())
    known = _linked.get(key, {})
    if not all(name in known for name in names):
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:
            known = _load(text, key, names)
    return {name: known[name] for name in names}


def data_address(name: str) -> int:
    """The address of an external variable of a module compiled before."""
    return _code_generator()._engine.get_global_value_address(name)


def assembly(text: str) -> str:
    """The assembly of an LLVM module for this machine."""
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        return _optimised(text).get_asm_str()


@functools.cache
def target() -> str:
    """What machine code depends on: versions, passes, triple, CPU and features."""
    import llvmlite
    import numba
    import numpy

    try:
        own = importlib.metadata.version("gradc")
    except importlib.metadata.PackageNotFoundError:  # run from a copy that is not installed
        own = "unknown"
    versions = {
        "gradc": own,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": numpy.__version__,
        **PIPELINE,
    }
    shown = " ".join(f"{name} {version}" for name, version in versions.items())
    return f"{shown} {' '.join(_code_generator().magic_tuple())}"


def _code_generator() -> Any:
    global _codegen
    if _codegen is None:
        from numba.core.codegen import JITCPUCodegen
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:
            if _codegen is None:
                _codegen = JITCPUCodegen("gradc")
    return _codegen


def _load(text: str, key: str, names: Sequence[str]) -> dict[str, int]:
    """Link a module, unless that is done, and note the addresses of `names`."""
    global _compilations
    if key not in _linked:
        code = cache.load(key)
        fresh = code is None
        if code is None:
            library = _optimised(text)
            code = library.codegen._tm.emit_object(library._final_module)
            _compilations += 1
        missing = objectfile.undefined_symbols(code) - C_LIBRARY - _known_symbols
        if missing:
            raise CompileError(
                f"compiled code needs the symbols {', '.join(sorted(missing))}, which gradc does "
                "not provide: an operation reached machine code that this CPU has no instruction "
                "for"
            )
        _link(code)
        _linked[key] = {}
        if fresh:
            cache.store(key, code)
    engine = _code_generator()._engine
    _linked[key].update({name: engine.get_function_address(name) for name in names})
    return _linked[key]


def _optimised(text: str) -> Any:
    """A Numba code library holding the optimised module; not linked."""
    import llvmlite.binding as llvm

    codegen = _code_generator()
    library = codegen.create_library("gradc")
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the emitted module: {error}") from error
    module.triple = llvm.get_process_triple()
    module.data_layout = codegen._data_layout
    passes, builder = codegen._module_pass_manager(**PIPELINE)
    passes.run(module, builder)
    library._final_module = module
    library._finalized = True
    return library


def _link(code: bytes) -> None:
    """Make object code callable. Its external names are unique in the process (see emit_llvm)."""
    import llvmlite.binding as llvm

    engine = _code_generator()._engine._ee
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("meth", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_callables: dict[int, tuple[Any, _MethodDef]] = {}


def python_function(address: int, name: str) -> Any:
    """A METH_FASTCALL function at an address as a Python callable; one for each address."""
    if address not in _callables:
        definition = _MethodDef(name.encode(), address, FASTCALL, None)
        new = ctypes.pythonapi.PyCFunction_NewEx
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.POINTER(_MethodDef), ctypes.c_void_p, ctypes.c_void_p]
        # The function refers to its definition for ever.
        _callables.setdefault(address, (new(definition, None, None), definition))
    return _callables[address][0]
