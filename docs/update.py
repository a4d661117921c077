"""Rewrites the generated parts of the documentation: `python docs/update.py [PAGE...]`.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`. What NAME stands for
is computed from the code: a table of the registry, or a stage of the function that the page's
Python blocks define as `loss` with example `arguments`. Without pages all are rewritten. The tests
compare every page with what this file would write.
"""

from __future__ import annotations

import linecache
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradc.frontend.table import LAZY, METHODS
from gradc.frontend.tracer import Tracer
from gradc.ir.opdef import NOT_DIFFERENTIABLE, REGISTRY
from gradc.numpy_functions import TABLE

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"<!-- file: (\S+) -->\n\Z")
_GENERATED = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the page's line where the text begins, and the file
    that a comment `<!-- file: NAME -->` above it names ('' without)."""

    language: str
    text: str
    line: int
    file: str


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for match in _FENCE.finditer(page):
        before = page[: match.start()]
        named = _FILE.search(before)
        line = before.count("\n") + 2
        yield Block(match[1], match[2], line, named[1] if named else "")


def execute(text: str, filename: str, namespace: dict[str, Any], mode: str = "exec") -> None:
    """Run Python text under a file name from which its source can be read again."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, mode, dont_inherit=True), namespace)


def regenerated(path: Path) -> str:
    """The text of a page with its generated parts as the code makes them now."""
    page = path.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "example"}
    if "<!-- generated: stage" in page or "<!-- generated: llvm" in page:
        for block in blocks(page):
            if block.language == "python" and ">>>" not in block.text:
                execute(block.text, block.file or f"{path.stem}_{block.line}.py", namespace)

    def replaced(match: re.Match[str]) -> str:
        words = match[2].split()
        return match[1] + GENERATORS[words[0]](namespace, *words[1:]) + match[4]

    return _GENERATED.sub(replaced, page)


# ------------------------------------------------------------------------------------ stages


def fenced(language: str, text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    return f"```{language}\n" + "\n".join(lines) + "\n```\n"


def stage(namespace: dict[str, Any], name: str) -> str:
    """A stage of the page's function, whole."""
    text = namespace["loss"].ir(name, *namespace["arguments"])
    return fenced("text" if name == "numba" else "mlir", text)


def llvm_loop(namespace: dict[str, Any]) -> str:
    """The longest basic block of the LLVM module: the body of the innermost loop."""
    text = namespace["loss"].ir("llvm", *namespace["arguments"])
    parts = re.split(r"^(?=\w+:$)", text, flags=re.MULTILINE)
    body = max(parts[1:], key=lambda part: part.count(" fmul "))
    return fenced("llvm", body.split("\n}", 1)[0])


# ------------------------------------------------------------------------------------ tables


# What older NumPy releases lack, so that the page does not depend on the one installed.
_RECENT = {"astype", "cumulative_prod", "cumulative_sum", "matvec", "unstack", "vecmat"}
# Methods that exist to say what to write instead.
_REFUSED = {
    "fill", "itemset", "partition", "put", "resize", "setfield", "sort", "tobytes", "tolist",
    "view",
}  # fmt: skip


def numpy_functions(namespace: dict[str, Any]) -> str:
    """The functions that traced code may call, by module; then what arrays offer."""
    ufuncs, functions, linalg = set(), set(), set()
    others: dict[str, set[str]] = {"builtins": set(), "math": set(), "operator": set()}
    for key in TABLE:
        module = (getattr(key, "__module__", None) or "").lstrip("_")
        name = getattr(key, "__name__", "")
        if isinstance(key, np.ufunc):
            ufuncs.add(name)
        elif module == "numpy.linalg":
            linalg.add(name)
        elif module == "numpy":
            functions.add(name)
        elif module in others:
            others[module].add(name)
    special = {name.rpartition(".")[2] for name in LAZY if name.startswith("scipy.special.")}
    owned = {name for cls in Tracer.__mro__ for name in vars(cls) if not name.startswith("_")}
    methods = {name for name in owned | set(METHODS) if hasattr(np.ndarray, name)}
    missing = {name for name in _RECENT if hasattr(np, name)} - functions - ufuncs
    assert not missing, f"no rule for {missing}"
    rows = {
        "NumPy ufuncs (`np.`)": ufuncs - _RECENT,
        "NumPy functions (`np.`)": functions - _RECENT,
        "NumPy 2.1 and later (`np.`)": _RECENT,
        "`np.linalg.`": linalg,
        "`scipy.special.`": special,
        "Python's own": others["builtins"],
        "`math.`": others["math"],
        "`operator.`": others["operator"],
        "Methods and attributes of arrays": methods - _REFUSED - {"base"},
    }
    parts = []
    for title, names in rows.items():
        listed = ", ".join(f"`{name}`" for name in sorted(names))
        parts.append(f"**{title}** ({len(names)}): {listed}\n")
    return "\n" + "\n".join(parts) + "\n"


_DIALECTS = {
    "nd": "Arrays as values. What traced code becomes, up to the stage `simplified`.",
    "ad": "Derivatives.",
    "func": "Functions, as in MLIR.",
    "kernel": "Kernels (stage `fused` on) and what native code needs besides loops.",
    "mem": "Buffers (stage `memory`).",
    "scf": "Loops and branches, as in MLIR.",
    "memref": "Loads and stores of buffers, as in MLIR.",
    "arith": "Scalar arithmetic, as in MLIR.",
    "math": "Scalar functions, as in MLIR.",
    "complex": "Complex scalars, as in MLIR.",
    "builtin": "The module, as in MLIR.",
}


def operations(namespace: dict[str, Any]) -> str:
    """The registry, one table for each dialect."""
    dialects: dict[str, list[Any]] = {}
    for name, cls in REGISTRY.items():
        # Operations that a page or test defines are not gradc's.
        if cls.__module__.startswith("gradc."):
            dialects.setdefault(name.partition(".")[0], []).append(cls)
    order = [*_DIALECTS, *sorted(set(dialects) - set(_DIALECTS))]
    parts = []
    for dialect in order:
        found = sorted(dialects.get(dialect, ()), key=lambda cls: cls.name)
        if not found:
            continue
        parts.append(f"\n## `{dialect}`\n\n{_DIALECTS.get(dialect, '')}\n\n")
        arrays = dialect in ("nd", "ad")
        if arrays:
            parts.append("| operation | summary | dtypes | lowering class | gradient | serves |\n")
            parts.append("|---|---|---|---|---|---|\n")
        else:
            parts.append("| operation | summary |\n|---|---|\n")
        parts += [_array_row(cls) if arrays else _row(cls) for cls in found]
    return "".join(parts) + "\n"


def _summary(cls: Any) -> str:
    paragraph = (cls.__doc__ or "").strip().split("\n\n", 1)[0]
    return " ".join(paragraph.split()).replace("|", "\\|").replace("*", "\\*")


def _row(cls: Any) -> str:
    return f"| `{cls.name}` | {_summary(cls)} |\n"


def _array_row(cls: Any) -> str:
    dtypes = _dtypes([t.name for t in cls.samples.dtypes]) if cls.samples else ""
    gradient = "no" if cls.vjp is NOT_DIFFERENTIABLE else "yes"
    if cls.masked_vjp is not None:
        gradient = "yes, masked"
    serves = ", ".join(f"`{name}`" for name in cls.numpy_names())
    summary = _summary(cls)
    return f"| `{cls.name}` | {summary} | {dtypes} | {cls.lowering} | {gradient} | {serves} |\n"


_FAMILIES = (
    ("ints", ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")),
    ("floats", ("f16", "bf16", "f32", "f64")),
    ("complex", ("c64", "c128")),
)


def _dtypes(names: list[str]) -> str:
    for family, members in _FAMILIES:
        if set(members) <= set(names):
            at = names.index(members[0])
            names = [n for n in names if n not in members]
            names.insert(min(at, len(names)), family)
    return " ".join(names)


def passes(namespace: dict[str, Any]) -> str:
    """What `gradc opt --list-passes` prints, in a process in which nobody defined other passes."""
    code = "from gradc.cli.main import main; main(['opt', '--list-passes'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return fenced("text", done.stdout)


GENERATORS: dict[str, Callable[..., str]] = {
    "stage": stage,
    "llvm-loop": llvm_loop,
    "numpy-functions": numpy_functions,
    "operations": operations,
    "passes": passes,
}


def main(names: list[str]) -> None:
    known = {path.name: path for path in PAGES}
    for name in names or known:
        if name not in known:
            sys.exit(f"expected one of the pages {', '.join(known)}, got {name}")
        text = regenerated(known[name])
        if text != known[name].read_text(encoding="utf-8"):
            known[name].write_text(text, encoding="utf-8")
            print(f"updated {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
