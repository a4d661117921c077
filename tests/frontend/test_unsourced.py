"""Functions whose source is not available: traced plainly, with what they read captured."""

import numpy as np
import pytest

import gradc

X = np.array([0.5, 1.5, 2.5])
SOURCE = """
import math, random
import numpy as np

k, n, weights, table = 2.0, 2, np.ones(3), {"a": 1.0}

class Config: pass

config = Config()
config.k, config.w, config.inner = 2.0, np.ones(3), Config()
config.inner.k = 1.0

def scaled(x): return x * k
def weighted(x): return x * weights
def looked_up(x): return x * table["a"]
def configured(x): return x * config.k + config.w + config.inner.k
def called(x): return np.stack([scaled(x), x]).sum(0) + math.sqrt(n)
def looped(x): return sum([x * i * k for i in range(n)])
def closed(c):
    def inner(x): return x * c
    return inner
class Model:
    w = 2.0
    def method(self, x): return x * self.w
    def __call__(self, x): return x * self.w

def printed(x): print(x); return x
def drawn(x): return x * np.random.rand()
def drawn_too(x): return x * random.random()
def stored(x):
    global k
    k = 3.0
    return x
def branched(x):
    if x.sum() > 0: return x
    return -x
"""


@pytest.fixture
def names():
    found = {}
    exec(SOURCE, found)
    return found


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("scaled", ["k = 3.0", "k = 4", "k = np.ones(3)", "k[0] = 7", "k = 1j"]),
        ("weighted", ["weights[1] = 9", "weights = weights * 2", "weights = 3.0"]),
        ("looked_up", ["table['a'] = 4.0", "table['b'] = 1", "table = {'a': np.ones(3)}"]),
        ("configured", ["config.k = 5.0", "config.k = 3", "config.w[0] = 8", "config.inner.k = 7.0",
                        "config.w = config.w * 3", "config.k = np.ones(3)"]),
        ("called", ["k = 5.0", "n = 9", "scaled = lambda x: x * 77.0"]),
        ("looped", ["k = 1.0", "n = 4"]),
    ],
)  # fmt: skip
def test_nothing_it_reads_goes_stale(names, name, changes):
    function = names[name]
    compiled = gradc.compile(function)
    for change in ["pass", *changes]:
        exec(change, names)
        found, expected = compiled(X), function(X)
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert found.dtype == expected.dtype


def test_closures_and_attributes_of_self_are_read_at_each_call(names):
    inner = names["closed"](3.0)
    compiled = gradc.compile(inner)
    assert compiled(X)[0] == 1.5
    inner.__closure__[0].cell_contents = 5.0
    assert compiled(X)[0] == 2.5
    model = names["Model"]()
    for compiled in (gradc.compile(model.method), gradc.compile(model)):
        model.w = 2.0
        assert compiled(X)[0] == 1.0
        model.w = 4.0
        assert compiled(X)[0] == 2.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("printed", "print was called"),
        ("drawn", "np.random.rand was called"),
        ("drawn_too", "random.random was called"),
        ("stored", "an assignment to the global variable 'k'"),
        ("branched", "its source is not available"),
    ],
)
def test_what_would_run_only_once_is_refused(names, name, message):
    with pytest.raises(gradc.TracingError, match=message):
        gradc.compile(names[name])(X)


def test_gradients_of_functions_without_source(names):
    found = gradc.grad(lambda x: names["scaled"](x).sum())
    assert found(X).tolist() == [2.0] * 3
    names["k"] = 9.0
    assert found(X).tolist() == [9.0] * 3
