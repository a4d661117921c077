"""Calls that depend on the outside world are refused while tracing, whatever the way to them."""

import glob
import json
import os
import pathlib
import pickle
import platform
import pprint
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
import uuid
from os import listdir
from time import time as now

import numpy as np
import pytest

import gradc

X = np.array([1.0, 2.0])
PLACE = pathlib.Path("nowhere")

CALLS = [
    ("time.time", lambda: time.time()),
    ("time.time", lambda: now()),
    ("time.strftime", lambda: time.strftime("%Y")),
    ("time.localtime", lambda: time.localtime()),
    ("time.ctime", lambda: time.ctime()),
    ("time.perf_counter_ns", lambda: time.perf_counter_ns()),
    ("time.clock_gettime", lambda: time.clock_gettime(0)),
    ("time.sleep", lambda: time.sleep(0)),
    ("uuid.uuid4", lambda: uuid.uuid4()),
    ("uuid.uuid1", lambda: uuid.uuid1()),
    ("secrets.token_hex", lambda: secrets.token_hex(4)),
    ("secrets.randbelow", lambda: secrets.randbelow(4)),
    ("os.system", lambda: os.system("true")),
    ("os.listdir", lambda: os.listdir(".")),
    ("os.listdir", lambda: listdir(".")),
    ("os.getcwd", lambda: os.getcwd()),
    ("os.getpid", lambda: os.getpid()),
    ("os.urandom", lambda: os.urandom(4)),
    ("os.walk", lambda: list(os.walk("nowhere"))),
    ("os.remove", lambda: os.remove("nowhere")),
    ("os.makedirs", lambda: os.makedirs("nowhere")),
    ("os.path.exists", lambda: os.path.exists("nowhere")),
    ("os.path.getsize", lambda: os.path.getsize("nowhere")),
    ("os.path.abspath", lambda: os.path.abspath("nowhere")),
    ("np.load", lambda: np.load("nowhere.npy")),
    ("np.loadtxt", lambda: np.loadtxt("nowhere.txt")),
    ("np.genfromtxt", lambda: np.genfromtxt("nowhere.txt")),
    ("np.fromfile", lambda: np.fromfile("nowhere")),
    ("np.memmap", lambda: np.memmap("nowhere")),
    ("np.save", lambda: np.save("nowhere", X)),
    ("np.savez", lambda: np.savez("nowhere", X)),
    ("np.savez_compressed", lambda: np.savez_compressed("nowhere", X)),
    ("np.savetxt", lambda: np.savetxt("nowhere", X)),
    ("pickle.load", lambda: pickle.load(None)),
    ("pickle.dump", lambda: pickle.dump(1, None)),
    ("json.load", lambda: json.load(None)),
    ("Path.unlink", lambda: PLACE.unlink()),
    ("Path.exists", lambda: PLACE.exists()),
    ("Path.read_text", lambda: PLACE.read_text()),
    ("Path.exists", lambda: pathlib.Path.exists(PLACE)),
    ("Path.cwd", lambda: pathlib.Path.cwd()),
    ("Path.iterdir", lambda: list(PLACE.iterdir())),
    ("subprocess.run", lambda: subprocess.run(["true"])),
    ("subprocess.Popen", lambda: subprocess.Popen(["true"])),
    ("subprocess.check_output", lambda: subprocess.check_output(["true"])),
    ("shutil.rmtree", lambda: shutil.rmtree("nowhere")),
    ("shutil.which", lambda: shutil.which("true")),
    ("socket.socket", lambda: socket.socket()),
    ("socket.gethostname", lambda: socket.gethostname()),
    ("tempfile.mkdtemp", lambda: tempfile.mkdtemp()),
    ("glob.glob", lambda: glob.glob("*")),
    ("urllib.request.urlopen", lambda: urllib.request.urlopen("file:nowhere")),
    ("platform.node", lambda: platform.node()),
    ("pprint.pprint", lambda: pprint.pprint(1)),
    ("traceback.print_stack", lambda: traceback.print_stack()),
]


@pytest.mark.parametrize("name, impure", CALLS, ids=[name for name, _ in CALLS])
def test_a_call_to_the_outside_world_is_refused_with_its_line(name, impure):
    def f(x):
        impure()
        return x * 2

    with pytest.raises(gradc.TracingError) as caught:
        gradc.compile(f)(X)
    text = str(caught.value)
    assert text.startswith(f"{name} was called in a traced function: it would run once")
    assert f"at {__file__}:{impure.__code__.co_firstlineno}" in text


def test_the_way_out_of_an_impure_call():
    with pytest.raises(gradc.TracingError, match="Pass the time as an argument"):
        gradc.compile(lambda x: x * time.localtime().tm_year)(X)
    with gradc.disable_compile():
        assert gradc.compile(lambda x: x * time.localtime().tm_year)(X).shape == (2,)


def test_what_only_computes_is_no_outside_world():
    place = pathlib.PurePath("a") / "b.txt"

    def f(x):
        names = (
            os.path.join("a", "b"),
            os.path.splitext("a.b")[1],
            os.fspath("a"),
            str(pathlib.Path("a", "b").with_suffix(".c").parent),
            place.stem,
            json.dumps({"a": json.loads("1")}),
            str(uuid.UUID(int=1)),
            str(uuid.uuid5(uuid.NAMESPACE_DNS, "a")),
            pprint.pformat([1]),
            len(pickle.loads(pickle.dumps([1]))),
            sys.intern("a"),
            secrets.compare_digest("a", "a"),
        )
        return x * 2, names

    values, names = gradc.compile(f)(X)
    np.testing.assert_array_equal(values, 2 * X)
    assert names == f(X)[1]


def test_environment_variables_are_guarded(monkeypatch):
    def f(x):
        factor = float(os.environ["FACTOR"]) if "FACTOR" in os.environ else 1.0
        return x * factor + float(os.getenv("SHIFT", "0")) * len(os.environ.get("WORD", ""))

    compiled = gradc.compile(f)
    monkeypatch.delenv("FACTOR", raising=False)
    np.testing.assert_array_equal(compiled(X), X)
    monkeypatch.setenv("FACTOR", "2")
    np.testing.assert_array_equal(compiled(X), f(X))
    monkeypatch.setenv("FACTOR", "3")
    np.testing.assert_array_equal(compiled(X), f(X))
    monkeypatch.setenv("SHIFT", "5")
    monkeypatch.setenv("WORD", "ab")
    np.testing.assert_array_equal(compiled(X), f(X))
