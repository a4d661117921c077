"""What functions are made of: methods of every kind, copies, pickles; results made anew."""

import copy
import functools
import inspect
import io
import pickle

import numpy as np
import pytest

import gradc

X = np.array([1.0, 2.0])


def square(x):
    return (x**2).sum()


class Model:
    scale = 3.0

    def __init__(self, w=2.0):
        self.w = w

    def loss(self, x):
        return (self.w * x**2).sum()

    def __call__(self, x):
        return self.loss(x)

    @gradc.compile
    def compiled(self, x):
        return (self.w * x**2).sum()

    @gradc.compile
    @classmethod
    def of_class(cls, x):
        return (cls.scale * x).sum()

    @gradc.compile
    @staticmethod
    def static(x):
        return (2 * x).sum()

    @gradc.grad
    @staticmethod
    def slope(x):
        return (2 * x).sum()

    @gradc.hessian
    @staticmethod
    def curvature(x):
        return (x**2).sum()

    @functools.partial(gradc.value_and_grad, argnums=1)
    @classmethod
    def both(cls, x):
        return (cls.scale * x).sum()


@pytest.mark.parametrize("owner", [Model, Model()])
def test_static_and_class_methods(owner):
    assert owner.of_class(X) == 9.0
    assert owner.static(X) == 6.0
    assert owner.slope(X).tolist() == [2.0, 2.0]
    assert owner.curvature(X).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert owner.both(X)[1].tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "function",
    [
        gradc.grad(square),
        gradc.value_and_grad(square),
        gradc.hessian(square),
        gradc.jacobian(square),
        gradc.compile(square),
        gradc.compile(functools.partial(square)),
        gradc.compile(Model().loss),
        gradc.compile(Model()),
        gradc.grad(Model().loss),
        Model().compiled,
    ],
)
def test_copies_and_pickles_compute_the_same(function):
    def same(found, expected):
        for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            np.testing.assert_array_equal(a, b)

    expected = function(X)
    for again in (copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))):
        found = again(function)(X)
        if isinstance(expected, tuple):
            for one, other in zip(found, expected, strict=True):
                same(one, other)
        else:
            same(found, expected)


def test_a_deep_copy_is_bound_to_the_copy():
    model = Model()
    model.step = gradc.compile(model.loss)
    other = copy.deepcopy(model)
    other.w = 10.0
    assert model.step(X) == 10.0
    assert other.step(X) == 50.0


def test_signatures_are_those_of_the_function():
    for made in (gradc.compile, gradc.grad, gradc.hessian, gradc.jacobian):
        assert str(inspect.signature(made(square))) == "(x)"


async def waits(x):
    return x


async def yields(x):
    yield x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (row for row in x),
        lambda x: iter([1]),
        lambda x: {"a": map(abs, [1])},
        lambda x: io.StringIO("text"),
        yields,
        pytest.param(waits, marks=pytest.mark.filterwarnings("ignore:coroutine")),
    ],
)
def test_results_that_run_once_are_refused(function):
    with pytest.raises(gradc.TracingError, match="result.* is an? .*which runs only once"):
        gradc.compile(function)(X)


def test_each_call_gives_a_set_of_its_own():
    compiled = gradc.compile(lambda x: ({1, 2}, [bytearray(b"a")]))
    for _ in range(3):
        found, (data,) = compiled(X)
        assert found == {1, 2}
        assert data == b"a"
        found.add(3)
        data.extend(b"b")


def test_a_dtype_without_a_type_says_what_to_do():
    with pytest.raises(gradc.TracingError, match=r"x has dtype float128.*astype\(np.float64\)"):
        gradc.compile(square)(X.astype(np.longdouble))
