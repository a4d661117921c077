"""What the front end remembers of code objects goes when they go."""

import gc
import linecache

import numpy as np

import gradc
from gradc.frontend import location, source, staging

X = np.array([1.0, 2.0])


def sizes():
    gc.collect()
    return len(staging._CODES), len(staging._STAGED), len(location._IS_USER)


def made(number):
    """A function of its own code, with source."""
    name = f"<made {number}>"
    text = f"def f(x):\n    y = x * {number}\n    return y + (lambda v: v)(x)\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def test_rewritten_code_and_locations_live_as_long_as_the_code():
    from gradc.resolve import _engines

    gradc.compile(made(100))(X)  # code that stays: gradc's own
    _engines.clear()
    before = sizes()
    for number in range(20):
        compiled = gradc.compile(made(number))
        np.testing.assert_array_equal(compiled(X), X * number + X)
    del compiled
    _engines.clear()
    after = sizes()
    for name, was, now in zip(("rewritten", "staged", "locations"), before, after):
        assert now <= was + 3, (name, was, now)


def test_few_parsed_files_are_kept():
    for number in range(source._MOST_FILES + 10):
        function = made(1000 + number)
        assert source.locate(function.__code__) is not None
    assert len(source._FILES) == source._MOST_FILES


def test_a_file_parsed_long_ago_is_parsed_again():
    first = made(5000)
    assert source.locate(first.__code__) is not None
    source._FILES.clear()
    np.testing.assert_array_equal(gradc.compile(first)(X), X * 5000 + X)
