"""`gradc bench`: what it prints and writes, and that wrong or failing systems are seen."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import gradc
from gradc.benchmarks.agreement import Disagreement, check, reference
from gradc.benchmarks.catalog import GROUPS, WORKLOADS, chosen
from gradc.benchmarks.systems.choice import SYSTEMS
from gradc.cli.main import main

QUICK = ("--sizes", "small", "--repeats", "4", "--rounds", "2")

ADAPTER = """
import os
import numpy as np
from gradc.benchmarks.systems.system import System
import gradc

class Adapter(System):
    name = "other"
    {attributes}

    def prepare(self, workload, arguments, threads):
        call = gradc.value_and_grad(workload.function, workload.argnums)
        {prepare}
        def run():
            value, gradients = call(*arguments)
            gradients = [np.array(g) for g in gradients]
            {change}
            return value, gradients
        return run

    def blas(self):
        return {blas}
"""


def bench(*words: str) -> Result:
    result = CliRunner().invoke(main, ["bench", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def adapter(
    folder: Path,
    attributes: str = "",
    prepare: str = "pass",
    change: str = "pass",
    blas: str = "''",
) -> str:
    path = folder / "adapter.py"
    path.write_text(
        ADAPTER.format(attributes=attributes, prepare=prepare, change=change, blas=blas)
    )
    return str(path)


def timed(entry: dict[str, Any], samples: int) -> None:
    assert entry["first_call"] > 0
    assert 0 < entry["time"]["low"] <= entry["time"]["median"] <= entry["time"]["high"]
    assert entry["samples"] == samples
    assert len(entry["rounds"]) == 2
    assert entry["calls_a_sample"] >= 1


def test_a_run_prints_tables_and_writes_everything(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    words = ("--systems", "gradc,numpy", "--threads", "1", "--json", str(file))
    result = bench("rosenbrock_2", "mlp", *QUICK, *words)
    assert result.exit_code == 0, result.output
    record = json.loads(file.read_text())
    assert record["format"] == 1
    assert (record["threads"], record["sizes"]) == (1, "small")
    assert (record["repeats"], record["rounds"]) == (4, 2)
    assert set(record["machine"]) == {"processor", "cpus", "platform", "python"}
    assert list(record["systems"]) == ["gradc", "numpy"]
    assert f"gradc {gradc.__version__}" in record["systems"]["gradc"]["versions"]
    assert record["systems"]["numpy"]["note"] == "value only"
    assert [w["name"] for w in record["workloads"]] == ["rosenbrock_2", "mlp"]
    for w in record["workloads"]:
        assert w["failures"] == []
        assert list(w["systems"]) == ["gradc", "numpy"]
        for entry in w["systems"].values():
            timed(entry, 4)
        assert w["systems"]["gradc"]["threads"] == 1
        assert w["systems"]["gradc"]["first_call_cached"] > 0
        assert w["systems"]["numpy"]["first_call_cached"] is None
        assert 0 <= w["agreement"]["slope"] < 1e-2
        assert set(w["ratios"]) == {"numpy"}
        ratios = [
            theirs / ours
            for theirs, ours in zip(
                w["systems"]["numpy"]["rounds"], w["systems"]["gradc"]["rounds"]
            )
        ]
        assert w["ratios"]["numpy"]["median"] == pytest.approx(np.median(ratios))
    for part in (
        "1 threads for every system, 4 samples in 2 rounds, small sizes",
        "load average",
        "numpy (value only)",
        "Time relative to gradc",
        "geometric mean",
        "First call in a new process",
    ):
        assert part in result.output
    again = bench("--from", str(file))
    assert again.exit_code == 0
    assert again.output.strip() == result.output.strip()


@pytest.mark.parametrize("name", WORKLOADS)
def test_gradients_of_every_workload_agree_with_differences(name: str) -> None:
    workload = WORKLOADS[name]
    arguments = workload.make("small")
    value, gradients = gradc.value_and_grad(workload.function, workload.argnums)(*arguments)
    found = check(
        workload, reference(workload, arguments), {"gradc": (float(value), tuple(gradients))}
    )
    assert found["slope"] > 0  # it compared


def test_a_wrong_gradient_fails_loudly_and_nothing_is_timed(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    wrong = adapter(tmp_path, change="gradients[1] *= 1.02")
    result = bench("black_scholes", *QUICK, "--systems", f"gradc,{wrong}", "--json", str(file))
    assert result.exit_code == 1
    assert "black_scholes: DISAGREEMENT" in result.output
    assert "gradient 1 of other (argument 1) and central differences" in result.output
    assert "of gradc (argument" not in result.output  # the right one is not blamed
    (w,) = json.loads(file.read_text())["workloads"]
    assert w["agreement"] is None and w["ratios"] == {}
    assert all("time" not in entry for entry in w["systems"].values())
    assert len(w["failures"]) == 1


def test_one_wrong_element_is_found(tmp_path: Path) -> None:
    # Below what a slope along a random direction can show.
    wrong = adapter(tmp_path, change="gradients[0][0] += 1e-5 * abs(gradients[0]).max()")
    result = bench("nbody", *QUICK, "--systems", f"gradc,{wrong}")
    assert result.exit_code == 1
    assert "gradient 0 of gradc and of other (argument 0): relative difference 1e-05" in (
        result.output
    )


def test_check_refuses_values_shapes_types_and_nan() -> None:
    workload = WORKLOADS["nbody"]
    arguments = workload.make("small")
    expected = reference(workload, arguments)
    value, (right,) = gradc.value_and_grad(workload.function, (0,))(*arguments)
    for wrong_value, gradients, message in (
        (value * 1.001, (right,), "the value of x and of NumPy in float64"),
        (float("nan"), (right,), "the value of x"),
        (value, (right, right), "expected 1 gradients, got 2"),
        (value, (right.T,), r"expected float64\[20, 3\], got float64\[3, 20\]"),
        (value, (right.astype(np.float32),), r"got float32\[20, 3\]"),
        (value, (right * np.nan,), "central differences: relative difference nan"),
    ):
        with pytest.raises(Disagreement, match=message):
            check(workload, expected, {"x": (float(wrong_value), gradients)})


def test_a_system_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    failing = adapter(tmp_path, change="raise ArithmeticError('no result')")
    result = bench("nbody", *QUICK, "--systems", f"numpy,{failing}", "--json", str(file))
    assert result.exit_code == 1
    assert "FAILED: other: ArithmeticError: no result" in result.output
    assert "Traceback" not in result.output
    (w,) = json.loads(file.read_text())["workloads"]
    assert list(w["systems"]) == ["numpy"]
    timed(w["systems"]["numpy"], 4)


def test_a_process_that_dies_is_named(tmp_path: Path) -> None:
    dying = adapter(tmp_path, prepare="os.write(2, b'out of luck\\n'); os._exit(3)")
    result = bench("nbody", *QUICK, "--systems", dying)
    assert result.exit_code == 1
    assert "other: its process ended at 'start' with exit code 3: out of luck" in result.output


def test_processes_get_threads_and_nothing_that_pins_blas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("OPENBLAS_L2_SIZE", "1000")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    names = "('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS')"
    seen = adapter(tmp_path, blas=f"repr([os.environ.get(name) for name in {names}])")
    file = tmp_path / "bench.json"
    words = ("--systems", seen, "--threads", "1", "--json", str(file))
    assert bench("rosenbrock_2", *QUICK, *words).exit_code == 0
    (w,) = json.loads(file.read_text())["workloads"]
    assert w["systems"]["other"]["blas"] == "[None, None, '1', '1']"


def test_systems_that_are_not_installed_are_skipped(tmp_path: Path) -> None:
    absent = adapter(tmp_path, attributes="requires = ('no_such_distribution',)")
    result = bench("rosenbrock_2", *QUICK, "--systems", f"numpy,{absent}")
    assert result.exit_code == 0
    assert "skipped other: not installed: no_such_distribution" in result.output
    result = bench("rosenbrock_2", *QUICK, "--systems", absent)
    assert result.exit_code == 1
    assert "none of the systems is installed" in result.output


def test_lists_workloads_and_systems() -> None:
    result = bench("--list")
    assert result.exit_code == 0
    for name in (*GROUPS, *WORKLOADS, *SYSTEMS):
        assert name in result.output


def test_names_are_workloads_beginnings_or_groups() -> None:
    assert [w.name for w in chosen(["rosenbrock"])] == ["rosenbrock_2", "rosenbrock_1e6"]
    assert [w.name for w in chosen(["nbody", "mlp"])] == ["mlp", "nbody"]
    assert [w.name for w in chosen(["networks"])] == ["mlp", "attention", "layernorm_softmax"]
    assert len(chosen([])) == len(WORKLOADS)


@pytest.mark.parametrize(
    "words, message",
    [
        (["nothing"], "expected a workload (rosenbrock_2, "),
        (["mlp", "--systems", "gradd"], "expected a system (gradc, numpy, "),
        (["mlp", "--systems", " ,"], "expected names of systems"),
        (["mlp", "--systems", "absent.py"], "got 'absent.py'"),
        (["mlp", "--systems", "{broken}"], "NameError: name 'undefined' is not defined"),
        (["mlp", "--systems", "{empty}"], "expected one class of System with a name"),
        (["mlp", "--systems", "{twice},gradc"], "expected systems with different names"),
        (["--from", "{empty}"], "expected a JSON file of gradc bench"),
        (["--from", "{other}"], "with format 1"),
        (["mlp", "--threads", "0"], "0 is not in the range"),
    ],
)
def test_bad_words_give_one_message(tmp_path: Path, words: list[str], message: str) -> None:
    texts = {
        "broken": "undefined",
        "empty": "",
        "twice": "from gradc.benchmarks.systems.compiled import Gradc\nclass A(Gradc): pass\n",
        "other": "[]",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    result = bench(*(word.format(**{n: tmp_path / f"{n}.py" for n in texts}) for word in words))
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


def test_markdown_of_a_record(tmp_path: Path) -> None:
    def entry(seconds: float, cached: float | None) -> dict[str, Any]:
        return {
            "first_call": 0.25,
            "first_call_cached": cached,
            "blas": "Some BLAS",
            "threads": 2,
            "time": {"median": seconds, "low": 0.9 * seconds, "high": 1.1 * seconds},
            "rounds": [seconds],
        }

    def workload(name: str, ratio: float) -> dict[str, Any]:
        return {
            "name": name,
            "systems": {"gradc": entry(1e-3, 0.125), "jax": entry(1e-3 * ratio, None)},
            "ratios": {"jax": {"median": ratio, "low": ratio - 0.5, "high": ratio + 0.5}},
            "failures": [],
        }

    system = {"versions": "x 1.0", "note": "", "gradients": True}
    record = {
        "format": 1,
        "machine": {"processor": "P", "cpus": 4, "platform": "Linux", "python": "3.12.0"},
        "threads": 2,
        "repeats": 100,
        "rounds": 10,
        "sizes": "full",
        "load_average": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]],
        "systems": {"gradc": system, "jax": system},
        "workloads": [workload("one", 2.0), workload("two", 8.0)],
    }
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(record))
    result = bench("--from", str(file), "--markdown")
    assert result.exit_code == 0
    assert """- P, 4 CPUs, Linux, Python 3.12.0
- 2 threads for every system, 100 samples in 10 rounds, full sizes; load average \
0.10/0.20/0.30 to 0.40/0.50/0.60
- gradc: x 1.0; matrix products: Some BLAS; says it uses 2 threads
- jax: x 1.0; matrix products: Some BLAS; says it uses 2 threads

Value and gradients, microseconds: median [quartiles]:

| workload | gradc | jax |
| --- | ---: | ---: |
| one | 1000 [900, 1100] | 2000 [1800, 2200] |
| two | 1000 [900, 1100] | 8000 [7200, 8800] |

Time relative to gradc (above 1: gradc is faster), median [quartiles] of rounds:

| workload | jax |
| --- | ---: |
| one | 2.00 [1.50, 2.50] |
| two | 8.00 [7.50, 8.50] |
| geometric mean | 4.00 |

First call in a new process, seconds: nothing cached / compiled code on disk:

| workload | gradc | jax |
| --- | ---: | ---: |
| one | 0.250 / 0.125 | 0.250 |
| two | 0.250 / 0.125 | 0.250 |

Fastest other system with gradients, relative to gradc: 4.00""" == result.output.strip()
