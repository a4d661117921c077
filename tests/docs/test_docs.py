"""Every example in README.md and docs/ runs and prints what the page says; generated parts are up
to date; links resolve.

Blocks of a page share one namespace and a temporary folder. ```python blocks with `>>>` are
compared as doctest does, the others run; a comment `<!-- file: NAME -->` above a block also writes
it to a file. In ```console blocks a line `$ gradc ...` runs the command; the lines below it are
what it prints. Commands in ```sh blocks are not run, but they and their options exist.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gradc.cli.main import COMMANDS, main
from gradc.ir.opdef import REGISTRY
from gradc.numpy_functions import TABLE
from gradc.passes.manager import PASSES

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import update  # noqa: E402

IDS = [path.name for path in update.PAGES]
_CHECKER = doctest.OutputChecker()
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture
def page_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder for the page's files; what it registers is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    tables = (REGISTRY, PASSES, TABLE)
    before = [dict(table) for table in tables]
    yield {"__name__": "example"}
    for table, content in zip(tables, before):
        table.clear()
        table.update(content)


@pytest.mark.parametrize("path", update.PAGES, ids=IDS)
def test_examples(path: Path, page_state: dict[str, Any]) -> None:
    for block in update.blocks(path.read_text(encoding="utf-8")):
        place = f"{path.name}:{block.line}"
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.language == "console":
            run_console(block.text, place)
        elif block.language == "python" and ">>>" in block.text:
            run_prompts(block.text, place, page_state)
        elif block.language == "python":
            update.execute(block.text, block.file or f"{path.stem}_{block.line}.py", page_state)


def run_prompts(text: str, place: str, namespace: dict[str, Any]) -> None:
    """Run `>>>` examples one by one and compare what each prints or raises."""
    for k, example in enumerate(doctest.DocTestParser().get_examples(text)):
        got = said_by(example.source, f"<{place} {k}>", namespace)
        want = example.want
        if example.exc_msg is not None:
            want = "Traceback (most recent call last):\n" + example.exc_msg
        assert _CHECKER.check_output(want, got, doctest.ELLIPSIS), (
            f"{place}: {example.source}printed\n{got}\nexpected\n{want}"
        )


def said_by(source: str, filename: str, namespace: dict[str, Any]) -> str:
    """What an example prints, or its exception as the page writes it."""
    stdout = io.StringIO()
    try:
        with contextlib.redirect_stdout(stdout):
            update.execute(source, filename, namespace, "single")
    except Exception as error:
        said = "".join(traceback.format_exception_only(error))
        return "Traceback (most recent call last):\n" + said.replace("\n\n", "\n<BLANKLINE>\n")
    return stdout.getvalue()


def run_console(text: str, place: str) -> None:
    """Run the `$ gradc ...` lines of a shell block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, want = part.partition("\n")
        while line.endswith("\\"):
            more, _, want = want.partition("\n")
            line = line[:-1] + more
        words = shlex.split(line, comments=True)
        assert words[0] == "gradc", f"{place}: expected a gradc command, got {line}"
        result = CliRunner().invoke(main, words[1:])
        unexpected = result.exception is not None and not isinstance(result.exception, SystemExit)
        assert not unexpected, f"{place}: {line} raised {result.exception!r}"
        assert (result.exit_code != 0) == ("Error:" in want), f"{place}: {line}\n{result.output}"
        wanted = want.replace("\n\n", "\n<BLANKLINE>\n")
        assert _CHECKER.check_output(
            wanted, result.output, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ), f"{place}: {line} printed\n{result.output}\nexpected\n{want}"


@pytest.mark.parametrize("path", update.PAGES, ids=IDS)
def test_generated_parts_are_up_to_date(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = update.regenerated(path)
    assert found == text, f"{path.name} is stale: run `python docs/update.py {path.name}`"


@pytest.mark.parametrize("path", update.PAGES, ids=IDS)
def test_links_resolve(path: Path) -> None:
    for target in _LINK.findall(path.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        found = path.parent / file if file else path
        assert found.exists(), f"{path.name}: no such file: {target}"
        if anchor:
            assert anchor in anchors(found), f"{path.name}: no such heading: {target}"


def anchors(path: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in kept}


def test_commands_of_the_readme_exist() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    makefile = (DOCS.parent / "Makefile").read_text(encoding="utf-8")
    shown = [b.text for b in update.blocks(readme) if b.language == "sh"]
    lines = [shlex.split(line, comments=True) for text in shown for line in text.splitlines()]
    commands = [words for words in lines if words[0] == "gradc"]
    assert {words[1] for words in commands} == set(COMMANDS)
    for words in commands:
        usage = CliRunner().invoke(main, [words[1], "--help"])
        assert usage.exit_code == 0, usage.output
        for option in (word.partition("=")[0] for word in words[2:] if word.startswith("--")):
            assert option in usage.output
    for words in lines:
        if words[0] == "make":
            assert f"\n{words[1]}:" in makefile


def test_every_page_is_linked_from_the_readme() -> None:
    linked = set(_LINK.findall((DOCS.parent / "README.md").read_text(encoding="utf-8")))
    assert {f"docs/{path.name}" for path in update.PAGES[1:]} <= linked


def test_a_wrong_example_fails() -> None:
    with pytest.raises(AssertionError, match="expected"):
        run_prompts(">>> 1 + 1\n3\n", "page:1", {})
    with pytest.raises(AssertionError, match="expected"):
        run_prompts(">>> 1 + 1\nTraceback (most recent call last):\nValueError: no\n", "page:1", {})
    with pytest.raises(AssertionError, match="printed"):
        run_console("$ gradc opt --list-passes\nnothing\n", "page:1")
