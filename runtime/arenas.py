"""The temporary storage that native calls borrow: one pool for all programs of the process.

A program has a free list, which it shares with all programs that need about as much. What the lists
hold while nobody uses it is bounded: the lists that were used longest ago give up theirs first.
There is no lock: every step is one operation of a list or a dict, which Python's lock makes whole,
so that threads, forks and signal handlers need no care."""

from __future__ import annotations

import itertools

import numpy as np

ALIGNMENT = 64
MOST_BYTES = 512 << 20  # held by all free lists together, for calls to come
SMALL = 4096  # an arena up to this costs less than sharing it: programs keep their own
COUNTED = 64 << 10  # up to this size a list is bounded by its length alone
MOST_COUNTED = 8

_uses = itertools.count()


class FreeList:
    """Arenas of one capacity, the one used last on top."""

    __slots__ = ("capacity", "free", "last_use")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.free: list[np.ndarray] = []
        self.last_use = 0

    def take(self) -> np.ndarray:
        """An arena that nobody else uses; what it holds does not matter."""
        try:
            return self.free.pop()
        except IndexError:
            return new_arena(self.capacity)

    def give(self, arena: np.ndarray) -> None:
        """Hand back an arena that `take` gave."""
        if self.capacity <= COUNTED:
            if len(self.free) < MOST_COUNTED:
                self.free.append(arena)
            return
        self.last_use = next(_uses)
        self.free.append(arena)
        if held_bytes() > MOST_BYTES:
            _shrink()


_lists: dict[int, FreeList] = {}


def free_list(nbytes: int) -> FreeList:
    """The list whose arenas have at least this many bytes."""
    capacity = capacity_for(nbytes)
    return _lists.setdefault(capacity, FreeList(capacity))


def capacity_for(nbytes: int) -> int:
    """The size rounded up to one of four in each power of two."""
    step = 1 << max(0, max(nbytes - 1, 1).bit_length() - 3)
    return -(-nbytes // step) * step


def held_bytes() -> int:
    """What the free lists hold."""
    return sum(kept.capacity * len(kept.free) for kept in list(_lists.values()))


def _shrink() -> None:
    """Let go of arenas until the lists hold no more than they may, oldest use first."""
    for kept in sorted(_lists.values(), key=lambda kept: kept.last_use):
        while kept.free and held_bytes() > MOST_BYTES:
            try:
                del kept.free[0]
            except IndexError:  # another thread took it
                break


def new_arena(nbytes: int) -> np.ndarray:
    """Uninitialised aligned bytes."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + nbytes]
