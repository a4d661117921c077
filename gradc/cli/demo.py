"""`gradc demo`: train a classifier on real images, and show what the compiler made of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from gradc.cli.stage_report import StageRow, write_stages
from gradc.examples import digits
from gradc.runtime.compile import native_compilations


@click.command("demo", short_help="Train a digit classifier and show the compiler's stages.")
@click.option("--output", default="demo_output", show_default=True, metavar="DIR",
              help="Where to write the stages and the plot.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(1), default=40, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(output: str, epochs: int, seed: int) -> None:
    """Train a classifier written in plain NumPy on scikit-learn's handwritten digits.

    Prints loss, accuracy on images held out, gradients per second and a summary of each compiler
    stage. Writes every stage of the gradient and a plot of the loss into DIR. The program is
    examples/digits.py.
    """
    from rich.console import Console

    figure_class = _figure_class()
    try:
        data = digits.load(seed)
    except ModuleNotFoundError as error:
        raise click.ClickException(str(error)) from error
    folder = _folder(output)
    settings = digits.Settings(epochs=epochs, seed=seed)
    console = Console(highlight=False)
    console.print(
        f"{len(data.train_labels)} images to train on, {len(data.test_labels)} held out; layers "
        f"of {', '.join(map(str, digits.SIZES))}"
    )
    params = digits.initial_params(np.random.default_rng(seed))
    rows = _compile(data, settings, params, folder)
    before = native_compilations()
    history = _train(console, data, settings, params)
    compiled = native_compilations() - before
    try:
        _plot(figure_class, history, folder / "loss.png")
    except OSError as error:
        raise click.ClickException(f"cannot write {folder}: {error.strerror}") from error
    _print_stages(console, rows)
    _print_training(console, history, compiled)
    console.print(
        f"Every stage and the plot of the loss (loss.png) are in {folder}", soft_wrap=True
    )


def _figure_class() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise click.ClickException(
            "the plot needs matplotlib, which is not installed: pip install 'gradc[examples]'"
        ) from error
    return Figure


def _folder(output: str) -> Path:
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"cannot make the folder {output}: {error.strerror}") from error
    return folder


def _compile(
    data: digits.Digits, settings: digits.Settings, params: digits.Params, folder: Path
) -> list[StageRow]:
    """Trace the loss at one batch and write its stages."""
    x = data.train_x[: settings.batch]
    y = np.zeros((settings.batch, digits.SIZES[-1]), np.float32)
    start = time.perf_counter()
    stages = digits.loss.stages_at((params, x, y), {})
    seconds = time.perf_counter() - start
    try:
        return write_stages(stages, folder, seconds)
    except OSError as error:
        raise click.ClickException(f"cannot write into {folder}: {error.strerror}") from error


def _train(
    console: Any, data: digits.Digits, settings: digits.Settings, params: digits.Params
) -> list[digits.Epoch]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    history = []
    columns = (
        TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"),
        TimeElapsedColumn(), TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=settings.epochs)
        for epoch in digits.train(data, settings, params):
            history.append(epoch)
            shown = f"loss {np.mean(epoch.losses):.4f}, test accuracy {epoch.accuracy:.2%}"
            progress.update(task, advance=1, description=shown)
    return history


def _print_stages(console: Any, rows: list[StageRow]) -> None:
    from rich.table import Table

    table = Table(title="The gradient of the loss, stage by stage", title_justify="left")
    table.add_column("stage")
    for heading in ("operations", "nested", "bytes", "lines", "ms"):
        table.add_column(heading, justify="right")
    for row in rows:
        counts = (row.operations, row.nested, row.bytes, row.lines)
        shown = ["" if n is None else f"{n:,}" for n in counts]
        table.add_row(row.stage, *shown, f"{row.seconds * 1e3:.1f}")
    console.print(table)
    console.print("bytes: of all computed arrays; from memory on, the peak of temporary storage")


def _print_training(console: Any, history: list[digits.Epoch], compiled: int) -> None:
    # The first epoch holds the first call, which traces and compiles.
    later = history[1:] or history
    rate = sum(e.gradients for e in later) / sum(e.seconds for e in later)
    source = f"{compiled} native compilations" if compiled else "machine code from the cache"
    last = history[-1]
    console.print(f"final loss         {np.mean(last.losses):.4f}")
    console.print(f"test accuracy      {last.accuracy:.2%}")
    console.print(f"gradients          {rate:,.0f} per second ({source})")


def _plot(figure_class: Any, history: list[digits.Epoch], path: Path) -> None:
    figure = figure_class(figsize=(9, 4), layout="constrained")
    loss_axes, accuracy_axes = figure.subplots(1, 2)
    per_epoch = len(history[0].losses)
    losses = [value for epoch in history for value in epoch.losses]
    batches = np.arange(1, len(losses) + 1) / per_epoch
    numbers = [epoch.number for epoch in history]
    loss_axes.semilogy(batches, losses, color="0.75", linewidth=0.8, label="batch")
    means = [np.mean(epoch.losses) for epoch in history]
    loss_axes.semilogy(numbers, means, color="tab:blue", label="mean of the epoch")
    loss_axes.set(title="Training loss", xlabel="epoch", ylabel="cross-entropy + weight decay")
    loss_axes.legend()
    accuracy_axes.plot(numbers, [100 * e.accuracy for e in history], color="tab:green")
    accuracy_axes.set(title="Accuracy on images held out", xlabel="epoch", ylabel="%")
    for axes in (loss_axes, accuracy_axes):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
