"""Where the pool keeps its state; see pool.py."""

from __future__ import annotations

# Places in the pool's state, in words of 8 bytes; those that several threads write lie 64 bytes
# apart.
WORD, FUNCTION, DATA, STRIDE, EXTRA = 0, 8, 9, 10, 11
DONE, OWNER, SLEEPERS, READY, LIMIT = 16, 24, 32, 40, 48
MUTEX, CONDITION = 56, 72  # pthread_mutex_t and pthread_cond_t: 128 bytes for each
BLAS_GET, BLAS_SET = 88, 89  # OpenBLAS's functions for its number of threads, or 0
BLAS_NARROW, BLAS_BEFORE = 90, 91  # launches that keep it to one thread; its number before them
BLAS_MUTEX = 96  # OpenBLAS's threads share work space: one of its parallel calls at a time
WORDS = 112

SLEEP_AFTER = 200_000  # nanoseconds without work
INTERRUPTED = -2  # a rank below every job's


def at(name: str, place: int) -> str:
    """The LLVM line that names the address of a place."""
    return f"%{name} = getelementptr i64, ptr @gradc_pool_state, i64 {place}"
