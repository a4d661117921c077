"""Random NumPy programs: compiled they agree with NumPy, their gradients with differences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_programs import ProgramMaker, random_program
from program_checks import Tally, check_program


def check_range(start: int, stop: int) -> Tally:
    tally = Tally()
    for seed in range(start, stop):
        check_program(random_program(seed), tally, seed, deep=seed % 6 == 0)
    return tally


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_programs(start: int) -> None:
    tally = check_range(start, start + 20)
    assert tally.entries > 100 and tally.second_order
    # Programs are made away from kinks, so nearly all differences must settle.
    assert tally.unsure <= tally.entries // 50


@settings(max_examples=20)
@given(st.data())
def test_drawn_programs(data: st.DataObject) -> None:
    """As above; a program that fails is made smaller."""
    maker = ProgramMaker(lambda n: data.draw(st.integers(0, n - 1)))
    steps = data.draw(st.integers(1, 8))
    check_program(maker.make(data.draw(st.integers(1, 3)), steps, 1), Tally(), 0, deep=False)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3200, 50))
def test_many_random_programs(start: int) -> None:
    tally = check_range(start, start + 50)
    assert tally.unsure <= tally.entries // 50
