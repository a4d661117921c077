"""The one thread pool: its workers are Python daemon threads inside a native loop (pool.py).

`set_num_threads(n)`, or GRADC_NUM_THREADS, sets how many threads compiled code uses, the calling
one included; the default is the number of CPUs that the process may use. SciPy's BLAS, which
compiled code calls, uses no more. Results do not depend on it. After a fork the child has no
workers and starts them anew with the next program that it makes ready."""

from __future__ import annotations

import ctypes
import os
import platform
import threading

from gradc.ir.diagnostic import GradcError
from gradc.runtime import blas, compile, pool
from gradc.runtime import pool_state as places

_lock = threading.Lock()
_functions: dict[str, ctypes._CFuncPtr] = {}  # type: ignore[name-defined]
_state: ctypes.Array[ctypes.c_int64] | None = None
_wanted: int | None = None  # what set_num_threads asked for
_workers = -1  # none, and not yet told to BLAS
_blas_threads = 1  # what BLAS would use by itself
_blas_jobs = 0  # the address of its callback


class ThreadCountError(GradcError, ValueError):
    """A number of threads that makes no sense."""


def get_num_threads() -> int:
    """How many threads compiled code uses, the calling one included."""
    return _default() if _wanted is None else _wanted


def set_num_threads(count: int) -> None:
    """Use `count` threads from now on; ThreadCountError unless it is at least 1."""
    global _wanted
    if type(count) is not int or count < 1:
        raise ThreadCountError(f"expected a number of threads of at least 1, got {count!r}")
    with _lock:
        _wanted = count
        if _state is not None:
            _resize(count - 1)


def start() -> None:
    """Start the pool, unless it runs."""
    global _state
    if _state is not None and _workers == get_num_threads() - 1:
        return
    with _lock:
        if _state is None:
            _state = _load()
        _resize(get_num_threads() - 1)


def _default() -> int:
    text = os.environ.get("GRADC_NUM_THREADS", "")
    if text:
        if not text.isdecimal() or int(text) < 1:
            raise ThreadCountError(
                f"expected the environment's GRADC_NUM_THREADS to be at least 1, got {text!r}"
            )
        return int(text)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _load() -> ctypes.Array[ctypes.c_int64]:
    """Compile the pool, set up its locks, register what happens on a fork."""
    global _blas_threads, _blas_jobs
    text = pool.text(platform.machine())
    addresses = compile.addresses_of(text, (*pool.PROVIDED, *pool.NATIVE))
    for name in pool.PROVIDED:
        compile.add_symbol(name, addresses[name])
    kinds = {"gradc_worker": (ctypes.c_int64,), "gradc_set_limit": (ctypes.c_int64, ctypes.c_int)}
    for name, parameters in kinds.items():
        _functions[name] = ctypes.CFUNCTYPE(None, *parameters)(addresses[name])
    state = (ctypes.c_int64 * places.WORDS).from_address(compile.data_address("gradc_pool_state"))
    _init_locks(state)
    get, set = blas.thread_functions()
    state[places.BLAS_GET], state[places.BLAS_SET] = get, set
    _blas_threads = blas.num_threads()
    _blas_jobs = addresses["gradc_blas_jobs"]
    os.register_at_fork(after_in_child=_after_fork)
    return state


def _init_locks(state: ctypes.Array[ctypes.c_int64]) -> None:
    library = ctypes.CDLL(None)
    base = ctypes.addressof(state)
    for place in (places.MUTEX, places.BLAS_MUTEX):
        library.pthread_mutex_init(ctypes.c_void_p(base + 8 * place), None)
    library.pthread_cond_init(ctypes.c_void_p(base + 8 * places.CONDITION), None)


def _resize(workers: int) -> None:
    """Let workers leave or start new ones."""
    global _workers
    if workers == _workers:
        return
    if _workers < 0:
        blas.set_callback(_blas_jobs)
    _functions["gradc_set_limit"](workers, min(workers + 1, _blas_threads))
    for number in range(max(0, _workers), workers):
        threading.Thread(
            target=_functions["gradc_worker"], args=(number,), daemon=True, name=f"gradc-{number}"
        ).start()
    _workers = workers


def _after_fork() -> None:
    """In the child: there are no workers, nobody holds the pool, and BLAS works on its own."""
    global _workers, _lock
    if _state is None:
        return
    _lock = threading.Lock()
    _workers = -1
    for place in (
        places.OWNER,
        places.SLEEPERS,
        places.READY,
        places.LIMIT,
        places.DONE,
        places.BLAS_NARROW,
        places.WORD,
    ):
        _state[place] = 0
    _init_locks(_state)
    blas.set_callback(0)
