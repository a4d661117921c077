"""`gradc demo` and the program it runs: what is trained, printed and written."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from mlir_readers import assert_readable

from gradc.cli.main import main
from gradc.cli.stage_report import computed_bytes
from gradc.examples import digits
from gradc.ir.builder import Builder
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import Dim, f32, tensor
from gradc.runtime.threads import get_num_threads, set_num_threads
from gradc.stages import IR_STAGES, STAGES


def demo(*words: str) -> Result:
    result = CliRunner().invoke(main, ["demo", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small products gain nothing from threads, and tests share the machine with other tests."""
    before = get_num_threads()
    set_num_threads(1)
    yield
    set_num_threads(before)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and what was printed."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    result = demo("--epochs", "12", "--output", str(folder))
    assert result.exit_code == 0, result.output
    return folder, result.stdout


def number_after(label: str, text: str) -> float:
    found = re.search(rf"{label}\s+([\d.,]+)", text)
    assert found is not None, text
    return float(found.group(1).replace(",", ""))


def test_it_learns(run: tuple[Path, str]) -> None:
    assert number_after("test accuracy  ", run[1]) >= 97
    assert number_after("final loss", run[1]) < 0.15
    assert number_after("gradients  ", run[1]) > 0
    assert "1347 images to train on, 450 held out" in run[1]


def test_every_stage_is_summarised(run: tuple[Path, str]) -> None:
    rows = [line for line in run[1].splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert tuple(row[0] for row in cells) == STAGES
    for stage, operations, nested, size, lines, milliseconds in cells:
        is_ir = stage in IR_STAGES
        assert bool(operations) == bool(nested) == bool(size) == is_ir
        assert int(lines.replace(",", "")) > 30 and float(milliseconds) > 0
    count = {row[0]: int(row[1].replace(",", "")) for row in cells if row[1]}
    assert count["trace"] < count["grad"] and count["fused"] < count["simplified"]
    size = {row[0]: int(row[3].replace(",", "")) for row in cells if row[3]}
    assert size["memory"] < size["fused"] < size["simplified"]


def test_every_stage_is_written(run: tuple[Path, str]) -> None:
    folder = run[0]
    mlir = [folder / f"{k}-{stage}.mlir" for k, stage in enumerate(IR_STAGES, 1)]
    for_people = [path.with_suffix(".txt") for path in mlir]
    others = [folder / name for name in ("7-numba.py", "8-llvm.ll", "9-asm.s", "loss.png")]
    assert sorted(folder.iterdir()) == sorted([*mlir, *for_people, *others])
    assert_readable(*[path.read_text() for path in mlir])
    assert for_people[0].read_text().startswith("func.func @loss(%params_0_b: tensor<256xf32>")
    compile((folder / "7-numba.py").read_text(), "7-numba.py", "exec")


def test_the_plot_is_an_image(run: tuple[Path, str]) -> None:
    from matplotlib.image import imread

    image = imread(run[0] / "loss.png")
    assert image.shape == (480, 1080, 4)
    assert len(np.unique(image.reshape(-1, 4), axis=0)) > 50  # curves, axes, text


def test_the_gradient_of_the_loss_against_differences() -> None:
    rng = np.random.default_rng(3)
    params = [
        {name: p.astype(np.float64) + 0.01 for name, p in layer.items()}
        for layer in digits.initial_params(rng)
    ]
    x, y = rng.standard_normal((5, 64)), np.eye(10)[rng.integers(0, 10, 5)]
    value, gradients = digits.loss.value_and_grad(params, x, y)
    assert value == pytest.approx(digits.loss.function(params, x, y), rel=1e-12)
    step = 1e-6
    for k, layer in enumerate(params):
        for name, p in layer.items():
            direction = rng.standard_normal(p.shape)
            ends = []
            for sign in (step, -step):
                moved = [*params]
                moved[k] = {**layer, name: p + sign * direction}
                ends.append(digits.loss.function(moved, x, y))
            difference = (ends[0] - ends[1]) / (2 * step)
            assert np.sum(gradients[k][name] * direction) == pytest.approx(difference, rel=1e-5)


def test_nothing_of_the_test_images_is_trained_on() -> None:
    data = digits.load()
    train = {x.tobytes() for x in data.train_x}
    assert not [k for k, x in enumerate(data.test_x) if x.tobytes() in train]
    np.testing.assert_allclose(data.train_x.mean(axis=0), 0, atol=1e-6)
    assert np.bincount(data.test_labels).min() >= 43


def test_a_seed_repeats_the_run() -> None:
    data = digits.load()
    losses = []
    for _ in range(2):
        params = digits.initial_params(np.random.default_rng(5))
        epochs = list(digits.train(data, digits.Settings(epochs=1, seed=5), params))
        losses.append(epochs[0].losses)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert losses[0][-1] < losses[0][0]


def test_the_example_runs_alone() -> None:
    path = Path(__file__).parent.parent.parent / "examples" / "digits.py"
    environment = {**os.environ, "GRADC_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=True, env=environment
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 8 and lines[-1].startswith("epoch 40: loss 0.0")
    assert number_after("test accuracy", lines[-1]) >= 97


def test_computed_bytes() -> None:
    function = FuncOp.build("f", [tensor(f32, 4, 3)])
    b = Builder(function.body)
    x = b.mul(b.add(function.args[0], 1.0), 2.0)
    function.finish([x, b.reduce_sum(x, axes=(0,))])
    assert computed_bytes(function) == 2 * 48 + 12
    unknown = FuncOp.build("g", [tensor(f32, Dim("n"))])
    unknown.finish([Builder(unknown.body).neg(unknown.args[0])])
    assert computed_bytes(unknown) is None


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("sklearn.datasets", "the digits come with scikit-learn, which is not installed: "),
        ("matplotlib.figure", "the plot needs matplotlib, which is not installed: "),
    ],
)
def test_a_missing_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    result = demo("--output", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert result.stderr == f"Error: {message}pip install 'gradc[examples]'\n"
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for output in (file, file / "below"):
        result = demo("--output", str(output))
        assert result.exit_code == 1
        assert result.stderr.startswith(f"Error: cannot make the folder {output}: ")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "1-trace.mlir").mkdir()
    result = demo("--output", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr == f"Error: cannot write into {tmp_path}: Is a directory\n"


@pytest.mark.parametrize("words", [("--epochs", "0"), ("--epochs", "x"), ("--seed", "-1")])
def test_wrong_options(words: tuple[str, str]) -> None:
    result = demo(*words)
    assert result.exit_code == 2 and f"Invalid value for '{words[0]}'" in result.stderr
