"""Every .mlir file here is refused with the messages that its annotations expect."""

from pathlib import Path

import pytest
from run_lines import execute

FILES = sorted(Path(__file__).parent.glob("*.mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_errors(path: Path) -> None:
    assert "expected-error" in path.read_text(encoding="utf-8")
    execute(path)
