"""Results have the Python type that plain NumPy gives, and sizes known at run time anywhere."""

import numpy as np
import pytest
from scipy import special

import gradc

X = np.array([[1.0, 2.0, -3.0], [-1.0, 2.5, -1.5]])


@pytest.mark.parametrize(
    "function, argument",
    [
        (lambda x: x > 0, 1.5),
        (lambda x: (x > 0) + 1, 1.5),
        (lambda x: -(x > 0), 1.5),
        (lambda x: abs(x > 0), 1.5),
        (lambda x: (x > 0) & (x < 1), 1.5),
        (lambda x: (x > 0) * np.ones(2, np.float32), 1.5),
        (lambda x: np.ones(3, np.int8) + (x > 0), 1.5),
        (lambda x: (x[0, 0] > 0).item(), X),
        (lambda x: isinstance(x > 0, np.bool_), 1.5),
        (lambda x: x[0] > 0, X),
        (lambda x: sum(x[0, 3:]), X),
        (lambda x: sum(x[:0], 1.5), X),
        (lambda x: np.tensordot(x, x, 2), X),
        (lambda x: np.tensordot(x, x, ([0], [0])), X),
        (lambda x: special.logsumexp(x), np.asarray(2.0)),
        (lambda x: special.logsumexp(x), X),
    ],
)
def test_the_type_is_numpys(function, argument):
    found, expected = gradc.compile(function)(argument), function(argument)
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0],
        lambda x: x[x > 0][None] * 2,
        lambda x: x[:, x[0] > 0],
        lambda x: x[:, x[0] > 0] * x[:, :1],
        lambda x: x[:, x[0] > 9],
        lambda x: np.stack([x[x > 0], x[x > 0]]),
        lambda x: x[x > 0][:, None] * x[0][x[0] > 1],
    ],
)
def test_sizes_known_at_run_time_on_any_axis(function):
    for x in (X, X + 1.25, np.negative(X)):
        found = gradc.compile(function)(x)
        np.testing.assert_array_equal(found, function(x))
        assert found.flags.c_contiguous and found.flags.owndata


def test_a_kernel_that_uses_only_the_size_waits_for_it():
    def total(x):
        return np.sum(x[np.nonzero(x > 0)])

    value, gradient = gradc.value_and_grad(total)(X)
    assert value == 5.5
    np.testing.assert_array_equal(gradient, [[1, 1, 0], [0, 1, 0]])
