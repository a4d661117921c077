"""`gradc dump`: every stage of several functions, where arguments come from, and clear errors."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from mlir_readers import assert_readable

import gradc
from gradc.cli.main import main
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module
from gradc.ir.verify import verify
from gradc.stages import IR_STAGES, STAGES

MODEL = """\
import functools

import numpy as np
import gradc

print("hello from the file")


def loss(params, x, y):
    h = np.tanh(x @ params["w"] + params["b"])
    return np.mean((h - y) ** 2)


def act(x, kind="tanh", scale=1.0):
    if kind == "tanh":
        return scale * np.tanh(x)
    if kind == "exp":
        return np.exp(x)
    raise ValueError(f"unknown kind {kind!r}")


@gradc.compile(argnums=(0, 1))
def product(x, y):
    return np.sum(x * y)


@gradc.compile(static_argnames="power")
def powers(x, power):
    return np.sum(x**power)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def count(x):
    return np.sum(x > 0)


def choose(x):
    if x[0] > 0:
        return x[0]
    return x[1]


class Scaled:
    factor = 3.0

    def total(self, x):
        return np.sum(x) * self.factor

    @gradc.compile
    def squares(self, x):
        return np.sum(x * x) * self.factor


scaled = Scaled()
cubes = functools.partial(powers, power=3)
start = np.ones(3)


def example():
    return {"w": np.ones((3, 2)), "b": np.zeros(2)}, np.ones((4, 3)), np.ones((4, 2))


def broken():
    return start[7]
"""

CASES = {
    "loss": "{'w': f32[3,20], 'b': f32[20]}, f32[40,3], f32[40,20]",
    "act": "f64[30]",
    "product": "f64[5], f64[5]",
    "softmax": "f32[20,33]",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("program") / "model.py"
    path.write_text(MODEL)
    return str(path)


def dump(target: str, *words: str) -> Result:
    result = CliRunner().invoke(main, ["dump", target, *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def dumped(target: str, arguments: str, *words: str) -> str:
    result = dump(target, "--args", arguments, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(target: str, *words: str) -> str:
    """The message of a refusal."""
    result = dump(target, *words)
    assert result.exit_code != 0 and result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("hello from the file\n").strip()


# -------------------------------------------------------------------------------------- stages


@pytest.mark.parametrize("name", CASES)
def test_ir_stages_are_mlir(model: str, name: str) -> None:
    texts = [dumped(f"{model}:{name}", CASES[name], "--stage", s, "--mlir") for s in IR_STAGES]
    for text in texts:
        module = parse_module(text)
        verify(module)
        assert print_module(module) == text
    assert_readable(*texts)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_a_text_for_people(model: str, name: str, stage: str) -> None:
    text = dumped(f"{model}:{name}", CASES[name], "--stage", stage)
    start = {"numba": "import numpy as np\n", "llvm": "declare", "asm": "\t.file"}
    assert text.startswith(start.get(stage, f"func.func @{name}"))
    assert text.endswith("\n") and not text.endswith("\n\n")


def test_the_trace_is_the_function_and_the_gradient_is_pretty(model: str) -> None:
    assert dumped(f"{model}:product", "f64[5], f64[5]", "--stage", "trace") == (
        "func.func @product(%x: tensor<5xf64>, %y: tensor<5xf64>) -> tensor<f64> {\n"
        "  %0 = nd.mul %x, %y : tensor<5xf64>\n"
        "  %1 = nd.reduce_sum %0 {axes = [0]} : tensor<5xf64> -> tensor<f64>\n"
        "  func.return %1 : tensor<f64>\n"
        "}\n"
    )
    assert dumped(f"{model}:product", "f64[5], f64[5]", "--stage", "simplified") == (
        "func.func @product_grad(%x: tensor<5xf64>, %y: tensor<5xf64>) -> "
        "(tensor<f64>, tensor<5xf64>, tensor<5xf64>) {\n"
        "  %0 = nd.mul %x, %y : tensor<5xf64>\n"
        "  %1 = nd.reduce_sum %0 {axes = [0]} : tensor<5xf64> -> tensor<f64>\n"
        "  func.return %1, %y, %x : tensor<f64>, tensor<5xf64>, tensor<5xf64>\n"
        "}\n"
    )


@pytest.mark.parametrize("stage", STAGES)
def test_a_dump_is_what_ir_gives(model: str, stage: str) -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    text = gradc.compile(softmax).ir(stage, np.ones((20, 33), np.float32))
    assert dumped(f"{model}:softmax", "f32[20,33]", "--stage", stage).strip() == text.strip()


def test_a_result_that_is_no_scalar_gains_a_cotangent(model: str) -> None:
    assert dumped(f"{model}:softmax", "f32[3,4]").startswith(
        "func.func @softmax_vjp(%x: tensor<3x4xf32>, %cotangent0: tensor<3x4xf32>) -> "
        "(tensor<3x4xf32>, tensor<3x4xf32>) {\n"
    )
    assert "%cotangent0: tensor<complex<f32>>" in dumped(f"{model}:powers", "c64[9], 3")
    assert "cotangent" not in dumped(f"{model}:act", "f64[30]", "--stage", "trace")
    assert "cotangent" not in dumped(f"{model}:product", "f64[5], f64[5]")


def run_numba(text: str, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
    """Run the module of the stage `numba`, compiled by Numba, on these arrays."""
    space: dict[str, Any] = {}
    exec(compile(text, "<numba stage>", "exec"), space)
    arena = re.search(r"arena: memref<(\d+)xi8>", text)
    name = re.findall(r"^def (\w+)\(", text, re.MULTILINE)[-1]
    assert arena is not None
    space[name](*inputs, *outputs, np.zeros(int(arena.group(1)), np.int8))


def test_the_numba_stage_computes_value_and_gradient(model: str) -> None:
    text = dumped(f"{model}:loss", CASES["loss"], "--stage", "numba")
    rng = np.random.default_rng(0)
    b, w, x, y = (
        rng.standard_normal(s).astype(np.float32) for s in ((20,), (3, 20), (40, 3), (40, 20))
    )
    value, gradient_b, gradient_w = np.zeros((), np.float32), np.zeros_like(b), np.zeros_like(w)
    run_numba(text, [b, w, x, y], [value, gradient_b, gradient_w])
    h = np.tanh(x @ w + b)
    slope = 2 * (h - y) * (1 - h * h) / h.size  # of the mean square, at x @ w + b
    np.testing.assert_allclose(value, np.mean((h - y) ** 2), rtol=1e-5)
    np.testing.assert_allclose(gradient_b, slope.sum(axis=0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gradient_w, x.T @ slope, rtol=1e-4, atol=1e-6)


def test_the_numba_stage_takes_a_cotangent(model: str) -> None:
    text = dumped(f"{model}:softmax", "f32[20,33]", "--stage", "numba")
    rng = np.random.default_rng(1)
    x, g = rng.standard_normal((2, 20, 33)).astype(np.float32)
    value, gradient = np.zeros_like(x), np.zeros_like(x)
    run_numba(text, [x, g], [value, gradient])
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(value, p, rtol=1e-5)
    expected = p * (g - (p * g).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-6)


# ----------------------------------------------------------------------------------- arguments


def test_literals_are_static(model: str) -> None:
    assert "nd.exp" in dumped(f"{model}:act", "f64[3], 'exp'")
    text = dumped(f"{model}:act", "f64[3], 'tanh', scale=2.5")
    assert "nd.constant 2.5" in text and text.startswith("func.func @act_vjp(%x: tensor<3xf64>, %c")
    assert "nd.constant 3.0" in dumped(f"{model}:powers", "f64[3], 3")


def test_examples_from_the_file(model: str) -> None:
    whole = dumped(f"{model}:loss", "@example")
    assert whole == dumped(f"{model}:loss", "{'w': f64[3,2], 'b': f64[2]}, f64[4,3], f64[4,2]")
    assert "%x: tensor<3xf64>, %y: tensor<3xf64>" in dumped(
        f"{model}:product", "@start, y=@start", "--argnums", "0"
    )


def test_argnums(model: str) -> None:
    two = "(tensor<f64>, tensor<5xf64>, tensor<5xf64>) {"
    one = "(tensor<f64>, tensor<5xf64>) {"
    words = f"{model}:product", "f64[5], f64[5]"
    assert two in dumped(*words)
    assert one in dumped(*words, "--argnums", "1")
    assert two in dumped(*words, "--argnums", "0, 1")


def test_methods_and_partials(model: str) -> None:
    for name in ("scaled.total", "scaled.squares"):
        text = dumped(f"{model}:{name}", "f64[3]")
        assert text.startswith(f"func.func @{name.partition('.')[2]}_grad(%x: tensor<3xf64>")
    assert dumped(f"{model}:cubes", "f64[3]").startswith("func.func @powers_grad(%x: tensor<3xf64>")


def test_what_the_file_prints_goes_to_standard_error(model: str) -> None:
    result = dump(f"{model}:act", "--args", "f64[3]")
    assert "hello from" in result.stderr and "hello from" not in result.stdout


def test_an_output_file(model: str, tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    assert dumped(f"{model}:act", "f64[3]", "--mlir", "-o", str(out)) == ""
    assert parse_module(out.read_text()).body.ops
    missing = tmp_path / "missing" / "out.mlir"
    message = refused(f"{model}:act", "--args", "f64[3]", "-o", str(missing))
    assert message == f"Error: cannot write {missing}: No such file or directory"


# -------------------------------------------------------------------------------------- errors


def test_no_file(tmp_path: Path) -> None:
    assert refused("missing.py:f") == ("Error: cannot read missing.py: No such file or directory")
    assert refused(f"{tmp_path}:f") == f"Error: cannot read {tmp_path}: Is a directory"
    for target in ("model.py", ":f", "model.py:"):
        assert refused(target) == (
            f"Error: expected FILE.py:FUNCTION, such as model.py:loss, got {target!r}"
        )


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("x = 1\ny = 1 / 0\n", "raised ZeroDivisionError: division by zero when it was im", 2),
        ("import no_such_module\n", "raised ModuleNotFoundError: No module named 'no_such_mo", 1),
        ("def f(x):\n    return (\n", "does not parse: '(' was never closed", 2),
        ("raise SystemExit(3)\n", "exited when it was imported: put the start of the program", 1),
        ("x = 1\nraise KeyError\n", "raised KeyError when it was imported", 2),
    ],
)
def test_a_file_that_cannot_be_imported(tmp_path: Path, text: str, message: str, line: int) -> None:
    path = tmp_path / "program.py"
    path.write_text(text)
    found = refused(f"{path}:f")
    assert found.startswith(f"Error: {path} {message}")
    assert f"at {path}:{line}\n    {text.splitlines()[line - 1].strip()}" in found


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_bytes(b"\xff\xfe")
    assert "to be UTF-8 text, got the byte 0xFF at offset 0" in refused(f"{path}:f")


def test_no_function(model: str) -> None:
    assert refused(f"{model}:losss").startswith(
        f"Error: {model} has no losss (did you mean loss?): its functions are loss, act, product, "
    )
    assert refused(f"{model}:start") == f"Error: {model}:start is f64[3]: expected a function"
    assert refused(f"{model}:Scaled") == f"Error: {model}:Scaled is a class: expected a function"


WRONG_ARGUMENTS = [
    ("loss", "f64[3", "--args:1:6: expected ',' or ']' in the shape, got the end of the text"),
    ("loss", "@nothing", "{model} has no nothing: its functions are loss, "),
    (
        "loss",
        "@broken",
        "@broken: expected a function of no arguments that returns example arguments; it raised "
        "IndexError: index 7 is out of bounds",
    ),
    ("loss", "", "{f} takes (params, x, y): missing a required argument: 'params' for --args ''"),
    (
        "act",
        "f64[3], wrong=1",
        "{f} takes (x, kind='tanh', scale=1.0): got an unexpected keyword argument 'wrong'",
    ),
    (
        "act",
        "f64[3], 'sinh'",
        "{f} with --args \"f64[3], 'sinh'\": ValueError: unknown kind 'sinh'\n\n"
        "at {model}:19\n    raise ValueError(",
    ),
    (
        "loss",
        "{'w': f64[3,2], 'b': f64[2]}, f64[4,5], f64[4,2]",
        "{f} with --args \"{{'w': f64[3,2], 'b': f64[2]}}, f64[4,5], f64[4,2]\": "
        "ValueError: matmul: ",
    ),
    (
        "loss",
        "{'w': f64[3,2]}, f64[4,3], f64[4,2]",
        "{f} with --args \"{{'w': f64[3,2]}}, f64[4,3], f64[4,2]\": KeyError: 'b'\n\n"
        "at {model}:10\n    h = np.tanh(",
    ),
    (
        "count",
        "f64[3]",
        "{f} with --args 'f64[3]': TypeError: a gradient needs a floating result, got i64",
    ),
    (
        "softmax",
        "i32[3,3]",
        "{f} with --args 'i32[3,3]': TypeError: the gradient with respect to x, i32[3, 3]: only "
        "floating and complex arrays have",
    ),
    (
        "act",
        "x=f64[3]",
        "{f} with --args 'x=f64[3]': ValueError: argnums=0: act was called with 0 positional",
    ),
    (
        "act",
        "0.5",
        "argument 0 is the literal 0.5, which is part of the program and has no gradient: write "
        "f64[] for a number that has one, or choose --argnums",
    ),
    ("choose", "f64[3]", "`if` on a traced value"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), WRONG_ARGUMENTS)
def test_arguments_that_do_not_fit(model: str, name: str, arguments: str, message: str) -> None:
    target = f"{model}:{name}"
    found = refused(target, "--args", arguments)
    assert found.startswith("Error: " + message.format(model=model, f=target))


def test_an_untraceable_function_names_the_line(model: str) -> None:
    assert f"at {model}:" in refused(f"{model}:choose", "--args", "f64[3]")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stage", "nope"], "'nope' is not one of 'trace', 'grad', 'simplified', 'fused'"),
        (["--argnums", "x"], "--argnums: expected positions counted from 0, such as 0 or 0,2, got"),
        (["--argnums", "0,0"], "expected argnums to name distinct positions"),
        (["--argnums", "4"], "argnums=4: act was called with 1 positional argument "),
        (
            ["--stage", "asm", "--mlir"],
            "the stage asm is no MLIR: expected --mlir with a stage of ",
        ),
    ],
)
def test_wrong_options(model: str, words: list[str], message: str) -> None:
    assert message in refused(f"{model}:act", "--args", "f64[3]", *words)
