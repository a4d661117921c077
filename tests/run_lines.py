"""Runs the `// RUN:` lines of a .mlir file inside this process.

    // RUN: gradc opt %s --pass-pipeline='builtin.module(func.func(cse))' | filecheck %s
    // RUN: not gradc opt %s 2>&1 | filecheck %s --check-prefix=ERROR

%s is the file, %S its folder. `not` expects a non-zero exit code.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

from click.testing import CliRunner
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser

from gradc.cli.main import main

_RUN = re.compile(r"^\s*(?://|#)\s*RUN:\s*(.*?)\s*$", re.MULTILINE)


def run_lines(path: Path) -> list[str]:
    """The commands of a file; a line that ends with a backslash continues in the next."""
    found: list[str] = []
    joined = ""
    for line in _RUN.findall(path.read_text(encoding="utf-8")):
        joined += line.removesuffix("\\")
        if not line.endswith("\\"):
            found.append(joined)
            joined = ""
    assert not joined, f"{path}: the last RUN line is continued"
    return found


def execute(path: Path) -> list[str]:
    """Run all RUN lines of the file; AssertionError when one fails. Returns what gradc printed."""
    commands = run_lines(path)
    assert commands, f"{path} has no RUN line"
    return [_execute(path, command) for command in commands]


def _execute(path: Path, command: str) -> str:
    text = command.replace("%s", shlex.quote(str(path))).replace(
        "%S", shlex.quote(str(path.parent))
    )
    first, *rest = _stages(shlex.split(text, posix=True))
    printed = _gradc(first, command)
    assert rest or "--verify-diagnostics" in first, f"nothing checks the output of: {command}"
    for stage in rest:
        assert stage[0] == "filecheck", f"expected filecheck after |, got {stage[0]}"
        _filecheck(stage, printed, command)
    return printed


def _stages(words: list[str]) -> list[list[str]]:
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def _gradc(words: list[str], command: str) -> str:
    fails = words[0] == "not"
    words = words[1:] if fails else words
    both = words[-1] == "2>&1"
    words = words[:-1] if both else words
    assert words[0] == "gradc", f"expected a gradc command, got {words[0]}"
    result = CliRunner().invoke(main, words[1:])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert (result.exit_code != 0) == fails, (
        f"exit code {result.exit_code} of: {command}\n{result.output}"
    )
    return result.output if both else result.stdout


def _filecheck(words: list[str], text: str, command: str) -> None:
    options = parse_argv_options(list(words))
    messages = io.StringIO()
    with contextlib.redirect_stderr(messages), contextlib.redirect_stdout(messages):
        matcher = Matcher(options, FInput("<output>", text), Parser.from_opts(options))
        code = matcher.run()
    assert code == 0, f"{messages.getvalue()}\nof: {command}\n--- output ---\n{text}"
