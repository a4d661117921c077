"""Reads through getattr, hasattr, vars, type and the environment; values written into strings."""

import os
import secrets
import types
import uuid

import numpy as np
import pytest

import gradc

X = np.array([0.5, 1.5])
switch = True


@pytest.fixture
def config():
    return types.SimpleNamespace(k=2.0)


@pytest.mark.parametrize(
    "read",
    [
        lambda c: getattr(c, "k"),  # noqa: B009
        lambda c: getattr(c, "other", 1.0),
        lambda c: 3.0 if hasattr(c, "other") else 4.0,
        lambda c: vars(c)["k"],
        lambda c: c.__dict__["k"],
        lambda c: sum(vars(c).values()),
    ],
)
def test_attributes_read_by_name_are_captured(config, read):
    compiled = gradc.compile(lambda x: x * read(config))
    for change in ("k", "other", "k", "other"):
        np.testing.assert_array_equal(compiled(X), X * read(config))
        setattr(config, change, getattr(config, change, 0.0) + 5.0)
    np.testing.assert_array_equal(compiled(X), X * read(config))
    del config.other
    np.testing.assert_array_equal(compiled(X), X * read(config))


def test_globals_read_by_name_are_captured(monkeypatch):
    compiled = gradc.compile(lambda x: x if globals()["switch"] else -x)
    assert compiled(X)[0] == 0.5
    monkeypatch.setitem(globals(), "switch", False)
    assert compiled(X)[0] == -0.5


@pytest.mark.parametrize(
    "read",
    [
        lambda: os.environ["GRADC_TEST_VARIABLE"],
        lambda: os.environ.get("GRADC_TEST_VARIABLE", "9"),
        lambda: os.getenv("GRADC_TEST_VARIABLE", default="9"),
    ],
)
def test_the_environment_is_read_at_each_call(monkeypatch, read):
    compiled = gradc.compile(lambda x: x * float(read()))
    for value in ("2", "3", "2"):
        monkeypatch.setenv("GRADC_TEST_VARIABLE", value)
        assert compiled(X)[0] == 0.5 * float(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, float), (2, int), (1j, complex), (np.float32(1), np.float32), (X, np.ndarray)],
)
def test_type_is_that_of_the_value(value, expected):
    assert gradc.compile(lambda x: type(x))(value) is expected
    assert gradc.compile(lambda x: type(x) is expected)(value) is True


@pytest.mark.parametrize(
    "write",
    [
        str,
        repr,
        format,
        lambda x: f"{x}",
        lambda x: f"{x!r}",
        lambda x: f"{x!s:>20}",
        lambda x: "{}".format(x),  # noqa: UP032
        lambda x: "%s" % x,
        lambda x: "%s %s" % (1, x),
        lambda x: "%(a)s" % {"a": x},
        lambda x: str([x]),
        lambda x: str({"a": (x,)}),
    ],
)
def test_numbers_that_are_not_known_are_not_written(write):
    with pytest.raises(gradc.TracingError, match="written into a string"):
        gradc.compile(lambda x: write(x))(X)
    compiled = gradc.compile(lambda n: write(n))
    for n in (3, 4):
        assert compiled(n) == write(n)


@pytest.mark.parametrize("draw", [uuid.uuid4, lambda: secrets.randbelow(9)])
def test_identifiers_drawn_at_random_are_refused(draw):
    with pytest.raises(gradc.TracingError, match="was called in a traced function"):
        gradc.compile(lambda x: x * int(draw()))(X)


def test_an_except_clause_does_not_hide_what_cannot_be_traced():
    def guarded(x):
        try:
            return x if x.sum() > 0 else -x
        except Exception:
            return x * 5

    def asking(x):
        try:
            return np.sort(x)
        except gradc.TracingError:
            return x * 5

    def reshaping(x):
        try:
            return x.reshape(5)
        except (ValueError, TypeError):
            return x * 5

    with pytest.raises(gradc.TracingError, match="a conditional expression on a traced value"):
        gradc.compile(guarded)(X)
    np.testing.assert_array_equal(gradc.compile(asking)(X), 5 * X)
    np.testing.assert_array_equal(gradc.compile(reshaping)(X), 5 * X)


def test_missing_attributes_and_wrong_arguments_are_named_as_numpy_names_them():
    with pytest.raises(AttributeError, match="'ndarray' object has no attribute 'foo'"):
        gradc.compile(lambda x: x.foo)(X)
    with pytest.raises(AttributeError, match=r"a traced f64\[2\] has no 'flags'.*outside"):
        gradc.compile(lambda x: x.flags)(X)
    with pytest.raises(TypeError, match=r"^sum\(\) got an unexpected keyword argument 'foo'"):
        gradc.compile(lambda x: np.sum(x, foo=1))(X)
