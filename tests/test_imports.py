"""Who imports whom, when, and how long files are: the layout keeps its shape."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each folder's package, and the packages of gradc that it may import.
ALLOWED = {
    "ir": ("gradc.ir",),
    "passes": ("gradc.passes", "gradc.ir"),
    "runtime": ("gradc.runtime", "gradc.ir"),
    "gradc": ("gradc",),
}
FILES = sorted(path for folder in ALLOWED for path in (ROOT / folder).rglob("*.py"))
LONGEST = 450
HEAVY = ("ml_dtypes", "scipy.optimize", "rich", "numba", "llvmlite", "matplotlib", "sklearn")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(node: ast.AST) -> list[str]:
    """The absolute names that an import statement loads; relative imports are given a dot."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        return [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return []


def is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    allowed = ALLOWED[path.relative_to(ROOT).parts[0]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = imported(node)
        if not names or not is_below(names[0], "gradc"):
            assert not any(n.split(".")[0] in ("ir", "passes", "runtime") for n in names), (
                f"{name_of(path)}:{node.lineno} imports {names[0]}: a second copy of every class"
            )
            assert not any(n.startswith(".") for n in names), f"{name_of(path)}: relative import"
            continue
        fits = any(is_below(name, package) for name in names for package in allowed)
        assert fits, f"{name_of(path)}:{node.lineno} may not import {names[0]}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_import_of_gradc_inside_a_function(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            names = imported(node)
            assert not any(is_below(n, "gradc") for n in names), (
                f"{name_of(path)}:{node.lineno} imports {names[0]} inside a function"
            )


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short(path: Path) -> None:
    count = len(path.read_text(encoding="utf-8").splitlines())
    assert count <= LONGEST, f"{name_of(path)} has {count} lines: split it by topic"


def test_import_gradc_is_light() -> None:
    code = "import sys, gradc; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "gradc" in loaded
    assert [m for m in loaded if m in HEAVY] == []
