"""`gradc` and `gradc opt`: options, exit codes, one clear message for each kind of bad input."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gradc.cli.main import COMMANDS, main

GOOD = """"func.func"() ({
^bb0(%x: tensor<4xf32>):
  %0 = "nd.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "nd.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%1) : (tensor<4xf32>) -> ()
}) {sym_name = "f", function_type = (tensor<4xf32>) -> tensor<4xf32>} : () -> ()
"""
BAD = '"nd.neg"() : () -> ()\n'
DCE = "--pass-pipeline=builtin.module(func.func(dce))"


def gradc(*words: str, text: str | None = None) -> Result:
    result = CliRunner().invoke(main, words, input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return str(path)


def refused(result: Result, *messages: str) -> None:
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    for message in messages:
        assert message in result.stderr


def test_passes_run_and_the_result_is_printed(good: str) -> None:
    result = gradc("opt", good, DCE)
    assert result.exit_code == 0
    assert result.stdout.count("nd.neg") == 1
    assert result.stdout.startswith('"builtin.module"() ({')


def test_standard_input_and_output_file(tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    result = gradc("opt", "-", "-o", str(out), "--pretty", text=GOOD)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "%1 = nd.neg %x : tensor<4xf32>" in out.read_text()


def test_the_pretty_form_is_recognised(good: str) -> None:
    pretty = gradc("opt", good, "--pretty").stdout
    function = pretty[pretty.index("func.func @") :]
    for text in (pretty, function, f"// a note\n\n{function}", pretty.removeprefix("builtin.")):
        refused(
            gradc("opt", text=text),
            "expected an operation in generic form",
            "This looks like the pretty form",
            "`gradc dump --mlir`",
        )
    other = gradc("opt", text='"nd.neg"(%x')
    assert other.exit_code != 0 and "pretty" not in other.stderr


def test_printing_goes_to_standard_error(good: str) -> None:
    result = gradc("opt", good, DCE, "--print-ir-after-all", "--timing")
    assert "IR after dce on @f" in result.stderr and "IR after" not in result.stdout
    assert "seconds" in result.stderr and "(parse)" in result.stderr


def test_split_input_file_goes_on_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "parts.mlir"
    path.write_text(f"// only a comment\n// -----\n{BAD}// -----\n{GOOD}")
    result = gradc("opt", str(path), "--split-input-file")
    refused(result, f"at {path}:3", "nd.neg: expected 1 operand")
    assert result.stdout.count("func.func") == 1


@pytest.mark.parametrize(
    ("annotated", "code", "message"),
    [
        ("// expected-error@+1 {{nd.neg: expected 1 operand}}\n" + BAD, 0, ""),
        ("// expected-error@below {{nd.neg}}\n" + BAD, 0, ""),
        (BAD + "// expected-error@-1 {{nd.neg}}\n", 0, ""),
        (BAD + "// expected-error@above {{nd.neg}}\n", 0, ""),
        (BAD.rstrip() + " // expected-error {{nd.neg}}\n", 0, ""),
        (BAD.rstrip() + ' loc("else.py":7:1) // expected-error@unknown {{nd.neg}}\n', 0, ""),
        (BAD, 1, ":1: unexpected error: nd.neg: expected 1 operand"),
        ("// expected-error {{nd.neg}}\n" + BAD, 1, ":1: expected error was not produced: nd.neg"),
        ("// expected-error@+1 {{other}}\n" + BAD, 1, ":2: unexpected error: nd.neg: expected"),
        (GOOD + "// expected-error@-1 {{nd.neg}}\n", 1, "expected error was not produced"),
        ("// expected-note {{nd.neg}}\n" + BAD, 1, "gradc reports errors only"),
    ],
)
def test_verify_diagnostics(annotated: str, code: int, message: str) -> None:
    result = gradc("opt", "-", "--verify-diagnostics", text=annotated)
    assert result.exit_code == code, result.output
    assert message in result.stderr


def test_unregistered_operations_on_request() -> None:
    text = '"other.op"() {a = 1 : i64} : () -> ()\n'
    refused(gradc("opt", "-", text=text), "<stdin>:1:1: unknown operation other.op")
    result = gradc("opt", "-", "--allow-unregistered-dialect", text=text)
    assert result.exit_code == 0 and text in result.stdout


def test_list_passes() -> None:
    assert "dce  (on func.func): Remove" in gradc("opt", "--list-passes").stdout


def test_a_reproducer_runs(tmp_path: Path) -> None:
    path = tmp_path / "crash.mlir"
    path.write_text("// gradc-pipeline: builtin.module(func.func(dce))\n" + GOOD)
    assert gradc("opt", "--run-reproducer", str(path)).stdout.count("nd.neg") == 1
    path.write_text(GOOD)
    refused(gradc("opt", "--run-reproducer", str(path)), "names no pipeline in its first line")


# ------------------------------------------------------------------------------------ bad input


def test_a_missing_file() -> None:
    refused(gradc("opt", "missing.mlir"), "cannot read missing.mlir: No such file or directory")


def test_a_folder(tmp_path: Path) -> None:
    refused(gradc("opt", str(tmp_path)), f"cannot read {tmp_path}: Is a directory")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "binary.mlir"
    path.write_bytes(b"// \xff\xfe")
    refused(gradc("opt", str(path)), f"expected {path} to be UTF-8 text, got the byte 0xFF at offs")


def test_an_empty_file() -> None:
    refused(gradc("opt", "-", text=""), "<stdin>:1:1: expected an operation such as")


def test_a_truncated_file() -> None:
    message = "<stdin>:3:19: expected ')' at the end of the operands, got the end of the file"
    refused(gradc("opt", "-", text=GOOD.partition("%x)")[0] + "%x"), message)


def test_an_output_file_that_cannot_be_written(good: str, tmp_path: Path) -> None:
    out = str(tmp_path / "missing" / "out.mlir")
    refused(gradc("opt", good, "-o", out), f"cannot write {out}: No such file or directory")


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("builtin.module(func.func(dce", "expected ',' or ')', got the end of the pipeline"),
        ("builtin.module(func.func(unheard))", "expected a pass, got 'unheard': the passes are"),
        ("builtin.module(func.func(dce{x=1}))", "pass dce has no option 'x'"),
        (
            "func.func(dce)",
            "expected a func.func for the pipeline func.func(dce), got a builtin.module",
        ),
    ],
)
def test_a_bad_pipeline(good: str, pipeline: str, message: str) -> None:
    refused(gradc("opt", good, f"--pass-pipeline={pipeline}"), message)


def test_an_unknown_command_and_option() -> None:
    refused(gradc("frobnicate"), "No such command 'frobnicate'")
    refused(gradc("opt", "--frobnicate"), "No such option")


# --------------------------------------------------------------------------------------- group


def test_help_lists_the_commands_and_loads_none() -> None:
    result = gradc("--help")
    assert result.exit_code == 0
    for name, summary in COMMANDS.items():
        assert name in result.stdout and summary[:30] in result.stdout
    code = (
        "import sys; from gradc.cli.main import main; main(['--help'], standalone_mode=False);"
        "print([m for m in sys.modules if m.startswith('gradc.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['gradc.cli.main']"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_table_exists(name: str) -> None:
    result = gradc(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: main {name}")
