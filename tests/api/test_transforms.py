"""grad, value_and_grad, vjp, jvp, hvp, jacobian, hessian against closed forms."""

import numpy as np
import pytest

import gradc

X = np.array([0.3, 0.7, -1.2])
A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 4.0]])


def f(x):
    return np.sum(np.sin(x) * x)


def first(x):
    return np.cos(x) * x + np.sin(x)


def second(x):
    return 2 * np.cos(x) - np.sin(x) * x


def third(x):
    return -3 * np.sin(x) - np.cos(x) * x


def test_gradients_to_third_order():
    np.testing.assert_allclose(gradc.grad(f)(X), first(X))
    g2 = gradc.grad(lambda x: np.sum(gradc.grad(f)(x)))
    np.testing.assert_allclose(g2(X), second(X))
    g3 = gradc.grad(lambda x: np.sum(g2(x)))
    np.testing.assert_allclose(g3(X), third(X))
    value, gradient = gradc.value_and_grad(g3_scalar)(0.5)
    np.testing.assert_allclose([value, gradient], [second(0.5), third(0.5)])


def g3_scalar(t):
    return gradc.grad(gradc.grad(lambda s: np.sin(s) * s))(t)


def test_the_closure_of_an_inner_function_is_differentiated():
    # d/dx [x * d/dy (x * y**2)](y = 3) = d/dx (x * 6 x) = 12 x
    def outer(x):
        return x * gradc.grad(lambda y: x * y**2)(3.0)

    np.testing.assert_allclose(gradc.grad(outer)(2.0), 24.0)
    np.testing.assert_allclose(gradc.compile(outer)(2.0), 24.0)

    def thrice(x):
        def middle(y):
            return gradc.grad(lambda z: x * y * y * z**3)(2.0)

        return gradc.grad(middle)(x)

    # d/dy (12 x y^2) at y = x is 24 x^2
    np.testing.assert_allclose(thrice(1.5), 54.0)
    np.testing.assert_allclose(gradc.grad(thrice)(1.5), 48 * 1.5)


def test_several_arguments_and_trees():
    def loss(p, x, y):
        return np.sum((p["w"] * x + p["b"][0] - y) ** 2)

    p = {"w": np.array([1.0, 2.0]), "b": (np.float64(0.5), None), "name": "m"}
    x, y = np.array([3.0, 4.0]), np.array([1.0, 1.0])
    residual = p["w"] * x + 0.5 - y
    p.pop("name")
    gp, gy = gradc.grad(loss, argnums=(0, 2))(p, x, y)
    np.testing.assert_allclose(gp["w"], 2 * residual * x)
    np.testing.assert_allclose(gp["b"][0], 2 * residual.sum())
    assert gp["b"][1] is None and type(gp["b"][0]) is np.float64
    np.testing.assert_allclose(gy, -2 * residual)
    (gx,) = gradc.grad(loss, argnums=[1])(p, x, y=y)
    np.testing.assert_allclose(gx, 2 * residual * p["w"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_have_the_arguments_dtype_and_kind(dtype):
    x = X.astype(dtype)
    assert gradc.grad(f)(x).dtype == dtype
    scalar = gradc.grad(f)(dtype(0.5))
    assert type(scalar) is dtype
    array = gradc.grad(f)(np.array(0.5, dtype))
    assert type(array) is np.ndarray and array.shape == () and array.dtype == dtype
    assert type(gradc.grad(f)(0.5)) is np.float64


@pytest.mark.parametrize("transform", [gradc.grad, gradc.value_and_grad])
def test_an_integer_number_is_refused_before_the_result_that_it_makes_an_integer(transform):
    message = "with respect to a, a Python int.*Pass a float \\(3.0 instead of 3\\)"
    with pytest.raises(TypeError, match=message):
        transform(lambda a: a * a)(3)
    with pytest.raises(TypeError, match="needs a floating result, got i64"):
        transform(lambda a: np.sum(a > 0))(X)


def test_integer_arguments():
    def g(x, n):
        return np.sum(x["a"] * n)

    tree = {"a": X, "k": [1, np.arange(3)]}
    with pytest.raises(TypeError, match=r"x\['k'\]\[0\], a Python int.*argnums.*allow_int=True"):
        gradc.grad(g)(tree, 2)
    with pytest.raises(TypeError, match=r"with respect to n, i64\[3\]"):
        gradc.grad(g, argnums=1)(tree, np.arange(3))
    found = gradc.grad(g, allow_int=True)(tree, 2)
    np.testing.assert_allclose(found["a"], np.full(3, 2.0))
    assert found["k"] == [None, None]


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: x * 2, r"needs a scalar result, got f64\[3\].*sum.*gradc.vjp"),
        (lambda x: (x.sum(), x), r"needs one scalar result, got \(f64\[\], f64\[3\]\).*has_aux"),
        (lambda x: 3.0, "computed from the arguments, got 3.0"),
        (lambda x: None, "computed from the arguments, got None"),
        (lambda x: np.argmax(x), "needs a floating result, got i64"),
        (lambda x: x.sum() * 1j, "needs a real result, got c128.*holomorphic=True"),
    ],
)
def test_results_that_have_no_gradient(function, message):
    with pytest.raises(TypeError, match=message):
        gradc.grad(function)(X)
    with pytest.raises(TypeError, match=message):
        gradc.compile(function).value_and_grad(X)


def test_argnums_beyond_the_arguments():
    with pytest.raises(ValueError, match="argnums=1: f was called with 1 positional"):
        gradc.grad(f, argnums=1)(X)
    with pytest.raises(ValueError, match="keyword arguments are not differentiated"):
        gradc.grad(f)(x=X)


def test_has_aux():
    def g(x, k):
        return np.sum(x**2), (x * k, "note")

    (value, aux), gradient = gradc.value_and_grad(g, has_aux=True)(X, 3.0)
    np.testing.assert_allclose(value, np.sum(X**2))
    np.testing.assert_allclose(aux[0], 3 * X)
    assert aux[1] == "note"
    np.testing.assert_allclose(gradient, 2 * X)
    gradient, aux = gradc.grad(g, has_aux=True)(X, 3.0)
    np.testing.assert_allclose(gradient, 2 * X)
    with pytest.raises(TypeError, match=r"expected f to return \(value, aux\), got f64"):
        gradc.grad(f, has_aux=True)(X)


def test_complex_arguments():
    z = np.array([1.0 + 2j, -0.5 + 0.1j])
    # L = sum |z|^2: dL/dx + i dL/dy = 2 z
    np.testing.assert_allclose(gradc.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z)
    # L = Re(z^2) = x^2 - y^2: 2x - 2iy
    np.testing.assert_allclose(gradc.grad(lambda z: np.sum(np.real(z * z)))(z), 2 * z.conj())
    holomorphic = gradc.grad(lambda z: np.sum(z**3 + np.exp(z)), holomorphic=True)
    np.testing.assert_allclose(holomorphic(z), 3 * z**2 + np.exp(z))
    assert gradc.grad(lambda z: z**2, holomorphic=True)(1 + 1j) == 2 + 2j
    with pytest.raises(TypeError, match="holomorphic=True needs complex arguments, got f64"):
        gradc.grad(lambda x: np.sum(x * 1j), holomorphic=True)(X)


def test_vjp():
    def g(x, y, n):
        return {"p": x * y, "n": n * 2, "s": "text"}, y.sum()

    y = np.array([1.0, 2.0, 3.0])
    out, pullback = gradc.vjp(g, X, y, 4)
    np.testing.assert_allclose(out[0]["p"], X * y)
    assert out[0]["n"] == 8 and out[0]["s"] == "text"
    cotangent = ({"p": np.array([1.0, 0.0, 2.0]), "n": None, "s": None}, 10.0)
    gx, gy, gn = pullback(cotangent)
    np.testing.assert_allclose(gx, cotangent[0]["p"] * y)
    np.testing.assert_allclose(gy, cotangent[0]["p"] * X + 10)
    assert gn is None
    np.testing.assert_allclose(pullback(cotangent)[0], gx)


def test_the_pullback_uses_the_arguments_of_its_call():
    x, w = X.copy(), np.ones(3)
    _, pullback = gradc.vjp(lambda x: x * x * w, x)
    x[:] = 0
    w[:] = 0
    np.testing.assert_allclose(pullback(np.ones(3))[0], 2 * X)


@pytest.mark.parametrize(
    "cotangent, error, message",
    [
        (X, TypeError, "structure of the result"),
        ({"a": np.ones(2)}, ValueError, r"cotangent\['a'\] has shape \[2\]: expected \[3\]"),
        ({"a": 1j * X}, TypeError, r"cotangent\['a'\] is complex"),
        ({"a": None}, TypeError, r"cotangent\['a'\] is None: expected f64\[3\]"),
        ({"a": np.array(["x"] * 3)}, TypeError, r"cotangent\['a'\] has dtype <U1"),
    ],
)
def test_wrong_cotangents(cotangent, error, message):
    _, pullback = gradc.vjp(lambda x: {"a": x * 2}, X)
    with pytest.raises(error, match=message):
        pullback(cotangent)


def test_jvp():
    out, tangent = gradc.jvp(lambda x, n: (np.sin(x) * n, n), (X, 3), (np.ones(3), None))
    np.testing.assert_allclose(out[0], np.sin(X) * 3)
    np.testing.assert_allclose(tangent[0], np.cos(X) * 3)
    assert tangent[1] is None
    out, tangent = gradc.jvp(lambda x: x**2, [2.0], [1.0])
    assert (out, tangent) == (4.0, 4.0)
    with pytest.raises(TypeError, match="primals to be a tuple"):
        gradc.jvp(f, X, X)
    with pytest.raises(ValueError, match="as many tangents as primals, 1, got 2"):
        gradc.jvp(f, (X,), (X, X))
    with pytest.raises(ValueError, match=r"tangents\[0\] has shape \[2\]: expected \[3\]"):
        gradc.jvp(f, (X,), (np.ones(2),))


def test_hvp():
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(gradc.hvp(f, X, v), second(X) * v)
    np.testing.assert_allclose(gradc.hvp(lambda x: x @ A @ x, (X,), (v,))[0], 2 * A @ v)
    # f(x, y) = sum(x y^2): H (v, w) = (2 y w, 2 y v + 2 x w)
    y, w = np.array([2.0, 1.0, 3.0]), np.array([0.1, 0.2, 0.3])
    hx, hy = gradc.hvp(lambda x, y: np.sum(x * y * y), (X, y), (v, w))
    np.testing.assert_allclose(hx, 2 * y * w)
    np.testing.assert_allclose(hy, 2 * y * v + 2 * X * w)


def test_jacobian():
    found = gradc.jacobian(lambda x: {"a": A @ x, "b": np.sum(x**2)})(X)
    np.testing.assert_allclose(found["a"], A)
    np.testing.assert_allclose(found["b"], 2 * X)
    gx, gy = gradc.jacobian(lambda x, y: x[:, None] * y, argnums=(0, 1))(X, X[:2])
    assert gx.shape == (3, 2, 3) and gy.shape == (3, 2, 2)
    np.testing.assert_allclose(gx, np.einsum("ik,j->ijk", np.eye(3), X[:2]))
    np.testing.assert_allclose(gy, np.einsum("i,jk->ijk", X, np.eye(2)))
    np.testing.assert_allclose(gradc.jacobian(lambda t: np.stack([t, t * t]))(3.0), [1, 6])
    with pytest.raises(TypeError, match="with respect to n, a Python int"):
        gradc.jacobian(lambda n: X * n)(3)


def test_jacobian_of_trees_of_arguments():
    found = gradc.jacobian(lambda p: p["w"] * p["b"])({"w": X, "b": 2.0})
    np.testing.assert_allclose(found["w"], 2 * np.eye(3))
    np.testing.assert_allclose(found["b"], X)


def test_hessian():
    np.testing.assert_allclose(gradc.hessian(f)(X), np.diag(second(X)))
    np.testing.assert_allclose(gradc.hessian(lambda x: x @ A @ x)(X), 2 * A)
    blocks = gradc.hessian(lambda x, y: np.sum(x * y * y), argnums=(0, 1))(X, X + 1)
    np.testing.assert_allclose(blocks[0][0], np.zeros((3, 3)))
    np.testing.assert_allclose(blocks[0][1], np.diag(2 * (X + 1)))
    np.testing.assert_allclose(blocks[1][0], np.diag(2 * (X + 1)))
    np.testing.assert_allclose(blocks[1][1], np.diag(2 * X))
    tree = gradc.hessian(lambda p: p["a"] ** 2 * p["b"])({"a": 2.0, "b": 3.0})
    assert tree["a"] == {"a": 6.0, "b": 4.0} and tree["b"] == {"a": 4.0, "b": 0.0}


def test_transforms_inside_compiled_functions():
    v = np.ones(3)

    @gradc.compile
    def everything(x):
        out, pullback = gradc.vjp(lambda u: np.sin(u) * x, x)
        tangent = gradc.jvp(f, (x,), (v,))[1]
        product = gradc.hvp(f, x, v)
        matrix = gradc.hessian(f)(x)
        rows = gradc.jacobian(lambda u: u * u)(x)
        value, gradient = gradc.value_and_grad(f)(x)
        return out, pullback(v)[0], tangent, product, matrix, rows, value, gradient

    def check(found, x):
        np.testing.assert_allclose(found[0], np.sin(x) * x)
        np.testing.assert_allclose(found[1], np.cos(x) * x)
        np.testing.assert_allclose(found[2], first(x).sum())
        np.testing.assert_allclose(found[3], second(x))
        np.testing.assert_allclose(found[4], np.diag(second(x)))
        np.testing.assert_allclose(found[5], np.diag(2 * x))
        np.testing.assert_allclose(found[6], f(x))
        np.testing.assert_allclose(found[7], first(x))

    check(everything(X), X)
    check(everything(X * 2), X * 2)
    trace = gradc.grad(lambda x: np.sum(everything(x)[4]))(X)
    np.testing.assert_allclose(trace, third(X))


def test_transforms_of_compiled_functions():
    compiled = gradc.compile(f)
    np.testing.assert_allclose(gradc.grad(compiled)(X), first(X))
    np.testing.assert_allclose(gradc.hessian(compiled)(X), np.diag(second(X)))
    np.testing.assert_allclose(gradc.vjp(compiled, X)[1](2.0)[0], 2 * first(X))


def test_stop_gradient():
    def g(x):
        return np.sum(x * gradc.stop_gradient(x * x))

    np.testing.assert_allclose(gradc.grad(g)(X), X * X)
    np.testing.assert_allclose(gradc.jvp(g, (X,), (np.ones(3),))[1], np.sum(X * X))
    assert gradc.stop_gradient(X) is X
    assert gradc.stop_gradient({"a": 2.0}) == {"a": 2.0}
    tree = gradc.grad(lambda x: gradc.stop_gradient({"a": x})["a"] * x)(3.0)
    assert tree == 3.0


def test_a_gradient_of_a_result_that_ignores_an_argument_is_zero():
    np.testing.assert_array_equal(gradc.grad(lambda x, y: np.sum(y))(X, X), np.zeros(3))
    assert gradc.grad(lambda x, y: x * 1.0)(2.0, 1.0) == 1.0


@pytest.mark.parametrize("args", [X, 2.0, {"w": X}])
def test_check_grads_needs_a_tuple_of_arguments(args):
    kind = type(args).__name__
    with pytest.raises(TypeError, match=f"expected args to be a tuple.*got {kind}: .*\\(x,\\)"):
        gradc.check_grads(lambda x: np.sum(x), args)


@pytest.mark.parametrize("order", [1, 2])
def test_check_grads_accepts_right_gradients(order):
    gradc.check_grads(f, (X,), order=order)
    gradc.check_grads(lambda p, y: (p["w"] * y, np.tanh(p["w"])), ({"w": X}, X + 1), order=order)
    gradc.check_grads(lambda z: np.exp(z) * z.conj(), (np.array([0.1 + 0.5j, 1j]),), order=order)
    gradc.check_grads(f, (X.astype(np.float32),), order=1)


def test_check_grads_names_the_worst_entry():
    def wrong(x):
        return np.sum(x["a"][1:] ** 2) + np.sum(gradc.stop_gradient(x["a"]) * np.arange(3.0) ** 4)

    with pytest.raises(gradc.GradientMismatch, match=r"args\[0\]\['a'\]\[2\] is ") as c:
        gradc.check_grads(wrong, ({"a": X},))
    assert "reverse mode" in str(c.value)


def test_formulas_that_overflow_are_stabilized_also_inside_other_functions():
    def softplus(x):
        return np.log(1 + np.exp(x))

    for x, slope in ((1000.0, 1.0), (-1000.0, 0.0), (0.0, 0.5)):
        assert gradc.grad(softplus)(x) == slope
        assert gradc.compile(lambda x: gradc.grad(softplus)(x))(x) == slope
    assert gradc.compile(softplus)(1000.0) == 1000.0
    zero = np.zeros(3)
    np.testing.assert_array_equal(gradc.grad(lambda v: np.sqrt(np.sum(v * v)))(zero), zero)
