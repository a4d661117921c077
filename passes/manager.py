"""Passes, the pass manager, and pipeline strings such as `builtin.module(func.func(cse,dce))`.

A pass takes valid IR and leaves valid IR. Its options are typed fields with defaults:

    class Unroll(Pass, name="unroll"):
        '''Unroll loops of at most `limit` iterations.'''
        limit: int = 256

        def run(self, op):
            ...

`unroll{limit=8}` in a pipeline sets them. `anchor` names the operation that a pass runs on: each
`func.func` of the module, or the `builtin.module` itself.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import tempfile
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TextIO, dataclass_transform

from gradc.ir.core import Operation
from gradc.ir.diagnostic import GradcError, IRError
from gradc.ir.printer import print_module, print_pretty
from gradc.ir.verify import verify

PASSES: dict[str, type[Pass]] = {}
PIPELINE_COMMENT = "// gradc-pipeline: "


@dataclass_transform()
class Pass(ABC):
    """Base of all passes. Subclassing with `name=` registers the pass."""

    name: ClassVar[str] = ""
    anchor: ClassVar[str] = "func.func"

    def __init_subclass__(cls, name: str = "", anchor: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(cls)
        if anchor:
            cls.anchor = anchor
        if name:
            if name in PASSES:
                raise ValueError(f"pass {name} is defined twice")
            cls.name = name
            PASSES[name] = cls

    @abstractmethod
    def run(self, op: Operation) -> None:
        """Rewrite `op` (the anchor) in place."""

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Option names and their defaults."""
        return {f.name: f.default for f in dataclasses.fields(cls)}  # type: ignore[arg-type]

    def __str__(self) -> str:
        """The pass as pipeline strings write it, with the options that are not at their default."""
        own = [
            f"{name}={_option_text(getattr(self, name))}"
            for name, default in self.options().items()
            if getattr(self, name) != default
        ]
        return self.name + ("{" + " ".join(own) + "}" if own else "")


class PipelineError(GradcError):
    """A malformed pipeline string, an unknown pass or option."""


class PassError(GradcError):
    """A pass crashed or left invalid IR. `reproducer` is the file that repeats it, or ''."""

    def __init__(self, message: str, reproducer: str = "") -> None:
        self.reproducer = reproducer
        super().__init__(message)


@dataclass
class Pipeline:
    """Passes and nested pipelines to run on each operation named `anchor`."""

    anchor: str
    items: list[Pass | Pipeline] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.items))})"

    def passes(self) -> Iterator[Pass]:
        for item in self.items:
            if isinstance(item, Pipeline):
                yield from item.passes()
            else:
                yield item


@dataclass
class Instrumentation:
    """What a run of passes reports, and where.

    print_after_all, print_after_change: print the IR to `stream` after each pass (that changed it)
    pretty:      in the form for people instead of the generic one
    verify_each: verify after each pass
    reproducer:  on a crash write the program and the pipeline to this file; None for no file,
                 "" for a new file in the system's temporary folder
    seconds:     gains the time that each pass took, by its text in the pipeline
    """

    print_after_all: bool = False
    print_after_change: bool = False
    pretty: bool = False
    verify_each: bool = False
    reproducer: str | None = None
    stream: TextIO | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def text(self, op: Operation) -> str:
        return print_pretty(op) if self.pretty else print_module(op)

    def timing_table(self) -> str:
        """Seconds and share of each pass, the slowest first."""
        total = sum(self.seconds.values())
        lines = [f"{'seconds':>10}  {'share':>6}  pass"]
        for name, spent in sorted(self.seconds.items(), key=lambda item: -item[1]):
            share = spent / total if total else 0.0
            lines.append(f"{spent:10.6f}  {share:6.1%}  {name}")
        lines.append(f"{total:10.6f}  {1:6.1%}  total")
        return "\n".join(lines)


class PassManager:
    """Runs a pipeline on an operation."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @classmethod
    def parse(cls, text: str) -> PassManager:
        """From `builtin.module(func.func(canonicalize,cse{limit=3}))`; PipelineError otherwise."""
        return cls(_PipelineParser(text).parse())

    def __str__(self) -> str:
        return str(self.pipeline)

    def run(self, op: Operation, instrumentation: Instrumentation | None = None) -> Operation:
        """Run all passes on `op`, in place, and return it. PassError when a pass fails."""
        wanted = instrumentation or Instrumentation()
        if op.name != self.pipeline.anchor:
            raise PipelineError(
                f"expected a {self.pipeline.anchor} for the pipeline {self}, got a {op.name}"
            )
        source = print_module(op, locations=True) if wanted.reproducer is not None else ""
        self._run(self.pipeline, op, wanted, source)
        return op

    def _run(self, pipeline: Pipeline, op: Operation, wanted: Instrumentation, source: str) -> None:
        for item in pipeline.items:
            if isinstance(item, Pass):
                self._run_pass(item, op, wanted, source)
                continue
            for region in op.regions:
                for block in region.blocks:
                    for inner in [x for x in block.ops if x.name == item.anchor]:
                        self._run(item, inner, wanted, source)

    def _run_pass(self, step: Pass, op: Operation, wanted: Instrumentation, source: str) -> None:
        before = wanted.text(op) if wanted.print_after_change else ""
        start = time.perf_counter()
        try:
            step.run(op)
            if wanted.verify_each:
                verify(op)
        except Exception as error:
            raise self._failure(step, op, error, wanted, source) from error
        finally:
            spent = time.perf_counter() - start
            wanted.seconds[str(step)] = wanted.seconds.get(str(step), 0.0) + spent
        if wanted.print_after_all or wanted.print_after_change:
            after = wanted.text(op)
            if wanted.print_after_all or after != before:
                stream = wanted.stream or sys.stderr
                stream.write(f"// -----// IR after {step}{_symbol(op)} //----- //\n{after}")

    def _failure(
        self, step: Pass, op: Operation, error: Exception, wanted: Instrumentation, source: str
    ) -> PassError:
        what = f"{type(error).__name__}: {error}"
        if isinstance(error, IRError):
            what = str(error)
        message = f"pass {step}{_symbol(op)} failed: {what}"
        if wanted.reproducer is None:
            return PassError(message)
        details = "".join(traceback.format_exception(error))
        text = f"{PIPELINE_COMMENT}{self}\n{source}"
        text += "".join(f"// {line}\n" for line in details.splitlines())
        path = wanted.reproducer
        try:
            if not path:
                with tempfile.NamedTemporaryFile(
                    "w", prefix="gradc-reproducer-", suffix=".mlir", delete=False, encoding="utf-8"
                ) as file:
                    file.write(text)
                    path = file.name
            else:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
        except OSError as problem:
            return PassError(f"{message}\n(no reproducer written: {problem})")
        return PassError(
            f"{message}\nrepeat with: gradc opt --run-reproducer {path}",
            path,
        )


def _symbol(op: Operation) -> str:
    name = op.attributes.get("sym_name")
    return f" on @{name}" if name else ""


def pipeline_of_reproducer(text: str) -> str | None:
    """The pipeline that a reproducer file names in its first line, or None."""
    first = text.split("\n", 1)[0]
    return first.removeprefix(PIPELINE_COMMENT) if first.startswith(PIPELINE_COMMENT) else None


# ------------------------------------------------------------------------------ pipeline strings

_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*")
_OPTION = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*=\s*(\"[^\"]*\"|[^\s{}]+)")


def _option_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not re.fullmatch(r"[^\s{}\"]+", value):
        return f'"{value}"'
    return str(value)


class _PipelineParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def parse(self) -> Pipeline:
        start = self._skip_space()
        item = self._item("")
        if not isinstance(item, Pipeline):
            self.at = start
            self._fail(
                f"expected an operation around the passes, as in {item.anchor}({item.name}), "
                f"got the pass {item.name} by itself"
            )
        if self._skip_space() < len(self.text):
            self._fail(f"expected the end of the pipeline, got {self.text[self.at]!r}")
        return item

    def _item(self, anchor: str) -> Pass | Pipeline:
        start = self._skip_space()
        match = _NAME.match(self.text, self.at)
        if match is None:
            self._fail(f"expected the name of a pass or operation, got {self._got()}")
        self.at = match.end()
        name = match[1]
        if self.text[self.at : self.at + 1] == "(":
            return self._nested(name)
        found = PASSES.get(name)
        if found is None:
            self.at = start
            known = ", ".join(sorted(PASSES))
            self._fail(f"expected a pass, got {name!r}: the passes are {known}")
        if anchor and found.anchor != anchor:
            self.at = start
            self._fail(f"pass {name} runs on {found.anchor}: write {found.anchor}({name})")
        if self.text[self.at : self.at + 1] == "{":
            return found(**self._options(found))
        return found()

    def _nested(self, name: str) -> Pipeline:
        self.at += 1
        pipeline = Pipeline(name)
        if self.text[self._skip_space() : self.at + 1] == ")":
            self.at += 1
            return pipeline
        while True:
            pipeline.items.append(self._item(name))
            self._skip_space()
            mark = self.text[self.at : self.at + 1]
            if mark not in (",", ")") or not mark:
                self._fail(f"expected ',' or ')', got {self._got()}")
            self.at += 1
            if mark == ")":
                return pipeline

    def _options(self, cls: type[Pass]) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        known = cls.options()
        while self.text[self._skip_space() : self.at + 1] != "}":
            match = _OPTION.match(self.text, self.at)
            if match is None:
                self._fail(f"expected option=value or '}}', got {self._got()}")
            name = match[1].replace("-", "_")
            if name not in known:
                listed = ", ".join(known) or "none"
                self._fail(f"pass {cls.name} has no option {match[1]!r}: its options are {listed}")
            found[name] = self._value(cls, name, match[2], known[name])
            self.at = match.end()
        self.at += 1
        return found

    def _value(self, cls: type[Pass], name: str, text: str, default: Any) -> Any:
        text = text.strip('"')
        wanted = type(default)
        if wanted is bool:
            if text in ("true", "false"):
                return text == "true"
            self._fail(f"expected true or false for {cls.name}'s option {name}, got {text!r}")
        try:
            return wanted(text)
        except ValueError:
            kind = {"int": "an integer", "float": "a number"}.get(wanted.__name__, wanted.__name__)
            self._fail(f"expected {kind} for {cls.name}'s option {name}, got {text!r}")

    def _skip_space(self) -> int:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        return self.at

    def _got(self) -> str:
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end of the pipeline"

    def _fail(self, message: str) -> NoReturn:
        raise PipelineError(f"{message}\n  {self.text}\n  {' ' * self.at}^")
