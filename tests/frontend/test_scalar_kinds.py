"""NumPy scalars, 0-d arrays and Python numbers: results are of the kind that NumPy gives."""

import linecache

import numpy as np
import pytest

import gradc
from gradc.engine import interpreted
from gradc.modes import ValueMode

EXPRESSIONS = (
    "x.copy()", "np.copy(x)", "x.squeeze()", "x.T", "x.transpose()", "x.reshape(())",
    "x.reshape(-1)", "x.ravel()", "x.flatten()", "x.clip(0)", "np.clip(x, 0, 1)", "x.round()",
    "np.round(x)", "round(x)", "round(x, 1)", "x.sum()", "np.sum(x)", "x.mean()", "x.max()",
    "np.max(x)", "x.std()", "np.squeeze(x)", "np.transpose(x)", "np.reshape(x, ())",
    "np.asarray(x)", "np.array(x)", "np.atleast_1d(x)", "np.expand_dims(x, 0)", "x[None]", "x[...]",
    "x[()]", "np.flip(x)", "np.roll(x, 1)", "np.tile(x, 2)", "np.repeat(x, 2)",
    "np.where(x>0, x, 1)", "np.abs(x)", "abs(x)", "-x", "+x", "x*2", "2*x", "x+1", "np.add(x, 1)",
    "np.dot(x, x)", "np.outer(x, x)", "np.multiply.outer(x, x)", "x.dot(x)", "np.vdot(x, x)",
    "np.inner(x, x)", "x.astype(int)", "x.astype(float)", "x.item()", "float(x)", "int(x)",
    "bool(x)", "x>0", "x==x", "~(x>0)", "np.logical_not(x>0)", "np.isnan(x)", "x.real", "x.imag",
    "np.real(x)", "np.conj(x)", "x.conj()", "x.cumsum()", "np.cumsum(x)", "x.argmax()",
    "np.argmax(x)", "x.any()", "np.any(x)", "x.all()", "x.prod()", "x.var()", "np.var(x)",
    "x.take(0)", "np.take(x, 0)", "np.take(x, [0])", "x.repeat(2)", "np.broadcast_to(x, ())",
    "np.broadcast_to(x, (2, ))", "np.zeros_like(x)", "np.ones_like(x)", "np.full_like(x, 2.0)",
    "np.nan_to_num(x)", "np.maximum(x, 0)", "np.maximum(x, x)", "np.linalg.norm(np.atleast_1d(x))",
    "np.square(x)", "x**2", "x**0.5", "x**3", "2**x", "divmod(x, 2)", "np.divmod(x, 2)",
    "np.modf(x)", "x//1", "x%1", "np.floor(x)", "np.trunc(x)", "np.fix(x)", "np.sign(x)",
    "np.sinc(x)", "np.heaviside(x, 0.5)", "np.einsum('->', x)", "np.einsum(', ->', x, x)",
    "np.einsum('...->...', x)", "np.tensordot(x, x, 0)", "np.stack([x, x])", "np.array([x, 1])",
    "np.append(x, x)", "np.ptp(x)", "np.average(x)", "np.cumprod(x)", "np.trapezoid([x, x])",
    "np.diff([x, x])", "np.select([x>0], [x], 0.)", "np.choose(x>0, [x, x])", "np.isclose(x, x)",
    "np.array_equal(x, x)", "np.allclose(x, x)", "np.moveaxis(x, (), ())", "np.ravel(x)",
    "np.size(x)", "np.ndim(x)", "np.shape(x)", "x.size", "x.ndim", "x.shape", "np.count_nonzero(x)",
    "np.nansum(x)", "np.nanmax(x)", "np.angle(x)", "np.deg2rad(x)", "np.polyval([1., 2.], x)",
    "np.unwrap([x, x])", "np.float32(x)", "np.float64(x)", "np.sqrt(x)",
    "np.matmul(np.atleast_1d(x), np.atleast_1d(x))", "np.atleast_1d(x)@np.atleast_1d(x)",
    "np.trace(np.diag([x, x]))", "np.concatenate([[x], [x]])", "np.hstack([x, x])",
    "np.vstack([x, x])", "np.block([x, x])", "np.kron(x, x)", "np.meshgrid(x, x)[0]",
    "np.broadcast_arrays(x, x)[0]", "np.add.reduce(np.atleast_1d(x))",
    "np.maximum.reduce(np.atleast_1d(x))", "sum([x, x])", "np.result_type(x)", "x.dtype",
    "x.swapaxes(0, 0) if x.ndim else x", "np.logaddexp(x, x)", "np.ldexp(x, 1)",
    "np.copysign(x, -1)", "np.positive(x)", "np.negative(x)", "np.float_power(x, 2)",
    "np.power(x, 2)", "np.hypot(x, x)", "np.arctan2(x, x)", "np.linspace(0, x, 3)",
    "np.full((2, ), x)", "np.zeros(())+x", "np.array(1.0)*x", "np.array(1.0)", "np.float64(1)*x",
    "np.sum([x, x])", "np.prod((x, x))", "np.mean([x])", "np.einsum('i->', [x, x])",
    "np.cov([x, x])", "np.resize(x, (2, ))", "np.diag([x])", "np.pad([x], 1)", "np.rot90([[x]])",
    "np.real_if_close(x)", "np.isscalar(x)", "np.vecdot([x], [x])", "np.clip(x, x, x)",
    "x.trace() if x.ndim else x", "np.exp(x)[()]", "np.sin(x)[None]",
    "np.max([[x]], axis=(0, 1), keepdims=True)",
)  # fmt: skip
ARGUMENTS = (
    np.float64(1.5), np.asarray(1.5), 1.5, np.float32(1.5), np.full(1, 1.5), 2, np.int32(3),
    np.asarray(3),
)  # fmt: skip


def function_of(text):
    """A function of x with source that the front end finds."""
    source = f"def function(x):\n    return {text}\n"
    name = f"<kind of {text}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["function"]


def traced_result(function, x):
    """The function's result from the interpreter, in the tree that a compiled call gives."""
    target = gradc.compile(function).resolved()
    bound = target.engine.bind(target.function, (x,), {})
    return bound.rebuild(ValueMode(), interpreted(bound.traced.function)(*bound.inputs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("x", ARGUMENTS, ids=repr)
def test_results_are_of_numpys_kind(x):
    checked = 0
    for text in EXPRESSIONS:
        function = function_of(text)
        try:
            expected = function(x)
        except (TypeError, ValueError, AttributeError, IndexError):
            continue  # a method that Python numbers lack, axes that scalars lack
        found = traced_result(function, x)
        pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            assert type(one) is type(other), f"{text}: {one!r}, expected {other!r}"
            if isinstance(other, np.dtype | type):
                assert one == other
                continue
            assert np.asarray(one).dtype == np.asarray(other).dtype, text
            np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=text)
        checked += 1
    assert checked > 100
