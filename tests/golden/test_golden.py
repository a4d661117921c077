"""Every .mlir file below this folder: its RUN lines hold, and two other MLIR readers accept it."""

import re
from pathlib import Path

import pytest
from mlir_readers import mlir_opt, read_with_mlir_opt, read_with_xdsl
from run_lines import execute, run_lines

from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("**/*.mlir"))
SEPARATOR = re.compile(r"^// -----.*$", re.MULTILINE)


def parts(path: Path) -> list[str]:
    return SEPARATOR.split(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_golden(path: Path) -> None:
    printed = execute(path)
    for text in parts(path):
        read_with_xdsl(text)
        again = print_module(parse_module(text, allow_unregistered=True))
        assert print_module(parse_module(again, allow_unregistered=True)) == again
    for command, output in zip(run_lines(path), printed, strict=True):
        if "2>&1" not in command and "--pretty" not in command:
            for text in SEPARATOR.split(output):
                read_with_xdsl(text)


@pytest.mark.skipif(mlir_opt() is None, reason="mlir-opt is not installed")
def test_mlir_opt_reads_the_golden_files() -> None:
    assert FILES
    read_with_mlir_opt(*[text for path in FILES for text in parts(path)])
