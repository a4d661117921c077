"""A position that a call does not have is named as the user counts."""

import functools

import numpy as np
import pytest

import gradc

X = np.array([1.0, 2.0])


class Model:
    scale = 2.0

    def loss(self, x, y):
        return np.sum(x * y) * self.scale

    @gradc.compile
    def compiled(self, x, y):
        return np.sum(x * y) * self.scale


def loss(x, y):
    return np.sum(x * y)


MESSAGE = r"argnums=2: \w+ was called with 2 positional arguments"


@pytest.mark.parametrize(
    "call",
    [
        lambda: gradc.grad(loss, argnums=2)(X, X),
        lambda: gradc.grad(Model().loss, argnums=2)(X, X),
        lambda: gradc.value_and_grad(Model().loss, argnums=(0, 2))(X, X),
        lambda: gradc.jacobian(Model().loss, argnums=2)(X, X),
        lambda: gradc.hessian(Model().loss, argnums=2)(X, X),
        lambda: gradc.compile(Model().loss, argnums=2).grad(X, X),
        lambda: Model().compiled.with_argnums(2).value_and_grad(X, X),
        lambda: gradc.compile(Model().loss, argnums=2).ir("grad", X, X),
    ],
)
def test_positions_are_counted_without_self(call):
    with pytest.raises(ValueError, match=MESSAGE):
        call()


def test_one_argument_and_partials():
    with pytest.raises(ValueError, match="argnums=1: loss was called with 1 positional argument "):
        gradc.grad(functools.partial(loss, X), argnums=1)(X)
    np.testing.assert_array_equal(gradc.grad(functools.partial(loss, X))(X), X)
    np.testing.assert_array_equal(gradc.grad(Model().loss, argnums=1)(X, 3 * X), 2 * X)
