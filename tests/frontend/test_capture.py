"""Captured values: read again at each call, or guarded."""

import array
import collections
import dataclasses
import enum
import types

import numpy as np
import pytest

import gradc

X = np.array([0.5, -1.0, 2.0])
weights = np.ones(3)
rate = 0.5
power = 2
table = {"w": np.ones(3), "b": [1.0, np.zeros(3)]}
PROXIED = {"a": 2.0}
config = types.ModuleType("config_of_this_test")


def traces(compiled):
    """How often a compiled function was traced."""
    return compiled.explain().count("\n")


def test_a_global_array_is_seen_when_updated_in_place_and_when_replaced(monkeypatch):
    compiled = gradc.compile(lambda x: np.sum(x * weights))
    assert compiled(X) == 1.5
    monkeypatch.setitem(globals(), "weights", np.full(3, 2.0))
    assert compiled(X) == 3.0
    weights[:] = 4
    assert compiled(X) == 6.0
    assert traces(compiled) == 1
    monkeypatch.setitem(globals(), "weights", np.full(3, 2, np.float32))
    assert compiled(X) == 3.0
    assert "weights is no longer a float64 array of shape (3,)" in compiled.explain()


def test_gradients_read_captured_arrays_too():
    w = np.array([1.0, 2.0, 3.0])
    compiled = gradc.compile(lambda x: np.sum(x * x * w))
    np.testing.assert_allclose(compiled.grad(X), 2 * X * w)
    w *= 10
    np.testing.assert_allclose(compiled.grad(X), 2 * X * w)
    assert traces(compiled) == 1


def test_a_captured_float_does_not_trace_again(monkeypatch):
    compiled = gradc.compile(lambda x: x * rate)
    for value in (0.5, 0.25, -3.0):
        monkeypatch.setitem(globals(), "rate", value)
        np.testing.assert_array_equal(compiled(X), X * value)
    assert traces(compiled) == 1
    single = X.astype(np.float32)
    assert compiled(single).dtype == np.float32  # a Python float widens nothing


def test_a_captured_float_that_decides_is_guarded(monkeypatch):
    def f(x):
        if rate > 0.4:
            return x * 2
        return x * 3

    compiled = gradc.compile(f)
    for value, factor, count in ((0.5, 2, 1), (0.3, 3, 2), (0.5, 2, 2)):
        monkeypatch.setitem(globals(), "rate", value)
        np.testing.assert_array_equal(compiled(X), factor * X)
        assert traces(compiled) == count


def test_a_captured_int_is_guarded(monkeypatch):
    compiled = gradc.compile(lambda x: np.sum(x**power))
    np.testing.assert_allclose(compiled(X), np.sum(X**2))
    monkeypatch.setitem(globals(), "power", 3)
    np.testing.assert_allclose(compiled(X), np.sum(X**3))
    assert "power is no longer 2" in compiled.explain()
    monkeypatch.setitem(globals(), "power", 2)
    np.testing.assert_allclose(compiled(X), np.sum(X**2))
    assert traces(compiled) == 2


class Kind(enum.Enum):
    SIN = 1
    COS = 2


@pytest.mark.parametrize(
    "first, second",
    [(True, 1), ("sin", "cos"), (None, "sin"), (Kind.SIN, Kind.COS), ((1, 2), (1, 3)), (1, 1.0)],
)
def test_static_values_are_guarded_with_their_type(first, second):
    chosen = first

    def f(x):
        same = type(chosen) is type(first) and chosen == first
        return np.sin(x) if same else np.cos(x)

    compiled = gradc.compile(f)
    np.testing.assert_allclose(compiled(X), np.sin(X))
    chosen = second
    np.testing.assert_allclose(compiled(X), np.cos(X))
    chosen = first
    np.testing.assert_allclose(compiled(X), np.sin(X))
    assert traces(compiled) == 2


def test_containers_are_read_by_item(monkeypatch):
    def f(x):
        return np.sum(x * table["w"] * table["b"][0] + table["b"][1])

    compiled = gradc.compile(f)
    assert compiled(X) == f(X)
    table["w"] = np.arange(3.0)
    table["b"][0] = 7.0
    table["b"][1] += 1
    assert compiled(X) == f(X)
    monkeypatch.setitem(globals(), "table", {"w": np.ones(3), "b": [2.0, np.ones(3)]})
    assert compiled(X) == f(X)
    assert traces(compiled) == 1
    table["more"] = 1
    assert compiled(X) == f(X)
    assert "table is no longer a dict with keys ['w', 'b']" in compiled.explain()


def test_length_and_order_of_captured_lists_are_guarded():
    parts = [np.ones(3), 2.0]
    compiled = gradc.compile(lambda x: sum(p * x for p in parts))
    np.testing.assert_allclose(compiled(X), 3 * X)
    parts.append(np.full(3, 10.0))
    np.testing.assert_allclose(compiled(X), 13 * X)
    parts[0], parts[1] = 5.0, np.zeros(3)
    np.testing.assert_allclose(compiled(X), 15 * X)


def test_a_long_list_of_numbers_is_compared_as_a_whole():
    numbers = [float(k) for k in range(200)]
    compiled = gradc.compile(lambda x: x * numbers[150])
    np.testing.assert_allclose(compiled(X), 150 * X)
    numbers[150] = 1.0
    np.testing.assert_allclose(compiled(X), X)


def test_self_referential_containers():
    ring = [1.0]
    ring.append(ring)
    compiled = gradc.compile(lambda x: x * ring[1][1][0])
    np.testing.assert_allclose(compiled(X), X)


class Layer:
    scale = 3.0

    def __init__(self):
        self.w = np.ones(3)
        self.order = 1

    @property
    def doubled(self):
        return self.w * 2 if self.order else self.w

    def __call__(self, x):
        return np.sum(x * self.doubled) * self.scale


class Model:
    def __init__(self):
        self.layers = [Layer(), Layer()]


def test_attributes_are_read_at_each_call():
    model = Model()
    compiled = gradc.compile(lambda x: model.layers[0](x) + model.layers[1](x))
    plain = lambda x: model.layers[0](x) + model.layers[1](x)  # noqa: E731
    assert compiled(X) == plain(X)
    model.layers[1].w = np.arange(3.0)
    model.layers[0].w *= 5
    model.layers[0].scale = 1.5
    assert compiled(X) == plain(X)
    assert traces(compiled) == 1
    model.layers[1].order = 0
    assert compiled(X) == plain(X)
    assert "order is no longer 1" in compiled.explain()
    model.layers[1] = Layer()
    assert compiled(X) == plain(X)
    assert traces(compiled) == 3


def test_attributes_of_arguments_are_read_at_each_call():
    layer, other = Layer(), Layer()
    compiled = gradc.compile(lambda obj, x: obj(x))
    assert compiled(layer, X) == layer(X)
    layer.w = np.arange(3.0)
    assert compiled(layer, X) == layer(X)
    assert traces(compiled) == 1
    other.w = np.full(3, 9.0)
    assert compiled(other, X) == other(X)
    assert compiled(layer, X) == layer(X)


def test_attributes_of_user_modules_are_read(monkeypatch):
    config.rate, config.mode = 2.0, "add"
    compiled = gradc.compile(lambda x: x * config.rate if config.mode == "mul" else x + config.rate)
    np.testing.assert_allclose(compiled(X), X + 2)
    config.rate = 3.0
    np.testing.assert_allclose(compiled(X), X + 3)
    assert traces(compiled) == 1
    config.mode = "mul"
    np.testing.assert_allclose(compiled(X), X * 3)


def helper(x, factor=np.full(3, 2.0), *, shift=np.ones(3)):  # noqa: B008
    return x * factor * rate + shift


def test_captures_of_called_functions_and_their_defaults(monkeypatch):
    compiled = gradc.compile(lambda x: helper(x))
    np.testing.assert_allclose(compiled(X), helper(X))
    monkeypatch.setitem(globals(), "rate", 9.0)
    helper.__defaults__[0][:] = 5
    helper.__kwdefaults__["shift"][:] = -1
    np.testing.assert_allclose(compiled(X), X * 45 - 1)
    assert traces(compiled) == 1


def test_a_captured_function_that_is_replaced_traces_again(monkeypatch):
    activation = np.tanh

    def f(x):
        return activation(x)

    compiled = gradc.compile(f)
    np.testing.assert_allclose(compiled(X), np.tanh(X))
    activation = lambda x: x * x  # noqa: E731
    np.testing.assert_allclose(compiled(X), X * X)
    assert traces(compiled) == 2


def test_lambdas_made_anew_share_one_trace():
    counts = set()
    for k in range(4):
        w = np.full(3, float(k))
        inner = lambda v: v * w  # noqa: B023, E731
        value, gradient = gradc.value_and_grad(lambda x: np.sum(inner(x) * x))(X)  # noqa: B023
        np.testing.assert_allclose(value, np.sum(X * X) * k)
        np.testing.assert_allclose(gradient, 2 * X * k)
        from gradc.resolve import _engines

        counts.add(next(reversed(_engines.values()))[0].trace_count)
    assert counts == {1}


@dataclasses.dataclass
class Settings:
    rate: float
    steps: int


def test_a_captured_dataclass_object():
    settings = Settings(0.5, 2)

    def f(x):
        for _ in range(settings.steps):
            x = x * settings.rate
        return x

    compiled = gradc.compile(f)
    np.testing.assert_allclose(compiled(X), X * 0.25)
    settings.rate = 2.0
    np.testing.assert_allclose(compiled(X), X * 4)
    assert traces(compiled) == 1
    settings.steps = 3
    np.testing.assert_allclose(compiled(X), X * 8)


def test_numpy_numbers_keep_their_dtype():
    factor = np.float64(2.0)
    compiled = gradc.compile(lambda x: x * factor)
    single = X.astype(np.float32)
    assert compiled(single).dtype == (single * factor).dtype
    factor = np.float32(3.0)
    assert compiled(single).dtype == np.float32


def test_two_names_of_one_array():
    a = np.ones(3)
    b = a
    compiled = gradc.compile(lambda x: x * a * b)
    a[:] = 2
    np.testing.assert_allclose(compiled(X), 4 * X)
    b = np.full(3, 5.0)
    np.testing.assert_allclose(compiled(X), 10 * X)


def test_a_missing_captured_value_is_pythons_error():
    value = 1.0
    compiled = gradc.compile(lambda x: x * value)  # noqa: F821
    compiled(X)
    del value
    with pytest.raises(NameError, match="value"):
        compiled(X)


def test_array_attributes_of_unsupported_dtype_are_named():
    names = np.array(["a", "b"])
    with pytest.raises(gradc.TracingError, match="names: expected a bool, integer, floating"):
        gradc.compile(lambda x: x * names)(X)


def test_numpy_ints_and_bools_are_guarded():
    axis, flag = np.int64(1), np.bool_(True)
    compiled = gradc.compile(lambda x: np.sum(x, axis=axis) if flag else x)
    table = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(compiled(table), table.sum(1))
    axis = np.int64(0)
    np.testing.assert_array_equal(compiled(table), table.sum(0))
    flag = np.bool_(False)
    np.testing.assert_array_equal(compiled(table), table)
    assert traces(compiled) == 3


class Registry(dict):
    """A user's dict, used as it is."""


class Sequence:
    def __init__(self, *items):
        self.items = items

    def __getitem__(self, k):
        return self.items[k] if k >= 0 else self.items[0]


@pytest.mark.parametrize(
    "held, key, change",
    [
        (collections.defaultdict(float, a=2.0), "a", None),
        (collections.Counter(a=2), "a", None),
        (collections.OrderedDict(a=2.0, b=1), "a", None),
        (collections.deque([1.0, 2.0]), 1, None),
        (Registry(a=2.0), "a", None),
        (Registry(a=np.full(3, 2.0)), "a", None),
        (Sequence(1.0, 2.0), 1, lambda s: setattr(s, "items", (1.0, 5.0))),
        (array.array("d", [1.0, 2.0]), 1, None),
        (types.MappingProxyType(PROXIED), "a", lambda _: PROXIED.update(a=5.0)),
        (types.SimpleNamespace(a=2.0), None, lambda s: setattr(s, "a", 5.0)),
    ],
    ids=lambda p: type(p).__name__,
)
def test_items_of_other_containers_are_never_stale(held, key, change):
    def f(x):
        return np.sum(x * (held.a if key is None else held[key]))

    compiled = gradc.compile(f)
    np.testing.assert_allclose(compiled(X), 2 * X.sum())
    if change is None:
        held[key] = type(held[key])(5) if isinstance(held[key], int | float) else np.full(3, 5.0)
    else:
        change(held)
    np.testing.assert_allclose(compiled(X), 5 * X.sum())


def test_iteration_over_other_containers_is_never_stale():
    table = collections.defaultdict(list, a=[1.0], b=[2.0, np.ones(3)])
    registry = Registry(a=2.0)

    def f(x):
        total = sum(sum(v) for v in table.values())
        return np.sum(x * total) + sum(registry.values()) + len(table["a"])

    compiled = gradc.compile(f)
    assert compiled(X) == f(X)
    table["b"][1] += 1
    table["a"].append(3.0)
    assert compiled(X) == f(X)
    registry["z"] = 4.0
    table["c"] = [9.0]
    assert compiled(X) == f(X)


class Column:
    """An array-like as pandas and torch have them."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype)


class Table:
    def __init__(self, **columns):
        self.columns = columns

    def keys(self):
        return self.columns.keys()

    def __getitem__(self, name):
        return Column(self.columns[name])

    def __array__(self, dtype=None, copy=None):
        return np.asarray(list(self.columns.values()), dtype)

    ndim = 2


def test_captured_array_likes_are_converted_at_each_call():
    column = Column([1.0, 2.0, 3.0])
    table = Table(a=[1.0, 1.0, 1.0])
    compiled = gradc.compile(lambda x: np.sum(x * column) + np.sum(x * table["a"]))
    np.testing.assert_allclose(compiled(X), X @ [2, 3, 4])
    column.data = [0.0, 0.0, 1.0]
    table.columns["a"][1] = 5.0
    np.testing.assert_allclose(compiled(X), X @ [1, 5, 2])
    column.data = [2.0]
    np.testing.assert_allclose(compiled(X), X @ [3, 7, 3])


def test_captured_arrays_of_foreign_byte_order():
    w = np.arange(3.0).astype(">f8")
    compiled = gradc.compile(lambda x: np.sum(x * w))
    for _ in range(2):
        np.testing.assert_allclose(compiled(X), X @ w)
        w += 1
    w = w.view(np.matrix)
    with pytest.raises(gradc.TracingError, match="w is an np.matrix"):
        compiled(X)
