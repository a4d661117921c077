"""Every pass that a file of passes/ defines can be named in a pipeline; its options can be set."""

import ast
from pathlib import Path

import pytest

from gradc.passes import catalog, manager

FOLDER = Path(catalog.__file__).parent


def defined_passes() -> list[str]:
    """The `name=` of every class statement in passes/ that has Pass among its bases."""
    found = []
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(
                isinstance(base, ast.Name) and base.id == "Pass" for base in node.bases
            ):
                found += [ast.literal_eval(k.value) for k in node.keywords if k.arg == "name"]
    return found


@pytest.mark.parametrize("name", defined_passes())
def test_the_catalog_is_complete(name: str) -> None:
    cls = manager.PASSES[name]
    assert cls.__doc__
    assert manager.PassManager.parse(f"{cls.anchor}({name})").pipeline.items == [cls()]
    for option, default in cls.options().items():
        assert isinstance(default, bool | int | float | str), f"{name}'s option {option}"
