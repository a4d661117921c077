"""The pass manager: pipeline strings, options, instrumentation, reproducers."""

import io

import pytest

from gradc.ir.builder import Builder
from gradc.ir.diagnostic import VerificationError
from gradc.ir.ops.func import FuncOp, ModuleOp
from gradc.ir.parser import parse_module
from gradc.ir.printer import print_module
from gradc.ir.types import f32, tensor
from gradc.passes import manager
from gradc.passes.manager import (
    Instrumentation,
    Pass,
    PassError,
    PassManager,
    PipelineError,
    pipeline_of_reproducer,
)

SEEN: list[str] = []


class Note(Pass, name="test-note"):
    """Write down the function and the options."""

    limit: int = 3
    fast: bool = False
    scale: float = 1.5
    mode: str = "plain"

    def run(self, op):
        SEEN.append(f"{op.attributes.get('sym_name', 'module')}:{self.limit}:{self.fast}")


class NoteModule(Pass, name="test-note-module", anchor="builtin.module"):
    """Write down the module."""

    def run(self, op):
        SEEN.append(op.name)


class Rename(Pass, name="test-rename"):
    """Rename the first argument."""

    def run(self, op):
        op.body.args[0].hint = "renamed"


class Crash(Pass, name="test-crash"):
    """Fail."""

    def run(self, op):
        op.body.args[0].hint = "half_done"
        raise ZeroDivisionError("on purpose")


class Spoil(Pass, name="test-spoil"):
    """Leave invalid IR."""

    def run(self, op):
        op.body.ops[0].results[0].type = tensor(f32, 9)


@pytest.fixture(autouse=True)
def fresh():
    SEEN.clear()


@pytest.fixture(scope="module", autouse=True)
def only_here():
    yield
    for name in [n for n in manager.PASSES if n.startswith("test-")]:
        del manager.PASSES[name]


def module() -> ModuleOp:
    functions = []
    for name in ("f", "g"):
        function = FuncOp.build(name, [tensor(f32, 4)], ["x"])
        b = Builder(function.body)
        functions.append(function.finish([b.neg(function.args[0])]))
    return ModuleOp.build(functions)


@pytest.mark.parametrize(
    "text",
    [
        "builtin.module()",
        "builtin.module(test-note-module)",
        "builtin.module(func.func(test-note,test-rename),test-note-module)",
        "builtin.module(func.func(test-note{limit=-4 fast=true scale=0.25 mode=new}))",
        'builtin.module(func.func(test-note{mode="two words"}))',
        "func.func(test-note)",
    ],
)
def test_pipelines_print_as_they_were_written(text: str) -> None:
    assert str(PassManager.parse(text)) == text


def test_spaces_and_defaults_do_not_matter() -> None:
    parsed = PassManager.parse(" builtin.module ( func.func( test-note{ limit=3  fast=false } ) ) ")
    assert str(parsed) == "builtin.module(func.func(test-note))"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the name of a pass or operation, got the end of the pipeline"),
        ("test-note", "expected an operation around the passes, as in func.func(test-note)"),
        ("builtin.module(test-note)", "pass test-note runs on func.func: write func.func("),
        ("builtin.module(func.func(test-note)", "expected ',' or ')', got the end"),
        ("builtin.module(func.func(test-note,))", "expected the name of a pass or operation"),
        ("builtin.module(func.func(unheard-of))", "expected a pass, got 'unheard-of': the passes"),
        ("builtin.module() more", "expected the end of the pipeline, got 'm'"),
        ("func.func(test-note{limit=x})", "expected an integer for test-note's option limit"),
        ("func.func(test-note{scale=x})", "expected a number for test-note's option scale"),
        ("func.func(test-note{fast=1})", "expected true or false for test-note's option fast"),
        ("func.func(test-note{size=1})", "pass test-note has no option 'size': its options are"),
        ("func.func(test-rename{size=1})", "its options are none"),
        ("func.func(test-note{limit})", "expected option=value or '}'"),
        ("func.func(test-note{limit=3", "expected option=value or '}', got the end"),
    ],
)
def test_malformed_pipelines(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        PassManager.parse(text)
    assert message in str(caught.value)
    assert str(caught.value).splitlines()[-1].strip() == "^"


def test_passes_run_on_their_anchors_in_order() -> None:
    text = "builtin.module(test-note-module,func.func(test-note{limit=7},test-note{fast=true}))"
    PassManager.parse(text).run(module())
    assert SEEN == ["builtin.module", "f:7:False", "f:3:True", "g:7:False", "g:3:True"]


def test_a_pipeline_of_functions_runs_on_a_function() -> None:
    (function, _) = module().functions
    PassManager.parse("func.func(test-note)").run(function)
    assert SEEN == ["f:3:False"]
    with pytest.raises(PipelineError, match="expected a builtin.module for the pipeline"):
        PassManager.parse("builtin.module(func.func(test-note))").run(function)


def test_print_after_all_and_after_change() -> None:
    text = "builtin.module(func.func(test-note,test-rename))"
    every, changed = io.StringIO(), io.StringIO()
    PassManager.parse(text).run(module(), Instrumentation(print_after_all=True, stream=every))
    PassManager.parse(text).run(
        module(), Instrumentation(print_after_change=True, pretty=True, stream=changed)
    )
    assert every.getvalue().count("// -----// IR after ") == 4
    assert changed.getvalue().count("// -----// IR after ") == 2
    assert "// -----// IR after test-rename on @g //----- //" in changed.getvalue()
    assert "%0 = nd.neg %renamed : tensor<4xf32>" in changed.getvalue()


def test_timing() -> None:
    wanted = Instrumentation()
    PassManager.parse("builtin.module(func.func(test-note,test-rename))").run(module(), wanted)
    assert set(wanted.seconds) == {"test-note", "test-rename"}
    table = wanted.timing_table().splitlines()
    assert table[0].split() == ["seconds", "share", "pass"]
    assert table[-1].endswith("100.0%  total")


def test_verify_each() -> None:
    passes = PassManager.parse("builtin.module(func.func(test-spoil,test-note))")
    passes.run(module(), Instrumentation(verify_each=False))
    with pytest.raises(PassError, match="pass test-spoil on @f failed: nd.neg: expected") as caught:
        passes.run(module(), Instrumentation(verify_each=True))
    assert isinstance(caught.value.__cause__, VerificationError)


@pytest.mark.parametrize("named", [True, False])
def test_a_crash_writes_a_reproducer(named: bool, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = str(tmp_path / "crash.mlir") if named else ""
    text = "builtin.module(func.func(test-note{limit=4},test-crash))"
    before = print_module(module(), locations=True)
    with pytest.raises(PassError, match="test-crash on @f failed: ZeroDivisionError: on") as caught:
        PassManager.parse(text).run(module(), Instrumentation(reproducer=path))
    found = caught.value.reproducer
    assert found == path if named else found.startswith(str(tmp_path))
    assert f"gradc opt --run-reproducer {found}" in str(caught.value)
    with open(found, encoding="utf-8") as file:
        written = file.read()
    assert pipeline_of_reproducer(written) == text
    assert "// ZeroDivisionError: on purpose" in written
    assert print_module(parse_module(written), locations=True) == before


def test_a_reproducer_that_cannot_be_written_is_said(tmp_path) -> None:
    path = str(tmp_path / "missing" / "crash.mlir")
    with pytest.raises(PassError, match="no reproducer written: .*No such file"):
        PassManager.parse("builtin.module(func.func(test-crash))").run(
            module(), Instrumentation(reproducer=path)
        )


def test_without_a_reproducer_the_message_stands_alone() -> None:
    with pytest.raises(PassError) as caught:
        PassManager.parse("builtin.module(func.func(test-crash))").run(module())
    assert str(caught.value) == "pass test-crash on @f failed: ZeroDivisionError: on purpose"


def test_a_pass_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="test-note is defined twice"):

        class Again(Pass, name="test-note"):
            def run(self, op):
                pass


def test_a_pass_needs_run() -> None:
    class Idle(Pass):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Idle()
