"""`gradc opt`: read IR, run passes, print IR."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, field, replace

import click

from gradc.ir.diagnostic import GradcError, IRError, ParseError
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module, print_pretty
from gradc.ir.verify import verify
from gradc.passes import catalog as _catalog  # registers the passes  # noqa: F401
from gradc.passes.manager import (
    PASSES,
    Instrumentation,
    PassManager,
    pipeline_of_reproducer,
)

_SEPARATOR = re.compile(r"^// -----[^\n]*$", re.MULTILINE)
_ONLY_COMMENTS = re.compile(r"(?:\s++|//[^\n]*+)*+\Z")
_PRETTY = re.compile(r"(?:\s++|//[^\n]*+)*+(?:func\.func @|(?:builtin\.)?module\b)")
_PRETTY_HINT = (
    "This looks like the pretty form, which is for reading only: `gradc dump --mlir` and "
    "`gradc opt --mlir` write the generic form"
)
_EXPECTATION = re.compile(
    r"expected-(\w+)(?:@(?:([+-]\d+)|(above|below|unknown)))?\s*\{\{(.*?)\}\}"
)


@click.command("opt", short_help="Run passes on IR text and print the result.")
@click.argument("file", default="-")
@click.option("--pass-pipeline", "pipeline", help="Such as 'builtin.module(func.func(cse,dce))'.")
@click.option("--run-reproducer", is_flag=True, help="Take the pipeline from FILE's first line.")
@click.option("--crash-reproducer", default="", metavar="FILE", help="Where a crash writes one.")
@click.option("--print-ir-after-all", is_flag=True, help="Print the IR after each pass.")
@click.option("--print-ir-after-change", is_flag=True, help="Only after passes that changed it.")
@click.option("--verify-each/--no-verify-each", default=True, help="Verify after each pass.")
@click.option("--split-input-file", "split", is_flag=True, help="Take '// -----' as a separator.")
@click.option("--verify-diagnostics", "check", is_flag=True, help="Check expected-error comments.")
@click.option("--timing", is_flag=True, help="Print the seconds that each pass takes.")
@click.option("--mlir/--pretty", "generic", default=True, help="Generic form, or one for people.")
@click.option("--locations", is_flag=True, help="Print source locations.")
@click.option(
    "--allow-unregistered-dialect", "unregistered", is_flag=True, help="Keep unknown ops."
)
@click.option("--list-passes", is_flag=True, help="List the passes and their options, and stop.")
@click.option("-o", "output", default="-", metavar="FILE", help="Where to write the result.")
def command(
    file: str,
    pipeline: str | None,
    run_reproducer: bool,
    crash_reproducer: str,
    print_ir_after_all: bool,
    print_ir_after_change: bool,
    verify_each: bool,
    split: bool,
    check: bool,
    timing: bool,
    generic: bool,
    locations: bool,
    unregistered: bool,
    list_passes: bool,
    output: str,
) -> None:
    """Read IR from FILE (- is the standard input), run passes on it, print the result.

    An annotation for --verify-diagnostics is a comment `expected-error {{part of the message}}`. It
    stands on the line of the error, or says where that is: expected-error@+1, @-1, @below, @above,
    or @unknown for an error outside of FILE.
    """
    if list_passes:
        click.echo("\n".join(_describe_passes()))
        return
    text, name = read_text(file)
    if run_reproducer:
        pipeline = pipeline_of_reproducer(text)
        if pipeline is None:
            raise click.ClickException(f"{name} names no pipeline in its first line")
    run = _Run(
        name,
        PassManager.parse(pipeline) if pipeline is not None else None,
        Instrumentation(
            print_after_all=print_ir_after_all,
            print_after_change=print_ir_after_change,
            pretty=not generic,
            verify_each=verify_each,
            reproducer=None if check else crash_reproducer,
        ),
        generic,
        locations,
        unregistered,
    )
    chunks = _split(text) if split else [text]
    results = []
    for chunk in chunks:
        if split and _ONLY_COMMENTS.match(chunk) and not _EXPECTATION.search(chunk):
            continue
        results.append(run.checked(chunk) if check else run.plain(chunk))
    write_text(output, "// -----\n".join(x for x in results if x is not None))
    if timing:
        click.echo(run.instrumentation.timing_table(), err=True)
    if run.failed:
        sys.exit(1)


@dataclass
class _Expectation:
    line: int  # 0 for @unknown
    message: str
    written_at: int
    met: bool = False


@dataclass
class _Run:
    """What is the same for each part of the input."""

    name: str
    manager: PassManager | None
    instrumentation: Instrumentation
    generic: bool
    locations: bool
    unregistered: bool
    failed: bool = field(default=False)

    def process(self, text: str) -> str:
        """Parse, verify, run the passes, print."""
        seconds = self.instrumentation.seconds
        start = time.perf_counter()
        module = parse_module(text, self.name, self.unregistered)
        verify(module)
        seconds["(parse)"] = seconds.get("(parse)", 0.0) + time.perf_counter() - start
        if self.manager is not None:
            self.manager.run(module, replace(self.instrumentation, seconds=seconds))
        start = time.perf_counter()
        printed = (print_module if self.generic else print_pretty)(module, self.locations)
        seconds["(print)"] = seconds.get("(print)", 0.0) + time.perf_counter() - start
        return printed

    def plain(self, text: str) -> str | None:
        """The result, or None after an error, which is printed."""
        try:
            return self.process(text)
        except GradcError as error:
            pretty = isinstance(error, ParseError) and _PRETTY.match(text)
            click.echo(f"Error: {error}" + f"\n{_PRETTY_HINT}" * bool(pretty), err=True)
            self.failed = True
            return None

    def checked(self, text: str) -> str | None:
        """The result; errors are held against the annotations in the text."""
        expected = self._expectations(text)
        result = None
        try:
            result = self.process(text)
        except GradcError as error:
            line, message = self._place(error)
            for one in expected:
                if not one.met and one.line == line and one.message in message:
                    one.met = True
                    break
            else:
                self._complain(line, f"unexpected error: {message}")
        for one in expected:
            if not one.met:
                self._complain(one.written_at, f"expected error was not produced: {one.message}")
        return result

    def _complain(self, line: int, message: str) -> None:
        self.failed = True
        click.echo(f"{self.name}:{line}: {message}" if line else message, err=True)

    def _place(self, error: GradcError) -> tuple[int, str]:
        """The line of the error in this file (0 when it has none) and its bare message."""
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, IRError | ParseError):
            cause = cause.__cause__
        if isinstance(cause, ParseError):
            return cause.line, cause.message
        if isinstance(cause, IRError):
            here = cause.location.file == self.name
            return cause.location.line if here else 0, cause.message
        return 0, str(error)

    def _expectations(self, text: str) -> list[_Expectation]:
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            for match in _EXPECTATION.finditer(line):
                kind, offset, word, message = match.groups()
                if kind != "error":
                    raise click.ClickException(
                        f"{self.name}:{number}: expected expected-error, got expected-{kind}: "
                        "gradc reports errors only"
                    )
                at = number + int(offset or {"above": -1, "below": 1}.get(word, 0))
                found.append(_Expectation(0 if word == "unknown" else at, message, number))
        return found


def _split(text: str) -> list[str]:
    """The parts between separators, each with blank lines before it so that line numbers hold."""
    parts = []
    begin = 0
    for match in [*_SEPARATOR.finditer(text), None]:
        finish = len(text) if match is None else match.start()
        parts.append("\n" * text.count("\n", 0, begin) + text[begin:finish])
        begin = len(text) if match is None else match.end()
    return parts


def _describe_passes() -> list[str]:
    lines = []
    for name, cls in sorted(PASSES.items()):
        summary = (cls.__doc__ or "").strip().split("\n", 1)[0]
        lines.append(f"{name}  (on {cls.anchor}): {summary}")
        lines += [f"    {key}={default}" for key, default in cls.options().items()]
    return lines


def read_text(file: str) -> tuple[str, str]:
    """The text of a file, and its name for messages; ClickException when it cannot be read."""
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode("utf-8"), "<stdin>"
        with open(file, encoding="utf-8", newline="") as stream:
            return stream.read(), file
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(
            f"expected {file} to be UTF-8 text, got the byte 0x{error.object[error.start]:02X} at "
            f"offset {error.start}"
        ) from error


def write_text(file: str, text: str) -> None:
    """Write to a file, or to the standard output for -; ClickException when that fails."""
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error.strerror}") from error
