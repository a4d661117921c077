"""Temporary storage is shared between programs and bounded for the process."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from native_harness import function, ix, native

from gradc.ir.types import MemRefType, f64
from gradc.runtime import arenas


@pytest.fixture(autouse=True)
def own_lists(monkeypatch):
    """Programs made by other tests keep their lists; those of a test are its own."""
    monkeypatch.setattr(arenas, "_lists", {})


def through_arena(n):
    """A program that copies n numbers by way of its arena."""
    arrays = [((n,), f64)] * 2

    def body(b, x, out, arena):
        held = b.memref_view(arena, ix(b, 0), to=MemRefType((n,), f64))
        b.memref_copy(x, held)
        b.memref_copy(held, out)

    return native(function(arrays, body), arrays, 1, 8 * n)


@pytest.mark.parametrize("nbytes", [1, 63, 64, 65, 4097, 5000, 5120, 5121, 10**6, 2**31 + 1])
def test_capacities_hold_what_is_asked_and_little_more(nbytes):
    capacity = arenas.capacity_for(nbytes)
    assert nbytes <= capacity <= max(nbytes + 8, 1.25 * nbytes)
    assert arenas.capacity_for(capacity) == capacity


@pytest.mark.parametrize("nbytes", [5000, 200_000])
def test_an_arena_is_aligned_and_used_again(nbytes):
    kept = arenas.free_list(nbytes)
    first = kept.take()
    assert first.nbytes >= nbytes and first.ctypes.data % arenas.ALIGNMENT == 0
    assert kept.take() is not first
    kept.give(first)
    assert arenas.free_list(nbytes - 3).take() is first


def test_programs_of_one_size_share_an_arena():
    first, second = through_arena(20_000), through_arena(20_100)
    x = np.arange(20_100.0)
    for _ in range(3):
        np.testing.assert_array_equal(first(x[:20_000])[0], x[:20_000])
        np.testing.assert_array_equal(second(x)[0], x)
    assert arenas.held_bytes() == arenas.capacity_for(160_800)


def test_many_array_lengths_hold_no_more_than_the_bound(monkeypatch):
    monkeypatch.setattr(arenas, "MOST_BYTES", 2_000_000)
    for n in range(10_000, 120_000, 7_000):
        x = np.arange(float(n))
        np.testing.assert_array_equal(through_arena(n)(x)[0], x)
        assert arenas.held_bytes() <= 2_000_000


def test_the_oldest_use_goes_first(monkeypatch):
    sizes = [100_000, 200_000, 400_000]
    lists = [arenas.free_list(n) for n in sizes]
    taken = [kept.take() for kept in lists]
    for k in (1, 0, 2):
        lists[k].give(taken[k])
    monkeypatch.setattr(arenas, "MOST_BYTES", arenas.held_bytes() - 1)
    lists[0].give(lists[0].take())
    assert lists[0].free and lists[2].free and not lists[1].free


def test_an_arena_above_the_bound_is_not_kept(monkeypatch):
    monkeypatch.setattr(arenas, "MOST_BYTES", 100_000)
    kept = arenas.free_list(200_000)
    kept.give(kept.take())
    assert arenas.held_bytes() == 0


def test_lists_of_middle_sizes_are_bounded_by_their_length():
    kept = arenas.free_list(8192)
    for arena in [kept.take() for _ in range(3 * arenas.MOST_COUNTED)]:
        kept.give(arena)
    assert len(kept.free) == arenas.MOST_COUNTED


@pytest.mark.parametrize("n", [200, 2_000, 20_000])
def test_threads_never_share_an_arena(n, monkeypatch):
    """Arenas kept by the program, in a list bounded by its length, in one bounded by bytes."""
    monkeypatch.setattr(arenas, "MOST_BYTES", 400_000)
    run, failures = through_arena(n), []

    def work(seed):
        x = np.full(n, float(seed))
        for _ in range(200):
            if not np.array_equal(run(x)[0], x):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert arenas.held_bytes() <= 400_000
