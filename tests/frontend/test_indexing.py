"""x[key] gives NumPy's elements, shapes and errors."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.frontend.location import TracingError
from gradc.frontend.trace import Trace
from gradc.ir.types import f64, i64, tensor
from tests.frontend.traced import assert_as_numpy, run_traced

rng = np.random.default_rng(3)
X = rng.normal(size=(4, 5, 3))
V = np.arange(7.0)
K = np.array([2, 0, -1])
K2 = np.array([[0, -2], [1, 3]])
MASK = rng.normal(size=(4, 5, 3)) > 0
ROWS = np.array([True, False, True, True])
S = np.s_

BASIC = [
    S[0], S[-1], S[1:3], S[::2], S[::-1], S[3:0:-2], S[10:20], S[-3:], S[:, 1], S[:, 1:4:2, ::-1],
    S[..., 0], S[0, ..., 0], S[0, 1, 2], S[None], S[:, None, 1], S[..., None],
    S[1, None, :, None, 2],
    S[()], S[...], S[0:0], S[:, ::-3], S[np.int64(2), np.int8(1)], S[2, ...], S[5:1], S[:, -2:],
]  # fmt: skip
ADVANCED = [
    S[K], S[:, K], S[..., K], S[K, K], S[K, :, K], S[:, K, K], S[0, :, K], S[:, 0, K], S[0, K],
    S[K, 0], S[K, 1:3], S[1:3, K], S[K2], S[:, K2, 1:], S[K2, :, K2 % 3],
    S[K[:, None], K], S[[0, 2]],
    S[[0, 2], [1, 1]], S[None, K], S[K, None], S[K, None, K], S[:, None, K], S[K, ..., 1],
    S[..., K, None], S[ROWS], S[ROWS, 0], S[ROWS, :, K % 3], S[MASK],
    S[:, MASK[0]], S[MASK[:, :, 0]],
    S[0, MASK[0]], S[[]], S[np.array([], int)], S[(K % 4).astype(np.uint8)],
    S[K, K, K % 3], S[::-1, K, ::2], S[[True, False, True, False]],
    S[K[:, None, None], K[:, None], K % 3],
    S[None, ..., K], S[0, None, K], S[K, 2, None], S[1, :, None, K % 3],
]  # fmt: skip


def show(key):
    return repr(key).replace("\n", "").replace(" ", "")[:60]


@pytest.mark.parametrize("key", BASIC, ids=show)
def test_basic(key):
    assert_as_numpy(lambda x: x[key], X)


@pytest.mark.parametrize("key", ADVANCED, ids=show)
def test_advanced(key):
    assert_as_numpy(lambda x: x[key], X)


def _traced_parts(key):
    parts = key if isinstance(key, tuple) else (key,)
    return [np.asarray(p) for p in parts if isinstance(p, np.ndarray | list)]


@pytest.mark.parametrize("key", ADVANCED, ids=show)
def test_advanced_with_traced_indices(key):
    """The same keys with every array traced: sizes of masks are known only at run time."""
    arrays = [a.astype(int) if not a.size else a for a in _traced_parts(key)]

    def function(x, *traced):
        rest = iter(traced)
        parts = key if isinstance(key, tuple) else (key,)
        new = tuple(next(rest) if isinstance(p, np.ndarray | list) else p for p in parts)
        return x[new]

    masks = sum(a.dtype == bool for a in arrays)
    if masks and len(arrays) > masks:
        with pytest.raises(TracingError, match="known only at run time"):
            run_traced(function, X, *arrays)
        return
    assert_as_numpy(function, X, *arrays)


@pytest.mark.parametrize("k", [0, 2, -1, -4])
def test_traced_scalar_index(k):
    assert_as_numpy(lambda x, i: x[i], X, np.int64(k))
    assert_as_numpy(lambda x, i: x[i], X, k)
    assert_as_numpy(lambda x, i: x[1, i], X, k)
    assert_as_numpy(lambda x, i: x[:, i, 1:], X, np.int8(k))
    assert_as_numpy(lambda x, i: x[i, :, -1], X, np.uint8(k % 4))
    assert_as_numpy(lambda x, i: x[i + np.arange(2) - i], X, np.int64(k))


def test_int_argument_as_slice_bound_is_static():
    used = []
    trace = Trace()
    trace.on_static_use = used.append
    with trace.active():
        x = trace.argument(tensor(f64, 9), "x")
        n = trace.argument(tensor(i64), "n", weak=True, python=3)
        assert x[: n + 1].shape == (4,)
        assert x[n].shape == ()
    assert set(map(id, used)) == {id(n)}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (4, "index 4 is out of bounds for axis 0 with size 4"),
        (-5, "index -5 is out of bounds for axis 0 with size 4"),
        (S[:, 5], "index 5 is out of bounds for axis 1 with size 5"),
        (np.array([0, 9]), "index 9 is out of bounds for axis 0 with size 4"),
        (S[0, 0, 0, 0], "too many indices for array: array is 3-dimensional, but 4 were indexed"),
        (S[..., 0, ...], "an index can only have a single ellipsis"),
        (np.array([True, False]), "boolean index did not match indexed array along axis 0"),
        (np.array([0.5]), "arrays used as indices must be of integer"),
        ("a", "only integers, slices"),
        (S[0.5], "only integers, slices"),
    ],
)
def test_errors_are_numpys(key, message):
    with pytest.raises(IndexError):
        X[key]
    with pytest.raises(IndexError, match=message):
        run_traced(lambda x: x[key], X)


def test_traced_index_out_of_range_raises_when_run():
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 4"):
        run_traced(lambda x, i: x[i], X, np.int64(4))
    with pytest.raises(IndexError, match="out of bounds for axis 1 with size 5"):
        run_traced(lambda x, i: x[:, i], X, np.array([0, -6]))


def test_traced_slice_bound_is_an_error_that_says_what_to_write():
    with pytest.raises(TracingError, match="slice with a traced bound.*np.arange") as caught:
        run_traced(lambda x, i: x[: i + 1], V, np.int64(2))
    assert "test_indexing.py" in str(caught.value)


def test_window_at_a_traced_start():
    for k in (0, 2, 4):
        assert_as_numpy(lambda x, i: x[i : i + 3], V, np.int64(k))
        assert_as_numpy(lambda x, i: x[1 + i : 3 + i], V, np.int32(k))
    assert_as_numpy(lambda x, i: x[i - 1 : i + 2, None, 0], X, np.int64(1))
    assert_as_numpy(lambda x, i: x[:, i : i + 2, K], X, np.int64(1))
    for bad in (5, -1):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 7"):
            run_traced(lambda x, i: x[i : i + 3], V, np.int64(bad))


def test_masked_arrays_have_a_run_time_size():
    assert_as_numpy(lambda x: x[x > 2].sum(), V)
    assert_as_numpy(lambda x: x[x > 2] * 2 + x[x > 2].mean(), V[:0])
    assert_as_numpy(lambda x, m: (x[m] * x[m] + 1).max(), V, V > 3)
    assert_as_numpy(lambda x: x[x > 2].mean(), V)
    assert_as_numpy(lambda x: x[x > 2] * x[::-1][x > 2], V)
    assert_as_numpy(lambda x: np.var(x[x > 2]), V)
    with pytest.raises(TracingError, match="known only at run time"):
        run_traced(lambda x: x[x > 2] + x, V)
    with pytest.raises(TracingError, match="known only at run time"):
        run_traced(lambda x: len(x[x > 2]), V)
    with pytest.raises(TracingError, match="known only at run time"):
        run_traced(lambda x: x[x > 2] + x[x > 1], V)
    with pytest.raises(TracingError, match="known only at run time"):
        run_traced(lambda x: x[x > 2][0], V)


def test_views_know_their_base():
    trace = Trace()
    with trace.active():
        x = trace.argument(tensor(f64, 3, 4), "x")
        for view, kind in (
            (x[1:], "index"), (x.T, "transpose"), (x.reshape(12), "reshape"), (x[None], "index"),
        ):  # fmt: skip
            assert view.base is x and view.path[0] == kind
            del view
        assert not x.has_views
        assert (x + 1).base is None and x[[0, 1]].base is None


def test_run_time_sizes_in_arithmetic():
    assert_as_numpy(lambda x: x[x > 2].sum() / x[x > 2].size, V)
    assert_as_numpy(lambda x: np.size(x[x > 2], 0) * 2, V)
    with pytest.raises(TypeError, match="known only at run time.*np.size"):
        run_traced(lambda x: x[x > 2].shape[0] * 2, V)
    with pytest.raises(TypeError, match="known only at run time.*np.size"):
        run_traced(lambda x: range(x[x > 2].shape[0]), V)
