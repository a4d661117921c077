"""The generated matcher accepts a call exactly when its retrace key is the same."""

import dataclasses
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradc.signature import analyse, matcher


class Pair(NamedTuple):
    a: object
    b: object


@dataclasses.dataclass
class Node:
    left: object
    n: int
    tag: str = "t"


OBJECTS = (object(), object())
arrays = st.builds(
    lambda shape, dtype: np.ones(shape, dtype),
    st.sampled_from([(), (2,), (3,), (2, 3), (0,)]),
    st.sampled_from([np.float32, np.float64, np.int64, np.complex128, np.bool_]),
)
leaves = st.one_of(
    arrays,
    st.sampled_from([1.5, -2.0, 1j, 0, 1, 2**70, True, False, None, "s", "t", b"s", (), *OBJECTS]),
    st.sampled_from([np.float32(1), np.float64(2), np.int32(3), np.sin, len, int, ..., (1, "a")]),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from(["x", "y", 1]), inner, max_size=2),
        st.builds(Pair, inner, inner),
        st.builds(Node, inner, st.sampled_from([1, 2, True]), st.sampled_from(["t", "u"])),
    ),
    max_leaves=4,
)
arguments = st.tuples(st.lists(trees, max_size=2).map(tuple), st.dictionaries(
    st.sampled_from(["k", "m"]), trees, max_size=1))  # fmt: skip


@given(arguments, arguments)
def test_the_matcher_agrees_with_the_key(first, second):
    call = analyse(*first)
    match = matcher(call, *first, ())
    assert match is not None
    for args, kwargs in (first, second):
        other = analyse(args, kwargs)
        found = match(args, kwargs)
        assert (found is not None) == (other.key == call.key)
        if found is not None:
            for got, expected in zip(found, other.inputs(), strict=True):
                assert got.dtype == expected.dtype and got.shape == expected.shape
                np.testing.assert_array_equal(got, expected)


@given(arguments)
def test_pinned_numbers_must_have_their_value(given_arguments):
    call = analyse(*given_arguments)
    pins = [
        (k, value)
        for k, (leaf, value) in enumerate(zip(call.kinds, call.leaves))
        if leaf.kind == "python"
    ]
    assert matcher(call, *given_arguments, pins)(*given_arguments) is not None
    if pins:
        wrong = [(pins[0][0], pins[0][1] + 1), *pins[1:]]
        assert matcher(call, *given_arguments, wrong)(*given_arguments) is None


@given(st.dictionaries(st.sampled_from("abcd"), arrays, min_size=2, max_size=4))
def test_dicts_in_another_order_are_another_call(table):
    turned = dict(reversed(table.items()))
    call = analyse((table,), {})
    match = matcher(call, (table,), {}, ())
    same = list(turned) == list(table)
    assert (analyse((turned,), {}).key == call.key) is same
    assert (match((turned,), {}) is not None) is same
    assert match((dict(table),), {}) is not None
