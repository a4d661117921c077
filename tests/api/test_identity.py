"""Values that Python calls equal but that behave differently have traces of their own."""

import collections
import math
import threading

import numpy as np
import pytest

import gradc

X = np.array([0.5, -1.0, 2.0])
scale = 0.0
setting = (2,)
numbers = [float(k) for k in range(100)]


def traces(compiled):
    return compiled.explain().count("\n")


@pytest.mark.parametrize(
    "first, second",
    [
        ((2,), (2.0,)),
        ((1,), (True,)),
        (frozenset({1}), frozenset({1.0})),
        ({1}, {1.0}),
        ((0.0,), (-0.0,)),
        (((1,),), ((1.0,),)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("repeat", [1, 2])
def test_equal_static_containers_of_other_types(first, second, repeat):
    single = X.astype(np.float32)
    boxed = isinstance(first, tuple)

    def f(c, x):
        inner = c
        while isinstance(inner, tuple | frozenset | set):
            inner = next(iter(inner))
        return x + np.asarray(inner), repr(inner)

    names = ("c",) if boxed else ()
    compiled = gradc.compile(f, static_argnames=names)
    for _ in range(repeat):
        for c in (first, second, first, second):
            got, text = compiled(c, single)
            expected, expected_text = f(c, single)
            assert text == expected_text
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)
    assert traces(compiled) == 2


def test_a_set_argument_counts_by_its_items():
    compiled = gradc.compile(lambda s, x: x * 2 if "double" in s else x)
    options = {"double"}
    np.testing.assert_array_equal(compiled(options, X), X * 2)
    options.clear()
    np.testing.assert_array_equal(compiled(options, X), X)
    np.testing.assert_array_equal(compiled({"double"}, X), X * 2)
    assert traces(compiled) == 2


def test_the_sign_of_a_zero_argument_that_decides():
    compiled = gradc.compile(lambda x, s: np.arctan2(x, 1.0) if repr(float(s)) == "0.0" else -x)
    for s in (0.0, -0.0, 0.0, -0.0):
        expected = np.arctan2(X, 1.0) if math.copysign(1, s) > 0 else -X
        np.testing.assert_allclose(compiled(X, s), expected)
    assert traces(compiled) == 2


def test_a_nan_argument_that_decides_is_traced_once():
    compiled = gradc.compile(lambda x, s: x if s > 0 else -x)
    for s in (np.nan, float("nan"), float("nan")):
        np.testing.assert_array_equal(compiled(X, float(s)), -X)
    assert traces(compiled) == 1


def test_the_sign_of_a_captured_zero_that_decides(monkeypatch):
    def f(x):
        return x if repr(float(scale)) == "0.0" else -x

    compiled = gradc.compile(f)
    for s in (0.0, -0.0, 0.0, -0.0):
        monkeypatch.setitem(globals(), "scale", s)
        np.testing.assert_array_equal(compiled(X), f(X))
    assert traces(compiled) == 2


def test_a_captured_nan_that_decides(monkeypatch):
    compiled = gradc.compile(lambda x: x if scale > 0 else -x)
    for _ in range(3):
        monkeypatch.setitem(globals(), "scale", float("nan"))
        np.testing.assert_array_equal(compiled(X), -X)
    assert traces(compiled) == 1


def test_captured_containers_that_are_equal_but_not_identical(monkeypatch):
    def f(x):
        return x + np.asarray(next(iter(setting)))

    single = X.astype(np.float32)
    compiled = gradc.compile(f)
    for value in ((2,), {2}, {2.0}, {True: 0}, {1: 0}, slice(2, 3), slice(2, 3.0)):
        monkeypatch.setitem(globals(), "setting", value)
        if isinstance(value, slice):
            assert gradc.compile(lambda x: repr(setting))(X) == repr(value)
            continue
        np.testing.assert_array_equal(compiled(single), f(single))
        assert compiled(single).dtype == f(single).dtype


def test_a_long_captured_list_counts_bit_for_bit(monkeypatch):
    compiled = gradc.compile(lambda x: np.copysign(x, numbers[0]))
    rest = numbers[1:]
    for zero in (0.0, -0.0, 0.0):
        monkeypatch.setitem(globals(), "numbers", [zero, float("nan"), *rest])
        np.testing.assert_array_equal(compiled(X), np.copysign(X, zero))
    assert traces(compiled) == 2


def test_a_captured_defaultdict_of_ints():
    counts = collections.defaultdict(int, a=2)
    compiled = gradc.compile(lambda x: x * counts["a"])
    np.testing.assert_array_equal(compiled(X), X * 2)
    counts["a"] = 3
    np.testing.assert_array_equal(compiled(X), X * 3)


def test_dict_keys_count_with_their_type():
    compiled = gradc.compile(lambda d: [repr(k) for k in d])
    for _ in range(2):
        for d in ({1: X}, {1.0: X}, {True: X}):
            assert compiled(d) == [repr(next(iter(d)))]
    assert traces(compiled) == 3


def test_tracing_does_not_hold_a_lock_of_the_function():
    """A traced function may wait for a thread that calls it."""
    done = []

    def f(x, again):
        if again:
            thread = threading.Thread(target=lambda: done.append(compiled(X, False)))
            thread.start()
            thread.join(30)
            assert not thread.is_alive()
        return x * 2

    compiled = gradc.compile(f)
    np.testing.assert_array_equal(compiled(X, True), 2 * X)
    np.testing.assert_array_equal(done[0], 2 * X)


def test_python_ints_do_not_wrap():
    for function in (lambda n: n * 2, lambda n: n + n, lambda n: n * n, lambda n: -n):
        compiled = gradc.compile(function)
        for n in (3, 2**31 - 1, 2**31, 2**62, -(2**63), 2**63, -(2**31), 2**100):
            assert compiled(n) == function(n)
            assert type(compiled(n)) is int


def test_python_ints_that_do_not_fit_an_array_are_errors_at_every_call():
    for dtype in ("uint8", "int8", "uint64"):
        array = np.ones(2, dtype)
        compiled = gradc.compile(lambda x, n: x + n)
        for n in (5, 300, -1, 7):
            if np.iinfo(dtype).min <= n <= np.iinfo(dtype).max:
                np.testing.assert_array_equal(compiled(array, n), array + n)
                continue
            with pytest.raises(OverflowError, match="out of bounds"):
                compiled(array, n)


def test_a_list_times_an_int_repeats_it():
    for repeat in (lambda n: [0] * n, lambda n: n * (1, 2), lambda n: [n, 1.5] * n):
        compiled = gradc.compile(repeat)
        for n in (2, 3):
            assert compiled(n) == repeat(n)
