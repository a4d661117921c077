"""gradc.compile: what it accepts, what it returns, when it traces again."""

import functools
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import gradc

X = np.array([0.5, -1.0, 2.0])


def energy(x):
    return np.sum(np.sin(x) * x)


def energy_gradient(x):
    return np.cos(x) * x + np.sin(x)


@gradc.compile
def compiled_energy(x):
    """The energy."""
    return energy(x)


@gradc.compile(argnums=(0, 1), has_aux=True)
def scaled(x, y, power=2):
    return np.sum(x * y**power), {"sum": x + y}


def traces(compiled):
    return compiled.explain().count("\n")


def test_a_decorated_function():
    assert compiled_energy(X) == energy(X)
    assert type(compiled_energy(X)) is np.float64
    value, gradient = compiled_energy.value_and_grad(X)
    assert value == energy(X)
    np.testing.assert_allclose(gradient, energy_gradient(X))
    np.testing.assert_allclose(compiled_energy.grad(X), energy_gradient(X))
    assert compiled_energy.__name__ == "compiled_energy"
    assert compiled_energy.__doc__ == "The energy."


def test_options_set_what_value_and_grad_does():
    y = np.array([1.0, 2.0, 3.0])
    (value, aux), (gx, gy) = scaled.value_and_grad(X, y)
    np.testing.assert_allclose(value, np.sum(X * y**2))
    np.testing.assert_allclose(aux["sum"], X + y)
    np.testing.assert_allclose(gx, y**2)
    np.testing.assert_allclose(gy, 2 * X * y)
    (gx, gy), aux = scaled.grad(X, y, power=3)
    np.testing.assert_allclose(gy, 3 * X * y**2)
    np.testing.assert_allclose(aux["sum"], X + y)


class Model:
    def __init__(self, w):
        self.w = w

    @gradc.compile
    def loss(self, x):
        return np.sum(x * self.w)

    def plain(self, x):
        return np.sum(x * x * self.w)

    def __call__(self, x):
        return np.sum(x * self.w)


def test_a_method_binds():
    first, second = Model(np.ones(3)), Model(np.full(3, 2.0))
    assert first.loss(X) == 1.5 and second.loss(X) == 3.0
    value, gradient = second.loss.value_and_grad(X)
    np.testing.assert_allclose(gradient, second.w)
    second.w = np.arange(3.0)
    np.testing.assert_allclose(second.loss.grad(X), second.w)
    np.testing.assert_allclose(gradc.grad(second.plain)(X), 2 * X * second.w)
    np.testing.assert_allclose(gradc.compile(first.plain)(X), np.sum(X * X))
    np.testing.assert_allclose(gradc.compile(first).grad(X), np.ones(3))


@functools.lru_cache
def cached_factor(n):
    return 2.0 * n


@pytest.mark.parametrize(
    "function, expected",
    [
        (functools.partial(lambda a, x: np.sum(a * x), 3.0), lambda x: 3 * np.ones(3)),
        (functools.partial(lambda x, a: np.sum(a * x), a=4.0), lambda x: 4 * np.ones(3)),
        (lambda x: np.sum(x * cached_factor(3)), lambda x: 6 * np.ones(3)),
        (lambda x: functools.reduce(lambda a, b: a + b, [x[0] * x[1], x[2]]),
         lambda x: np.array([x[1], x[0], 1])),
        (lambda x: sum(map(lambda v: v * v, x)), lambda x: 2 * x),  # noqa: C417
        (lambda x: sum(sorted([x[0], x[1]], key=lambda v: 0)), lambda x: np.array([1.0, 1, 0])),
        (lambda x: np.vectorize(lambda v: v * v)(x).sum(), lambda x: 2 * x),
        (lambda x: (lambda *a, k: np.sum(a[0] * k))(*[x], **{"k": 2.0}),  # noqa: PIE804
         lambda x: 2 * np.ones(3)),
    ],
)  # fmt: skip
def test_kinds_of_callables(function, expected):
    np.testing.assert_allclose(gradc.grad(function)(X), expected(X))
    np.testing.assert_allclose(gradc.compile(function)(X), function(X))


def test_numba_helpers_are_traced_through_their_python_function():
    numba = pytest.importorskip("numba")

    @numba.njit
    def square(v):
        return v * v

    @numba.vectorize
    def cube(v):
        return v * v * v

    def f(x):
        total = 0.0
        for k in numba.prange(3):
            total = total + square(x[k])
        return total + np.sum(cube(x))

    np.testing.assert_allclose(gradc.grad(f)(X), 2 * X + 3 * X * X)


def test_it_traces_again_only_for_a_new_key():
    compiled = gradc.compile(lambda x: np.sum(x * 2))
    compiled(X)
    compiled(X + 1)
    compiled(np.asfortranarray(np.arange(6.0)[::2]))
    assert traces(compiled) == 1
    compiled(np.arange(5.0))
    assert "x is f64[5], was f64[3]" in compiled.explain()
    compiled(X.astype(np.float32))
    assert "x is f32[3], was f64[5]" in compiled.explain()
    compiled(2.0)
    assert "x is a Python float, was f32[3]" in compiled.explain()
    compiled(X)
    compiled(np.arange(5.0))
    assert traces(compiled) == 4


def test_explain_before_the_first_call():
    assert "not called yet" in gradc.compile(energy).explain()


@pytest.mark.parametrize(
    "value", [2.5, 1.5 - 2j, np.float32(1.5), np.float64(2), True, np.int32(3)]
)
def test_numbers_as_arguments(value):
    compiled = gradc.compile(lambda x: x * 2)
    found, expected = compiled(value), value * 2
    assert found == expected
    if not isinstance(value, int):
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_int_arguments_are_traced_until_their_value_is_needed():
    compiled = gradc.compile(lambda x, n: x * n)
    for n in (1, 2, 7):
        np.testing.assert_array_equal(compiled(X, n), X * n)
    assert traces(compiled) == 1

    def f(x, n):
        for _ in range(n):
            x = x * 2
        return x if n < 3 else -x

    compiled = gradc.compile(f)
    for n in (1, 2, 3, 2, 1):
        np.testing.assert_array_equal(compiled(X, n), f(X, n))
    assert traces(compiled) == 3
    assert "n is 3, was 2 (its value was used while tracing)" in compiled.explain()


def test_static_arguments():
    @gradc.compile(static_argnames=("sizes",), static_argnums=2)
    def f(x, sizes, factor):
        return x.reshape(sizes) * factor

    assert f(X, (3, 1), 2.0).shape == (3, 1)
    assert f(X, (1, 3), 2.0).shape == (1, 3)
    np.testing.assert_array_equal(f(X, sizes=(1, 3), factor=3.0), X[None] * 3)
    np.testing.assert_array_equal(f(X, (1, 3), 2.0), X[None] * 2)
    assert traces(f) == 3
    with pytest.raises(TypeError, match="static argument sizes is a list.*tuple"):
        f(X, [3, 1], 2.0)
    with pytest.raises(ValueError, match="static_argnums"):
        gradc.compile(lambda x: x, static_argnums=3)


@pytest.mark.parametrize("names", ["m", ("n", "m"), ["m"]])
def test_static_names_that_the_function_does_not_have(names):
    class Holder:
        def apply(self, x):
            return x

    def f(x, n=1, *, scale=2.0):
        return x * n * scale

    with pytest.raises(ValueError, match="static_argnames: .*one of x, n, scale; got 'm'"):
        gradc.compile(f, static_argnames=names)
    with pytest.raises(ValueError, match="it has no arguments; got 'm'"):
        gradc.compile(lambda: 1.0, static_argnames="m")
    with pytest.raises(ValueError, match="one of x; got 'self'"):
        gradc.compile(Holder().apply, static_argnames="self")


def test_static_names_of_keyword_arguments():
    def f(x, *, scale):
        return x * scale

    compiled = gradc.compile(f, static_argnames="scale")
    np.testing.assert_array_equal(compiled(X, scale=3.0), X * 3)
    any_keyword = gradc.compile(lambda x, **more: x * more["scale"], static_argnames="scale")
    np.testing.assert_array_equal(any_keyword(X, scale=3.0), X * 3)
    any_keyword(X, scale=4.0)
    compiled(X, scale=4.0)
    assert traces(compiled) == traces(any_keyword) == 2


@pytest.mark.parametrize("mode", ["sin", None, True])
def test_bools_strings_and_none_are_static(mode):
    def f(x, mode):
        if mode == "sin":
            return np.sin(x)
        return x if mode is None else -x

    compiled = gradc.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X, mode), f(X, mode))
        np.testing.assert_array_equal(compiled(X, mode=mode), f(X, mode))


def test_defaults_and_keyword_arguments():
    def f(x, w=np.full(3, 2.0), *, shift=1.0):  # noqa: B008
        return np.sum(x * w) + shift

    compiled = gradc.compile(f)
    assert compiled(X) == f(X)
    f.__defaults__[0][:] = 3
    assert compiled(X) == f(X)
    assert compiled(X, np.ones(3), shift=5.0) == f(X, np.ones(3), shift=5.0)
    assert compiled(x=X) == f(X)
    np.testing.assert_allclose(compiled.grad(X, shift=2.0), f.__defaults__[0])


def test_results_keep_their_containers_and_kinds():
    def f(x):
        return {"a": [x, (x.sum(), None)], "b": "text", "c": 3, "d": x[0], "e": np.zeros(())}

    found = gradc.compile(f)(X)
    assert list(found) == ["a", "b", "c", "d", "e"]
    assert type(found["a"]) is list and type(found["a"][1]) is tuple
    assert type(found["a"][1][0]) is np.float64 and found["a"][1][1] is None
    assert (found["b"], found["c"]) == ("text", 3)
    assert type(found["d"]) is np.float64
    assert type(found["e"]) is np.ndarray and found["e"].shape == ()


def test_results_are_fresh_memory():
    captured = np.ones(3)
    compiled = gradc.compile(lambda x: (x, captured, x.reshape(3, 1)))
    for found in compiled(X):
        assert not np.shares_memory(found, X) and not np.shares_memory(found, captured)
        found[:] = 9
    np.testing.assert_array_equal(compiled(X)[0], X)


def test_arguments_in_any_memory_layout():
    wide = np.arange(24.0).reshape(4, 6)
    big_endian = wide.astype(">f8")
    read_only = wide.copy()
    read_only.flags.writeable = False
    compiled = gradc.compile(lambda x: np.sum(x * x, axis=0) - x[0])
    for x in (wide, np.asfortranarray(wide), wide[::-1, ::2], wide.T, big_endian, read_only):
        np.testing.assert_allclose(compiled(x), np.sum(x * x, axis=0) - x[0])


def test_a_compiled_function_inside_another():
    outer = gradc.compile(lambda x: compiled_energy(x) * 2 + scaled(x, x)[0])
    np.testing.assert_allclose(outer(X), energy(X) * 2 + np.sum(X**3))
    np.testing.assert_allclose(outer.grad(X), 2 * energy_gradient(X) + 3 * X**2)


def test_recursion_of_static_depth():
    @gradc.compile
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    np.testing.assert_allclose(power(X, 4), X**4)


def test_no_rewrite_leaves_a_module_alone():
    def f(x):
        return x * 2 if x.ndim else x

    plain = gradc.compile(f, no_rewrite=[__name__])
    np.testing.assert_array_equal(plain(X), X * 2)


def test_disable_compile_runs_plain_python():
    seen = []

    def f(x):
        seen.append(type(x))
        return np.sum(x * x)

    compiled = gradc.compile(f)
    with gradc.disable_compile():
        assert compiled(X) == f(X)
        np.testing.assert_allclose(gradc.grad(energy)(X), energy_gradient(X))
        np.testing.assert_allclose(compiled_energy.grad(X), energy_gradient(X))
    assert seen == [np.ndarray, np.ndarray]


def test_pickling_by_qualified_name():
    assert pickle.loads(pickle.dumps(compiled_energy)) is compiled_energy
    again = pickle.loads(pickle.dumps(gradc.compile(energy)))
    np.testing.assert_allclose(again.grad(X), energy_gradient(X))
    with pytest.raises(pickle.PicklingError, match="qualified name"):
        pickle.dumps(gradc.compile(lambda x: x))


def test_ir_stages():
    compiled = gradc.compile(energy)
    with pytest.raises(RuntimeError, match="has not been called yet"):
        compiled.ir("grad")
    text = compiled.ir("trace", X)
    assert "nd.sin" in text and "nd.cos" not in text
    assert "nd.cos" in compiled.ir("grad")
    assert "nd.cos" in compiled.ir("simplified", pretty=False)
    with pytest.raises(ValueError, match="expected a stage of trace, grad"):
        compiled.ir("nonsense")
    vector = gradc.compile(lambda x: np.sin(x))
    assert "cotangent0" in vector.ir("grad", X)


@pytest.mark.parametrize("wrong", [3, "f", [1]])
def test_something_that_is_not_a_function(wrong):
    with pytest.raises(TypeError, match="expected a function"):
        gradc.compile(wrong)


@pytest.mark.parametrize(
    "argnums, error",
    [("a", TypeError), (True, TypeError), ((0, 0), ValueError), (-1, ValueError), ((), ValueError)],
)
def test_malformed_argnums(argnums, error):
    with pytest.raises(error, match="argnums"):
        gradc.grad(energy, argnums=argnums)


def test_threads_trace_without_interfering():
    compiled = gradc.compile(lambda x: np.sum(np.sin(x) * x))
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for n in rng.integers(1, 12, 15):
                x = rng.standard_normal(n)
                w = rng.standard_normal(n)
                np.testing.assert_allclose(compiled.grad(x), energy_gradient(x))
                np.testing.assert_allclose(gradc.grad(lambda v: np.sum(v * w))(x), w)  # noqa: B023
        except Exception as error:  # reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_traced_functions_do_not_keep_arguments_alive():
    import gc
    import weakref

    compiled = gradc.compile(lambda p: np.sum(p["w"] * 2))
    argument = np.ones(1000)
    alive = weakref.ref(argument)
    compiled.value_and_grad({"w": argument})
    del argument
    gc.collect()
    assert alive() is None


def test_numpy_functions_and_static_methods():
    class Space:
        @gradc.compile
        @staticmethod
        def doubled(x):
            return np.sum(x * 2) if x.ndim else x

    np.testing.assert_allclose(Space.__dict__["doubled"].grad(X), np.full(3, 2.0))
    np.testing.assert_allclose(gradc.grad(np.sin)(0.5), np.cos(0.5))
    np.testing.assert_allclose(gradc.compile(np.sum)(X), 1.5)


def test_a_function_without_source_says_so():
    scope = {"np": np}
    exec("def f(x):\n    return np.sum(x * w)\ndef g(x):\n    return x if x[0] > 0 else -x", scope)
    scope["w"] = np.full(3, 2.0)
    compiled = gradc.compile(scope["f"])
    np.testing.assert_allclose(compiled.grad(X), scope["w"])
    scope["w"][:] = 3
    np.testing.assert_allclose(compiled.grad(X), scope["w"])
    with pytest.raises(gradc.TracingError, match="g was traced as it is: its source is not"):
        gradc.compile(scope["g"])(X)


def test_explain_names_arguments_and_keywords():
    compiled = gradc.compile(lambda x, *rest, **more: x)
    compiled(X)
    compiled(X, [1.0])
    compiled(X, [1.0, 2.0])
    compiled(X, [1.0, 2.0], k=3.0)
    lines = compiled.explain().splitlines()[1:]
    assert [line.split(". ", 1)[1] for line in lines] == [
        "first call",
        "called with 2 positional arguments, before with 1",
        "args[1] has another structure (keys, lengths, types or static fields)",
        "other keyword arguments, or another structure of one",
    ]


def test_the_environment_switches_compilation_off(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, gradc\n"
        "@gradc.compile\n"
        "def f(x):\n"
        "    print(type(x).__name__)\n"
        "    return np.sum(x * x)\n"
        "print(f(np.ones(2)), gradc.grad(lambda x: np.sum(x * x))(np.ones(2)))\n"
    )
    environment = {**os.environ, "GRADC_DISABLE_COMPILE": "1"}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["ndarray", "2.0", "[2.", "2.]"]
    environment["GRADC_DISABLE_COMPILE"] = "0"
    failed = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True
    )
    assert "print was called in a traced function" in failed.stderr and str(script) in failed.stderr
