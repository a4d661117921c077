"""NumPy scalars, 0-d arrays, Python numbers, narrow dtypes: results are of the kind that NumPy
gives."""

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
FLOAT32_EXPRESSIONS = (
    "np.append(x, 1.5)", "np.append(x[0], 1.5)", "np.append(x, [1.5])", "np.append(1.5, x)",
    "np.append(x, 1)", "np.hstack([x, 1.5])", "np.hstack([x[0], 1.5])", "np.stack([x[0], 1.5])",
    "np.vstack([x, [1, 2]])", "np.block([[x, 1.5]])", "np.block([x, 1])",
    "np.column_stack([x, [1, 2]])", "np.dstack([x, [1., 2.]])", "np.concatenate([x, [1.0]])",
    "np.concatenate([[x[0]], [1.0]])", "np.array([x[0], 1])", "np.array([x, [1, 2]])",
    "np.where(x>1, x, 1.5)", "np.where(x>1, 1.5, x)", "np.where(x[0]>1, 1.5, 2)",
    "np.select([x>1], [x], 1.5)", "np.select([x>1], [x])", "np.choose(x>2, [x, 1.5])",
    "np.clip(x, 0.5, 2)", "np.clip(x, [0.5, 1], 2)", "np.pad(x, 1, constant_values=0.5)",
    "np.full(2, x[0])", "np.full_like(x, 1.5)", "np.linspace(0, x[0], 3)",
    "np.linspace(0., 1., 3)*x[0]", "np.diff(x, prepend=0.5)", "np.diff(x, append=1)",
    "np.ediff1d(x)", "np.trapezoid(x)", "np.trapezoid(x, dx=0.5)", "np.trapezoid(x, [0, 1])",
    "np.average(x, weights=[1, 2])", "np.average(x)", "np.mean(x)", "np.var(x)", "np.std(x)",
    "np.sum(x, initial=0.5)", "np.max(x, initial=0.5)", "np.prod(x, initial=2)", "np.cumsum(x)",
    "np.dot(x, [1, 2])", "np.dot(x, 2.0)", "np.dot(x, 2)", "np.outer(x, [1, 2])",
    "np.outer(x, 2.0)", "np.inner(x, [1., 2.])", "np.inner(x, 2.0)", "np.kron(x, 2.0)",
    "np.kron(x, [1, 2])", "np.matmul(x, [1, 2])", "np.tensordot(x, [1, 2], 1)",
    "np.vdot(x, [1, 2])", "np.einsum('i, i', x, [1, 2])", "np.einsum('i, i->i', x, [1., 2.])",
    "np.cross([x[0], 1., 2.], [1, 2, 3])", "np.polyval([1, 2], x)", "np.polyval([1., 2.], x)",
    "np.polyval(x, 2.0)", "np.polyval(x, 2)", "np.vander(x)", "np.gradient(x)",
    "np.gradient(x, 0.5)", "np.gradient(x, [0., 1.])", "np.interp(0, [0, 1], [0, 1])*x",
    "np.nan_to_num(x)", "np.round(x, 1)", "np.sinc(x)", "np.deg2rad(x)", "np.hypot(x, 2)",
    "np.hypot(x, 2.0)", "np.arctan2(x, np.float64(1))", "np.power(x, 2)", "np.power(2, x)",
    "np.power(x, np.int64(2))", "x**np.int64(2)", "x*np.float64(2)", "x*np.int64(2)",
    "x*np.int8(2)", "x*True", "x/2", "x//2", "x%2", "2**x", "np.float_power(x, 2)",
    "np.ldexp(x, 2)", "np.heaviside(x, 0.5)", "np.copysign(x, -1)", "np.maximum(x, 0)",
    "np.maximum(x, 0.0)", "np.maximum(x, np.float64(0))", "np.fmax(x, 1)", "np.logaddexp(x, 1)",
    "np.sqrt(x)", "np.sqrt(2)*x", "np.pi*x", "np.exp(1)*x", "np.float64(np.pi)*x",
    "np.linalg.norm(x)", "np.linalg.norm(x, 1)", "np.linalg.norm(x, 3)",
    "np.linalg.norm(x, np.inf)", "np.linalg.norm([x, x])", "np.linalg.norm([x, [1., 2.]])",
    "np.cov(x)", "np.corrcoef([x, [1., 3.]])", "np.ptp(x)", "np.count_nonzero(x)*x",
    "np.argmax(x)*x", "np.argmax(x)+x[0]", "x.sum()*np.arange(2)", "x.sum()*2", "len(x)*x",
    "x[0]*2.5", "x[0]+1", "x.mean()+np.float64(1)", "np.nansum(x)", "np.nanmean(x)", "np.unwrap(x)",
    "np.angle(x)", "np.real(x)", "np.repeat(x, 2)", "np.tile(x, 2)", "np.take(x, [0])",
    "np.meshgrid(x, [1, 2])[1]", "np.meshgrid(x, [1, 2])[0]", "np.broadcast_arrays(x, 1.5)[1]",
    "np.broadcast_to(1.5, (2, ))*x", "np.sum([x[0], 1.5])", "np.mean([x[0], 1])",
    "np.max([x[0], 1])", "np.asarray([1.0, 2])*x", "np.ones(2)*x", "np.zeros_like(x)+1.5",
    "np.eye(2)*x", "np.arange(2)*x", "np.arange(2.)*x", "np.arange(2, dtype=np.float32)*x",
    "np.geomspace(1, 2, 2)*x", "sum([x[0], 1.5])", "sum(x)", "max(x)", "abs(x[0])",
    "round(x[0], 1)", "float(x[0])*x", "float(x[0])", "int(x[0])*x", "x[0].item()*x",
    "np.float32(2)*x", "np.float64(x)", "np.float64(x[0])*x", "x.astype(int)*x",
    "np.isclose(x, 1.5)", "np.unravel_index(1, (2, 2))[0]*x", "np.piecewise(x, [x<2], [1, 2])",
    "np.piecewise(x, [x<2], [lambda v:v*2, 1.5])", "np.triu([x, x])", "np.diag(x)",
    "np.trace([x, x])", "np.std([x, [1, 2]])", "np.var([x[0], 2])", "np.multiply.outer(x, [1, 2])",
    "np.add.outer(x, 1.5)", "np.cumprod([x[0], 2])", "np.resize(x, 3)", "np.delete(x, 0)",
    "np.compress([True, False], x)", "np.extract(x>0, x)", "np.nonzero(x)[0]*1", "np.rot90([x, x])",
    "np.roll(x, 1)", "np.linalg.multi_dot([[x, x], x])", "np.linalg.matrix_power([x, x], 2)",
    "np.modf(x)[0]", "np.divmod(x, 2)[0]", "divmod(x, 2)[1]",
)  # fmt: skip
INTEGER_EXPRESSIONS = (
    "x+1.5", "x*np.float32(2)", "np.sin(x)", "np.mean(x)", "np.append(x, 1.5)",
    "np.where(x>1, x, 1.5)", "np.sum(x)", "np.prod(x)", "np.cumsum(x)", "x/2", "x//2", "x%2",
    "x**2", "2**x", "np.power(x, 2)", "np.sqrt(x)", "np.var(x)", "np.average(x)",
    "np.clip(x, 0, 1.5)", "np.clip(x, 0, 1)", "np.max(x)", "np.diff(x)", "np.dot(x, x)",
    "np.dot(x, [1., 2.])", "np.exp(x)", "abs(x)", "-x", "np.sign(x)", "np.round(x)", "np.floor(x)",
    "np.trunc(x)", "np.ceil(x)", "np.rint(x)", "np.square(x)", "np.reciprocal(x)",
    "np.maximum(x, 0)", "np.maximum(x, 0.0)", "np.maximum(x, 1)", "np.linalg.norm(x)",
    "np.hypot(x, x)", "np.trapezoid(x)", "np.gradient(x)", "np.cov(x)", "np.ptp(x)",
    "np.sum(x, dtype=np.float32)", "np.mean(x, dtype=np.float32)", "x.sum()*1.5",
    "np.sum(x)+np.float32(1)", "x@x", "np.einsum('i, i', x, x)", "np.einsum('i->', x)",
    "np.tensordot(x, x, 1)", "np.outer(x, x)", "np.bitwise_and(x, 1)", "~x", "x<<1", "x>>1", "x&1",
    "x|1", "x^1", "np.isfinite(x)", "np.logical_and(x, 1)", "np.any(x)", "np.all(x)",
    "np.argmax(x)", "np.pad(x, 1)", "np.pad(x, 1, constant_values=1.7)", "np.full_like(x, 1.7)",
    "np.interp(0, [0], [0])*x", "np.polyval(x, 2)", "np.polyval([1, 2], x)", "np.vander(x)",
    "np.nan_to_num(x)", "np.abs(x)", "np.fabs(x)", "np.mod(x, 3)", "np.fmod(x, 3)",
    "np.remainder(x, -3)", "np.floor_divide(x, 2)", "np.true_divide(x, 2)", "np.sinc(x)",
    "np.log(x+9)", "np.ldexp(x.astype(float), x)", "np.count_nonzero(x)", "np.cumprod(x)",
    "np.triu([x, x])", "np.trace([x, x])", "np.choose(x*0, [x, x])", "np.heaviside(x, 0.5)",
    "np.arctan2(x, x)", "np.copysign(x, -1)", "np.divmod(x, 2)[0]", "np.float_power(x, 2)",
    "x.astype(bool)", "x.mean()", "x.std()", "np.left_shift(x, 1)", "np.stack([x, x*1.5])",
    "np.select([x>1], [x], 0)", "np.select([x>1], [x], 0.5)", "np.minimum(x, np.int8(1))",
    "x+np.uint8(1)", "x*np.int8(1)", "x+True", "x-np.float32(1)", "x==1.5", "x<1.5",
    "x>np.float32(1)", "np.equal(x, 1)", "np.sum(x>0)", "np.mean(x>0)", "np.cumsum(x>0)",
    "np.prod(x>0)", "np.max(x>0)", "(x>0)+(x>1)", "(x>0)*1.5", "(x>0)/2", "np.sum(x, initial=1)",
    "np.max(x, initial=9)", "np.positive(x)", "np.cbrt(x)", "np.isclose(x, 1)",
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


def check(expressions, x):
    """Compare; the number of expressions that NumPy takes."""
    checked = 0
    for text in expressions:
        function = function_of(text)
        try:
            expected = function(x)
        except (TypeError, ValueError, AttributeError, IndexError, OverflowError):
            continue  # a method that Python numbers lack, axes that scalars lack, ...
        found = traced_result(function, x)
        pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            assert type(one) is type(other), f"{text}: {one!r}, expected {other!r}"
            if isinstance(other, np.dtype | type):
                assert one == other
                continue
            assert np.asarray(one).dtype == np.asarray(other).dtype, text
            np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=text)
        checked += 1
    return checked


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("x", ARGUMENTS, ids=repr)
def test_results_are_of_numpys_kind(x):
    assert check(EXPRESSIONS, x) > 100


@pytest.mark.filterwarnings("ignore")
def test_float32_meets_numbers_and_lists():
    assert check(FLOAT32_EXPRESSIONS, np.array([1.5, 2.5], np.float32)) > 150


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.bool_])
def test_integers_widen_as_in_numpy(dtype):
    assert check(INTEGER_EXPRESSIONS, np.array([1, 2]).astype(dtype)) > 80
