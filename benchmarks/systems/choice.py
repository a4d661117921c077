"""Finding systems by name."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from gradc.benchmarks.catalog import UnknownName
from gradc.benchmarks.systems.compiled import Gradc
from gradc.benchmarks.systems.plain import NumPy
from gradc.benchmarks.systems.system import System
from gradc.benchmarks.systems.torch_autograd import Torch, TorchCompile
from gradc.benchmarks.systems.xla import Jax

SYSTEMS: dict[str, type[System]] = {
    system.name: system for system in (Gradc, NumPy, Jax, Torch, TorchCompile)
}


def system_named(name: str) -> type[System]:
    """The class of a name in the list, or of a Python file with one class of System.

    UnknownName where there is none.
    """
    if name in SYSTEMS:
        return SYSTEMS[name]
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise UnknownName(
            f"expected a system ({', '.join(SYSTEMS)}) or a Python file with an adapter, "
            f"got {name!r}"
        )
    spec = importlib.util.spec_from_file_location(f"adapter_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UnknownName(f"cannot load {name}: {type(error).__name__}: {error}") from error
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, System)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1 or not found[0].name:
        raise UnknownName(f"expected one class of System with a name in {name}, got {len(found)}")
    return found[0]


def systems_named(text: str) -> dict[str, type[System]]:
    """The systems of a comma-separated list: the words in it with their classes."""
    words: Sequence[str] = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UnknownName(f"expected names of systems ({', '.join(SYSTEMS)}), got none")
    found = {word: system_named(word) for word in words}
    names = [system.name for system in found.values()]
    if len(set(names)) != len(names):
        raise UnknownName(f"expected systems with different names, got {', '.join(names)}")
    return found
