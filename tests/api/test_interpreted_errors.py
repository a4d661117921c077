"""Errors of the IR interpreter name the user's line."""

import numpy as np
import pytest

import gradc

X = np.array([1.0, 2.0, 3.0])


def picked(x, k):
    return np.sum(x[k] * 2)


def test_an_index_out_of_range_in_the_interpreter_names_the_line():
    with gradc.disable_compile(), pytest.raises(IndexError) as caught:
        gradc.grad(picked)(X, np.array([0, 7]))
    text = str(caught.value)
    assert "7" in text and f"at {__file__}:{picked.__code__.co_firstlineno + 1}" in text


def test_the_compiled_error_is_of_the_same_class_and_line():
    with pytest.raises(IndexError) as caught:
        gradc.grad(picked)(X, np.array([0, 7]))
    assert f"at {__file__}:{picked.__code__.co_firstlineno + 1}" in str(caught.value)
