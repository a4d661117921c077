"""The cache of machine code on disk: hits, damage, owners, unusable folders, processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings

import pytest

from gradc.runtime import cache

CODE = b"object code" * 50


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "kept"
    monkeypatch.setenv("GRADC_CACHE_DIR", str(place))
    monkeypatch.setattr(cache, "_warned", False)
    return place


def entry(folder):
    (found,) = folder.glob("*.o")
    return found


def test_what_is_stored_is_loaded(folder):
    name = cache.key("text", "target")
    assert cache.load(name) is None
    cache.store(name, CODE)
    assert cache.load(name) == CODE
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [p.name for p in folder.iterdir()] == [f"{name}.o"]


def test_the_key_follows_text_and_target():
    assert len({cache.key("a", "b"), cache.key("a", "c"), cache.key("c", "b")}) == 3
    assert cache.key("a", "b") == cache.key("a", "b")


def damage(content):
    yield "empty", b""
    yield "cut", content[:-1]
    yield "cut in the header", content[:10]
    yield "longer", content + b"x"
    yield "one bit", content[:100] + bytes([content[100] ^ 1]) + content[101:]
    yield "other format", b"X" + content[1:]


def test_damaged_entries_are_ignored_and_replaced(folder):
    name = cache.key("text", "target")
    cache.store(name, CODE)
    whole = entry(folder).read_bytes()
    for what, content in damage(whole):
        entry(folder).write_bytes(content)
        assert cache.load(name) is None, what
        cache.store(name, CODE)
        assert cache.load(name) == CODE, what


def test_an_entry_under_another_name_is_not_taken(folder):
    first, second = cache.key("text", "target"), cache.key("other text", "target")
    cache.store(first, CODE)
    os.rename(entry(folder), folder / f"{second}.o")
    assert cache.load(second) is None


def test_entries_that_others_could_write_are_not_loaded(folder):
    name = cache.key("text", "target")
    cache.store(name, CODE)
    entry(folder).chmod(0o666)
    assert cache.load(name) is None
    entry(folder).chmod(0o600)
    assert cache.load(name) == CODE
    target = folder / "elsewhere"
    os.rename(entry(folder), target)
    os.symlink(target, folder / f"{name}.o")
    assert cache.load(name) is None


def test_an_entry_of_another_user_is_not_loaded(folder, monkeypatch):
    name = cache.key("text", "target")
    cache.store(name, CODE)
    monkeypatch.setattr(os, "getuid", lambda: 123456)
    assert cache.load(name) is None
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        cache.store(name, CODE)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), PermissionError("no")])
def test_a_full_or_read_only_folder_warns_once(folder, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(cache.tempfile, "mkstemp", fail)
    with pytest.warns(RuntimeWarning, match="cannot keep compiled code") as caught:
        cache.store("a" * 64, CODE)
        cache.store("b" * 64, CODE)
    assert len(caught) == 1


def test_a_failed_write_leaves_nothing(folder, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", fail)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.store("a" * 64, CODE)
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_a_file_warns(folder):
    folder.write_text("in the way")
    with pytest.warns(RuntimeWarning, match="cannot keep compiled code"):
        cache.store("a" * 64, CODE)
    assert cache.load("a" * 64) is None


def test_the_oldest_entries_go_when_the_folder_is_full(folder, monkeypatch):
    names = [cache.key(str(k), "target") for k in range(4)]
    for k, name in enumerate(names[:3]):
        cache.store(name, CODE)
        os.utime(folder / f"{name}.o", (k, k))
    assert cache.load(names[0]) == CODE  # used just now
    size = (folder / f"{names[0]}.o").stat().st_size
    monkeypatch.setattr(cache, "MOST_BYTES", 2 * size)
    cache.store(names[3], CODE)
    assert [cache.load(n) is not None for n in names] == [True, False, False, True]


def test_trimming_leaves_the_files_of_others_alone(folder, monkeypatch, tmp_path):
    """A folder that holds more than the cache: only the cache's own files count and go."""
    name = cache.key("text", "target")
    cache.store(name, CODE)
    others = ["thesis.txt", "a.o", ".new-notes", ".gradc-new-notes.txt", "f" * 63 + ".o",
              "f" * 64 + ".o.bak", "F" * 64 + ".o"]  # fmt: skip
    for other in others:
        (folder / other).write_bytes(b"precious" * 1000)
        os.utime(folder / other, (1, 1))
    target = tmp_path / "target.o"
    target.write_bytes(b"precious")
    os.symlink(target, folder / ("a" * 64 + ".o"))
    (folder / ("b" * 64 + ".o")).mkdir()
    monkeypatch.setattr(cache, "MOST_BYTES", 0)
    cache.store(cache.key("other text", "target"), CODE)
    kept = {p.name for p in folder.iterdir()}
    assert kept == {*others, "a" * 64 + ".o", "b" * 64 + ".o"}
    assert target.read_bytes() == b"precious"


def test_other_files_do_not_count_towards_the_limit(folder, monkeypatch):
    first, second = cache.key("text", "target"), cache.key("other text", "target")
    cache.store(first, CODE)
    (folder / "large").write_bytes(b"x" * 100_000)
    monkeypatch.setattr(cache, "MOST_BYTES", 50_000)
    cache.store(second, CODE)
    assert cache.load(first) == cache.load(second) == CODE


def test_what_a_dead_process_left_is_removed(folder):
    name = cache.key("text", "target")
    cache.store(name, CODE)
    old, new = folder / ".gradc-new-abcd_123", folder / ".gradc-new-abcd_124"
    for place in (old, new):
        place.write_bytes(b"half")
    os.utime(old, (1, 1))
    cache.store(name, CODE)
    assert not old.exists() and new.exists()


def test_a_pipe_in_place_of_an_entry_does_not_block(folder):
    name = cache.key("text", "target")
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / f"{name}.o", 0o600)
    assert cache.load(name) is None
    cache.store(name, CODE)
    assert cache.load(name) == CODE


def test_a_folder_that_others_may_write_is_not_read(folder):
    name = cache.key("text", "target")
    cache.store(name, CODE)
    folder.chmod(0o777)
    assert cache.load(name) is None
    folder.chmod(0o700)
    assert cache.load(name) == CODE


def test_a_system_without_user_numbers(folder, monkeypatch):
    monkeypatch.delattr(os, "getuid")
    name = cache.key("text", "target")
    cache.store(name, CODE)
    entry(folder).chmod(0o666)  # what Windows says of any file that can be written
    assert cache.load(name) == CODE


@pytest.mark.parametrize(("platform", "wanted"), [("darwin", "Library/Caches/gradc"),
                                                  ("linux", ".cache/gradc")])  # fmt: skip
def test_the_default_folder_is_the_users(monkeypatch, tmp_path, platform, wanted):
    for name in ("GRADC_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(cache.sys, "platform", platform)
    assert cache.folder() == tmp_path / wanted
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    if platform == "linux":
        assert str(cache.folder()) == "/elsewhere/gradc"


PROGRAM = """
import numpy as np
from native_harness import native, function
from test_emit_llvm import elementwise
from gradc.ir.types import f64
from gradc.runtime.compile import native_compilations
n = 1000
arrays = [((n,), f64)] * 2
run = native(function(arrays, elementwise(lambda b, x: b.arith_mulf(x, x), n)), arrays, 1)
x = np.arange(float(n))
assert np.array_equal(run(x)[0], x * x)
print(native_compilations())
"""


def start(folder):
    place = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join([place, *sys.path[1:]])
    return subprocess.Popen(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path, "GRADC_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return int(out)


def test_a_second_process_compiles_nothing(folder):
    assert finish(start(folder)) > 0
    assert finish(start(folder)) == 0


def test_processes_at_once(folder):
    processes = [start(folder) for _ in range(4)]
    assert all(finish(process) >= 0 for process in processes)
    assert not list(folder.glob(".gradc-new-*"))
    assert finish(start(folder)) == 0


def test_a_cache_that_cannot_be_used_costs_only_time(folder):
    folder.write_text("in the way")
    process = start(folder)
    out, errors = process.communicate(timeout=120)
    assert process.returncode != 0 and "cannot keep compiled code" in errors  # -W error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cache.store("a" * 64, CODE)
