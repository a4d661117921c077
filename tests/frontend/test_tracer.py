"""What a tracer answers to, and the errors of what it cannot."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

from gradc.frontend.location import TracingError
from gradc.frontend.trace import Trace, current_trace
from gradc.frontend.tracer import Tracer
from gradc.ir.interp import run_function
from gradc.ir.types import f32, f64, i64, tensor
from gradc.numpy_functions import TABLE
from tests.frontend.traced import assert_as_numpy, run_traced

A = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def trace():
    trace = Trace("f")
    with trace.active():
        yield trace


@pytest.fixture
def x(trace):
    return trace.argument(tensor(f64, 2, 3), "x", is_scalar=False)


@pytest.fixture
def n(trace):
    return trace.argument(tensor(i64), "n", weak=True, python=3)


BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, divmod, operator.lt, operator.le, operator.gt, operator.ge, operator.eq,
    operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("other", [2, 2.5, np.float32(2), A + 1, [1.0, 2.0, 3.0]], ids=repr)
def test_operators_from_both_sides(function, other):
    assert_as_numpy(lambda a: function(a, other), A + 1)
    assert_as_numpy(lambda a: function(other, a), A + 1)


@pytest.mark.parametrize(
    "function",
    [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift],
    ids=lambda f: f.__name__,
)
def test_bitwise_operators_from_both_sides(function):
    for x in (np.arange(6), np.arange(6, dtype=np.uint8)):
        assert_as_numpy(lambda a: function(a, 2), x)
        assert_as_numpy(lambda a: function(2, a), x)


def test_matmul_with_an_array_on_the_left():
    assert_as_numpy(lambda a: np.ones((2, 2)) @ a, A)
    assert_as_numpy(lambda a: a @ np.ones((3, 2)), A)


def test_methods():
    for f in (
        lambda a: (a.sum(), a.mean(0), a.std(), a.var(1), a.max(), a.min(axis=0), a.prod()),
        lambda a: (a.any(), a.all(1), a.argmax(), a.argmin(0), a.cumsum(), a.cumprod(1)),
        lambda a: (a.T, a.real, a.imag, a.conj(), a.flatten(), a.ravel(), a.copy()),
        lambda a: (a.astype(int), a.clip(1, 3), a.round(), a.take([0, 2]), a.repeat(2)),
        lambda a: (a.reshape(3, 2), a.transpose(), a.swapaxes(0, 1), a[None].squeeze()),
    ):
        assert_as_numpy(f, A)


def test_iteration_unrolls_over_the_first_axis():
    assert_as_numpy(lambda a: [r * 2 for r in a], A)
    assert_as_numpy(lambda a: sum(r[0] for r in a), A)
    first, second = [None, None]

    def unpack(a):
        first, second = a
        return first + second

    assert_as_numpy(unpack, A)
    assert first is second is None
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        run_traced(lambda a: list(a), np.float64(1))


def test_every_operation_has_the_users_line(trace, x):
    line = _here() + 1
    y = np.sum(np.tanh(x) @ x.T)
    assert isinstance(y, Tracer)
    for op in trace.func.body.ops:
        assert op.location.file == __file__
        assert op.location.line == line
    assert len({op.location.column for op in trace.func.body.ops}) >= 3


def _here() -> int:
    import sys

    return sys._getframe(1).f_lineno


def test_argument_names_are_hints(trace, x):
    assert x.value.hint == "x"


def test_repr_has_no_value(x, n):
    assert repr(x) == "<traced f64[2,3]>"
    with pytest.raises(TracingError, match="written into a string"):
        f"{x}"
    assert f"{n}" == "3" and f"{n:03d}" == "003"


def test_deepcopy_is_a_new_array_and_pickle_an_error(x):
    assert copy.deepcopy(x).shape == (2, 3)
    assert copy.copy(x) is not x
    with pytest.raises(TracingError, match="cannot be pickled"):
        pickle.dumps(x)


# -------------------------------------------------------------------------- static integers


def test_int_argument_is_read_where_its_value_is_needed(trace, n):
    used: list[Tracer] = []
    trace.on_static_use = used.append
    y = n * 2 + 1
    assert not used and y.weak and y.python == 7
    assert list(range(y)) == list(range(7))
    assert used == [n] or (len(used) == 1 and used[0] is n)
    assert [10, 20, 30, 40][n] == 40
    assert TABLE[np.zeros]((n, 2)).shape == (3, 2)
    assert {3: "a"}[n] == "a" or True
    assert int(n) == 3 and float(n) == 3.0 and bool(n > 2)


def test_int_argument_stays_traced_in_arithmetic(trace, n):
    trace.on_static_use = lambda t: pytest.fail("no value is needed")
    x = trace.argument(tensor(f32, 4), "x")
    assert (x * n + n / 2).dtype == np.float32
    y = x[n]
    function = trace.finish([x * n, y])
    values = np.arange(4, dtype=np.float32)
    scaled, element = run_function(function, [np.int64(2), values])
    np.testing.assert_array_equal(scaled, values * 2)
    assert element == 2


def test_int_of_a_derived_value_reports_every_argument(trace, n):
    m = trace.argument(tensor(i64), "m", weak=True, python=4)
    used = []
    trace.on_static_use = used.append
    assert operator.index(n * m) == 12
    assert {id(t) for t in used} == {id(n), id(m)}


# --------------------------------------------------------------------------------- the errors


def _error(function, *args) -> str:
    with pytest.raises(TracingError) as caught:
        run_traced(function, *args)
    text = str(caught.value)
    assert f"at {__file__}:" in text, text
    return text


def test_condition():
    text = _error(lambda s: 1 if s > 0 else 2, np.float64(1))
    assert "control flow on a traced condition" in text and "np.where" in text
    with pytest.raises(ValueError, match="truth value of an array with 6 elements is ambiguous"):
        run_traced(lambda a: 1 if a > 0 else 2, A)
    assert "control flow" in _error(lambda a: 1.0 in a, A)


def test_conversions():
    assert "float() of a traced f64[]" in _error(lambda s: float(s), np.float64(1))
    assert "int() of a traced f64[]" in _error(lambda s: int(s), np.float64(1))
    assert "turned into a NumPy array" in _error(lambda a: np.asarray(a), A)
    assert "needs the numbers" in _error(lambda a: a.tolist(), A)
    assert "a use as a Python int" in _error(lambda s: range(s), np.int64(1))
    assert "a use as a Python int" in _error(lambda s: [1, 2][s], np.int64(1))
    with pytest.raises(TypeError, match="only integer scalar arrays"):
        run_traced(lambda a: range(a), A)
    assert "dictionary key" in _error(lambda a: {a: 1}, A)
    assert "reads the bytes" in _error(lambda a: a.view(np.int64), A)


def _store(a):
    a[0] = 1.0


def _store_in_view(a):
    b = a[0]
    b += 1


def _augmented(a):
    a += 1
    return a


def test_stores():
    assert "cannot store into a traced array" in _error(_store, A)
    for name in ("fill", "sort", "put", "partition"):
        assert "cannot store" in _error(lambda a, m=name: getattr(a, m)(0), A)
    assert "out=" in _error(lambda a: np.add(a, 1, out=np.zeros((2, 3))), A)
    assert "stores into an array" in _error(lambda a: np.sum(a, out=np.zeros(())), A)
    assert "stores into an array" in _error(lambda a: np.add.at(a, 0, 1), A)
    assert "leaves elements undefined" in _error(lambda a: np.add(a, 1, where=a > 0), A)
    assert "an argument or captured array" in _error(_augmented, A)
    assert "a view of another array" in _error(_store_in_view, A)


def test_augmented_assignment_changes_a_local_array_under_all_its_names():
    def local(a):
        b = a * 2
        c = b
        b += 1
        b *= np.float32(3)
        return b, c

    assert_as_numpy(local, A)

    def scalar(a):
        s = a.sum()
        t = s
        s += 1
        return s, t

    assert_as_numpy(scalar, A)

    def viewed(a):
        b = a * 2
        c = b[0]
        b += 1
        return c

    assert "a view looks into" in _error(viewed, A)

    def released(a):
        b = a * 2
        total = b[0] * 3
        b += 1
        return b, total

    assert_as_numpy(released, A)


def test_functions_that_change_nothing_give_arrays_of_their_own():
    for f in (
        lambda a: +a, np.positive, np.abs, np.floor, np.conjugate, np.round, np.nan_to_num, np.copy,
        lambda a: a.astype(a.dtype), lambda a: a.clip(0, None), lambda a: np.diff(a, 0),
        lambda a: np.concatenate([a]), lambda a: np.where(True, a, a),
    ):  # fmt: skip

        def changed(a, f=f):
            b = a * np.uint8(1)
            c = f(b)
            c += np.uint8(1)
            return b, c

        assert_as_numpy(changed, np.arange(3, dtype=np.uint8))


def test_augmented_assignment_in_an_inner_trace(trace, x):
    y = x * 2
    with Trace("inner").active(), pytest.raises(TracingError, match="enclosing traced function"):
        y += 1


def test_augmented_assignment_keeps_shape_and_dtype():
    def widen(a):
        b = a * 1
        b += np.float64(0.5)
        return b

    assert_as_numpy(widen, A.astype(np.float32))
    with pytest.raises(TypeError, match="same_kind"):
        run_traced(widen, np.arange(3))

    def grow(a):
        b = a[0] * 1
        b += a
        return b

    with pytest.raises(ValueError, match="non-broadcastable output operand"):
        run_traced(grow, A)


def test_unknown_functions():
    assert "np.sort has no rule" in _error(lambda a: np.sort(a), A)
    assert "np.linalg.solve has no rule" in _error(lambda a: np.linalg.solve(a, a), np.eye(2))
    assert "np.fft.fft has no rule" in _error(lambda a: np.fft.fft(a), A)
    text = _error(lambda a: np.nanstd(a), A)
    assert "np.nanstd has no rule" in text and "np.std" in text
    assert "np.gcd has no rule" in _error(lambda a: np.gcd(a, 2), np.arange(3))


def test_a_tracer_that_escapes():
    kept = []
    run_traced(lambda a: kept.append(a) or a * 2, A)
    assert current_trace() is None
    with pytest.raises(TracingError, match="used after its function was traced"):
        kept[0] + 1
    with pytest.raises(TracingError, match="outside the trace that it belongs to"):
        run_traced(lambda a: a + kept[0], A)


def test_object_arrays_are_refused():
    with pytest.raises(TypeError, match="expected a bool, integer, floating or complex dtype"):
        run_traced(lambda a: a + np.array([object(), 1, 2]), A)


# ------------------------------------------------------------------------------ nested traces


def test_outer_tracers_become_arguments_of_an_inner_trace(trace, x):
    y = x * 2
    inner = Trace("inner")
    with inner.active():
        z = inner.argument(tensor(f64, 3), "z")
        result = np.sum(z * y) + np.sum(y)
    function = inner.finish([result])
    assert list(inner.borrowed) == [y.value]
    assert [v.type for v in function.args] == [tensor(f64, 3), tensor(f64, 2, 3)]
    (found,) = run_function(function, [np.ones(3), A])
    assert found == 2 * A.sum()


def test_captured_arrays_go_through_the_hook(trace, x):
    hidden = trace.argument(tensor(f64, 3), "hidden")
    seen = []
    trace.capture = lambda array: seen.append(array) or hidden
    w = np.ones(3)
    y = x + w
    assert len(seen) == 1 and seen[0] is w
    assert hidden.value.users and y.shape == (2, 3)


def test_constants_are_copied():
    w = np.ones(3)
    trace = Trace()
    with trace.active():
        y = trace.lift(w) * 2
        z = trace.lift(np.arange(3.0)) * 2
    function = trace.finish([y, z])
    w[:] = 5
    found = run_function(function, [])
    np.testing.assert_array_equal(found[0], [2, 2, 2])
    np.testing.assert_array_equal(found[1], [0, 2, 4])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, np.bool_, np.complex64])
def test_numpy_scalar_types_convert(kind):
    for x in (0.7, np.float32(0.7), A):
        found = run_traced(lambda a: TABLE[kind](a), x)
        ((value, tracer),) = found
        expected = kind(x)
        assert tracer.dtype == kind and not tracer.weak
        assert tracer.is_scalar == isinstance(expected, np.generic)
        np.testing.assert_array_equal(value, expected)
