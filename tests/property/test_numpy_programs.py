"""Random NumPy programs: compiled they agree with NumPy, their gradients with differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_programs import ProgramMaker, random_program
from program_checks import Tally, check_program

import gradc


def check_range(start: int, stop: int) -> Tally:
    tally = Tally()
    for seed in range(start, stop):
        check_program(random_program(seed), tally, seed, deep=seed % 6 == 0)
    return tally


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_programs(start: int) -> None:
    tally = check_range(start, start + 20)
    assert tally.entries > 100 and tally.second_order
    # Programs are made away from kinks, so nearly all differences must settle.
    assert tally.unsure <= tally.entries // 50


@settings(max_examples=10)
@given(st.data())
def test_drawn_programs(data: st.DataObject) -> None:
    """As above; a program that fails is made smaller."""
    maker = ProgramMaker(lambda n: data.draw(st.integers(0, n - 1)))
    steps = data.draw(st.integers(1, 8))
    check_program(maker.make(data.draw(st.integers(1, 3)), steps, 1), Tally(), 0, deep=False)


def test_arguments_that_overlap_in_memory() -> None:
    def loss(a, b, c):
        return np.sum(np.sin(a @ b) * np.cos(a @ c)) + np.cumsum(b * c).sum()

    base = np.random.default_rng(0).normal(size=40)
    rows = np.lib.stride_tricks.sliding_window_view(base, 5)[:6]
    gradient = gradc.value_and_grad(loss, (0, 1, 2))
    for arguments in ((rows, base[3:13:2], base[4::-1]), (rows, base[:5], base[:5])):
        apart = [x.copy() for x in arguments]
        value, gradients = gradient(*arguments)
        expected, wanted = gradient(*apart)
        assert value == expected
        np.testing.assert_allclose(value, loss(*apart))
        for found, one in zip(gradients, wanted, strict=True):
            np.testing.assert_array_equal(found, one)
        assert not np.shares_memory(gradients[1], gradients[2])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3200, 50))
def test_many_random_programs(start: int) -> None:
    tally = check_range(start, start + 50)
    assert tally.unsure <= tally.entries // 50
