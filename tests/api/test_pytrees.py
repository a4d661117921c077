"""Trees of arguments and results."""

import collections
import dataclasses

import numpy as np
import pytest

import gradc
from gradc import pytree

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Affine:
    w: np.ndarray
    b: float
    power: int = 1
    label: str = "affine"


@dataclasses.dataclass
class Stack:
    layers: list
    final: Affine


class Pair:
    def __init__(self, left, right):
        self.left = left
        self.right = right


gradc.register_pytree(Pair, lambda p: ((p.left, p.right), "pair"), lambda _, c: Pair(*c))
W = np.array([1.0, 2.0])


def test_leaves_and_paths():
    tree = {"a": Point(1, [W]), "s": Stack([Affine(W, 0.5)], Affine(W, 1.5, 2)), "n": None}
    leaves, structure = pytree.flatten(tree)
    assert [type(x) for x in leaves] == [
        int, np.ndarray, type(None), np.ndarray, float, np.ndarray, float,
    ]  # fmt: skip
    assert pytree.leaf_paths(structure, "t") == [
        "t['a'].x", "t['a'].y[0]", "t['n']", "t['s'].layers[0].w", "t['s'].layers[0].b",
        "t['s'].final.w", "t['s'].final.b",
    ]  # fmt: skip
    again = pytree.unflatten(structure, leaves)
    assert vars(again["s"].final) == {"w": W, "b": 1.5, "power": 2, "label": "affine"}
    assert again["s"].final.w is W and list(again) == list(tree)


def test_static_fields_belong_to_the_structure_with_their_type():
    one = pytree.flatten(Affine(W, 0.5, 1))[1]
    assert one == pytree.flatten(Affine(W, 2.5, 1))[1]
    assert one != pytree.flatten(Affine(W, 0.5, True))[1]
    assert one != pytree.flatten(Affine(W, 0.5, 1, "other"))[1]


def test_tree_map():
    found = pytree.tree_map(lambda a, b: a + b, Point(1, [2]), Point(10, [20]))
    assert found == Point(11, [22])
    with pytest.raises(TypeError, match="expected a tree of structure"):
        pytree.tree_map(lambda a, b: a, [1], (1,))


def loss(model, x):
    total = np.sum(x)
    for layer in model.layers:
        total = total * np.sum(layer.w) ** layer.power + layer.b
    return total * model.final.b


def test_dataclasses_as_arguments_and_gradients():
    model = Stack([Affine(W, 0.5), Affine(W * 2, 1.5, 2)], Affine(W, 3.0))
    compiled = gradc.compile(loss)
    value, gradient = compiled.value_and_grad(model, W)
    np.testing.assert_allclose(value, loss(model, W))
    # total = ((3 * 3 + 0.5) * 6^2 + 1.5) * 3
    assert type(gradient) is Stack and type(gradient.layers[1]) is Affine
    assert gradient.layers[1].power == 2 and gradient.layers[1].label == "affine"
    np.testing.assert_allclose(gradient.layers[0].w, np.full(2, 3 * 36 * 3))
    np.testing.assert_allclose(gradient.layers[0].b, 36 * 3)
    np.testing.assert_allclose(gradient.layers[1].w, np.full(2, 9.5 * 2 * 6 * 3))
    np.testing.assert_allclose(gradient.final.b, 9.5 * 36 + 1.5)
    np.testing.assert_array_equal(gradient.final.w, np.zeros(2))
    model.layers[1] = Affine(W, 0.0, 3)
    np.testing.assert_allclose(compiled(model, W), loss(model, W))
    assert "model has another structure (keys, lengths, types or static" in compiled.explain()


def test_namedtuples_ordered_dicts_and_registered_classes():
    def f(point, table, pair):
        return Pair(point.x * table["k"], [pair.left, pair.right.y])

    arguments = Point(W, 2.0), collections.OrderedDict(k=3.0), Pair(W, Point(0.0, 5.0))
    compiled = gradc.compile(f)
    for _ in range(2):
        found = compiled(*arguments)
        assert type(found) is Pair
        np.testing.assert_allclose(found.left, 3 * W)
        np.testing.assert_allclose(found.right[1], 5.0)
    assert compiled.explain().count("\n") == 1
    gradient = gradc.grad(lambda p: np.sum(p.left) * p.right)(Pair(W, 2.0))
    np.testing.assert_allclose(gradient.left, [2.0, 2.0])
    np.testing.assert_allclose(gradient.right, 3.0)


def test_empty_containers():
    compiled = gradc.compile(lambda a, b: (a, {}, b["x"] * 2))
    assert compiled([], {"x": 1.5}) == ([], {}, 3.0)
    assert gradc.grad(lambda t: t["x"] * 2)({"x": 1.0, "e": []}) == {"x": 2.0, "e": []}


def test_the_key_of_a_dict_may_be_anything_hashable():
    compiled = gradc.compile(lambda d: d[1] + d["a"] + d[(2, 3)])
    assert compiled({1: 1.0, "a": 2.0, (2, 3): 3.0}) == 6.0
    assert compiled({(2, 3): 1.0, "a": 2.0, 1: 4.0}) == 7.0
    assert compiled({1: 4.0, "a": 2.0, (2, 3): 1.0}) == 7.0
    assert compiled.explain().count("\n") == 2


class Series:
    """An array-like as pandas has it."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype)


def test_array_likes_are_converted():
    compiled = gradc.compile(lambda x: np.sum(x * 2))
    assert compiled(Series([1.0, 2.0])) == 6.0
    assert compiled(Series([1.0, 3.0])) == 8.0
    np.testing.assert_array_equal(compiled.grad(Series([1.0, 2.0])), [2.0, 2.0])


def test_pandas_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "name": ["p", "q"]})
    compiled = gradc.compile(lambda p: np.sum(p["x"] ** 2))
    assert compiled({"x": frame["a"]}) == 5.0
    with pytest.raises(TypeError, match=r"p\['x'\] is an array of dtype object"):
        compiled({"x": frame["name"]})


def test_a_table_is_static_and_its_columns_are_read():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "name": ["p", "q"]})
    compiled = gradc.compile(lambda x, d: np.sum(x * d["a"]))
    assert compiled(W, frame) == 5.0
    frame["a"] = [2.0, 3.0]
    assert compiled(W, frame) == 8.0
    assert compiled.explain().count("\n") == 1


@pytest.mark.parametrize(
    "leaf, message",
    [
        (np.array(["a"]), r"p\['x'\]\[0\] is an array of dtype <U1.*astype"),
        (np.array([1, None]), r"p\['x'\]\[0\] is an array of dtype object"),
        (np.array(["2020-01-01"], "M8[D]"), r"p\['x'\]\[0\] is an array of dtype datetime64"),
        (np.zeros(2, [("a", float)]), r"p\['x'\]\[0\] is an array of dtype \[\('a'"),
        (np.ma.array([1.0]), r"p\['x'\]\[0\] is a masked array"),
        (np.longdouble(1), r"p\['x'\]\[0\] has dtype float128.*astype"),
    ],
)
def test_unsupported_leaves_are_named(leaf, message):
    with pytest.raises(TypeError, match=message):
        gradc.compile(lambda p: p["x"][0])({"x": [leaf]})


def test_objects_are_static_by_identity():
    class Option:
        def __init__(self, factor):
            self.factor = factor

    compiled = gradc.compile(lambda x, option: x * option.factor)
    one, two = Option(2), Option(3)
    np.testing.assert_array_equal(compiled(W, one), 2 * W)
    np.testing.assert_array_equal(compiled(W, two), 3 * W)
    np.testing.assert_array_equal(compiled(W, one), 2 * W)
    assert compiled.explain().count("\n") == 2


def test_dicts_keep_their_own_order_at_every_call():
    doubled = gradc.compile(lambda d: {k: v * 2 for k, v in d.items()})
    values = gradc.compile(lambda d: list(d.values()))
    loss = gradc.value_and_grad(lambda d: sum(v.sum() for v in d.values()))
    for keys in ("zam", "zam", "maz", "azm", "maz"):
        d = {k: np.full(2, float(ord(k))) for k in keys}
        assert list(doubled(d)) == list(keys)
        assert list(loss(d)[1]) == list(keys)
        assert [v[0] for v in values(d)] == [float(ord(k)) for k in keys]
        ordered = collections.defaultdict(list, {"k": [d]})
        nested = gradc.compile(lambda t: [*t["k"][0].values()])
        assert [v[0] for v in nested(ordered)] == [float(ord(k)) for k in keys]
    assert "keys in the order ['m', 'a', 'z'], was ['z', 'a', 'm']" in values.explain()


def test_keyword_arguments_keep_the_order_of_the_call():
    stacked = gradc.compile(lambda **rows: np.stack(list(rows.values())))
    for _ in range(2):
        assert stacked(a=W, b=2 * W)[:, 0].tolist() == [1.0, 2.0]
        assert stacked(b=2 * W, a=W)[:, 0].tolist() == [2.0, 1.0]
