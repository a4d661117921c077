"""What cannot be traced is an error with the user's file and line, and the way out."""

import datetime
import logging
import random
import sys
import time
import warnings

import numpy as np
import pytest

import gradc

X = np.array([1.0, 2.0])
COUNTER = 0
SEEN = []
GENERATOR = np.random.default_rng(0)
NOTES = {"last": None}
NUMBERS = iter([2.0, 3.0])


class Holder:
    pass


HOLDER = Holder()


def stores_global(x):
    global COUNTER
    COUNTER = COUNTER + 1
    return x


def appends(x):
    SEEN.append(x)
    return x


def stores_item(x):
    NOTES["last"] = x
    return x


def stores_attribute(x):
    HOLDER.value = x
    return x


def augments_attribute(x):
    HOLDER.count += 1
    return x


def deletes_item(x):
    del NOTES["last"]
    return x


def updates(x):
    NOTES.update(last=x)
    return x


def sets_attribute(x):
    setattr(HOLDER, "value", x)  # noqa: B010
    return x


def advances(x):
    return x * next(NUMBERS)


def loops_over_an_iterator(x):
    for number in NUMBERS:
        x = x * number
    return x


def writes(x):
    sys.stdout.write("x")
    return x


def draws(x):
    return x + np.random.rand(2)


def draws_generator(x):
    return x + GENERATOR.normal(size=2)


def draws_random(x):
    return x * random.random()


def reads_clock(x):
    return x * time.time()


def reads_date(x):
    return x * datetime.datetime.now().year


def prints(x):
    print("x is", x)
    return x


def warns(x):
    warnings.warn("careful", stacklevel=2)
    return x


def logs(x):
    logging.getLogger("here").info("x")
    return x


def logs_module(x):
    logging.warning("x")
    return x


def opens(x):
    with open(__file__) as file:
        return x * len(file.read())


def loads(x):
    return x + np.load("data.npy")


def formats(x):
    return {f"value {x.sum():.2f}": x}


def branches(x):
    if x.sum() > 0:
        return x
    return -x


def loops(x):
    while x.sum() > 1:
        x = x / 2
    return x


def chooses(x):
    return x if x[0] > 0 else -x


def combines(x):
    return np.where(x[0] > 0 and x[1] > 0, x, 0)


def either(x):
    return np.where(x[0] > 0 or x[1] > 0, x, 0)


def negates(x):
    return np.where(not x[0], x, 0)


def asserts(x):
    assert x[0] > 0
    return x


def filters(x):
    return sum(v for v in x if v > 0)


def guards(x):
    match 1:
        case 1 if x[0] > 0:
            return x
    return -x


def chained(x):
    return np.where(0 < x[0] < 1, x, 0)


def stores_array(x):
    x[0] = 1.0
    return x


@pytest.mark.parametrize(
    "function, message, line",
    [
        (stores_global, "assignment to the global variable 'COUNTER'.*assign it outside", 2),
        (appends, "list.append changes a list that outlives the call.*copy", 1),
        (stores_item, "a store to an item of a dict that outlives the call", 1),
        (deletes_item, "a store to an item of a dict that outlives the call", 1),
        (stores_attribute, "a store to the attribute 'value' of a Holder that outlives", 1),
        (augments_attribute, "a store to the attribute 'count' of a Holder that outlives", 1),
        (updates, "dict.update changes a dict that outlives the call", 1),
        (sets_attribute, "setattr changes a Holder that outlives", 1),
        (advances, "next advances a list_iterator that outlives the call", 1),
        (loops_over_an_iterator, "a loop advances a list_iterator that outlives the call", 1),
        (writes, "write was called in a traced function.*outside the function", 1),
        (draws, "np.random.rand was called.*pass them as an argument", 1),
        (draws_generator, "Generator.normal was called.*pass them as an argument", 1),
        (draws_random, "random.random was called.*pass them as an argument", 1),
        (reads_clock, "time.time was called.*Pass the time as an argument", 1),
        (reads_date, "datetime.now was called.*Pass the time as an argument", 1),
        (prints, r"print was called.*gradc.disable_compile\(\)", 1),
        (warns, r"warnings.warn was called.*gradc.disable_compile\(\)", 1),
        (logs, r"logging.info was called.*gradc.disable_compile\(\)", 1),
        (logs_module, r"logging.warning was called.*gradc.disable_compile\(\)", 1),
        (opens, "open was called.*contents as an argument", 1),
        (loads, "np.load was called.*arguments", 1),
        (formats, "a traced value written into a string.*format it outside", 1),
        (branches, r"`if` on a traced value.*np.where\(condition, a, b\)", 1),
        (loops, "`while` on a traced value.*np.where", 1),
        (chooses, "a conditional expression on a traced value.*np.where", 1),
        (combines, "`and` on a traced value.*np.logical_and", 1),
        (either, "`or` on a traced value.*np.logical_or", 1),
        (negates, "`not` on a traced value.*np.logical_not", 1),
        (asserts, "`assert` on a traced value", 1),
        (filters, "`if` of a comprehension on a traced value", 1),
        (guards, "the guard of `case` on a traced value", 2),
        (chained, "traced condition.*np.where", 1),
        (stores_array, "cannot store into a traced array.*np.where", 1),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_the_error_names_the_line_and_the_way_out(monkeypatch, function, message, line):
    monkeypatch.setitem(globals(), "COUNTER", 0)
    monkeypatch.setitem(globals(), "SEEN", [])
    monkeypatch.setitem(globals(), "NOTES", {"last": None})
    monkeypatch.setitem(globals(), "HOLDER", Holder())
    HOLDER.count = 0
    with pytest.raises(gradc.TracingError, match=message) as caught:
        gradc.compile(function)(X)
    assert f"at {__file__}:{function.__code__.co_firstlineno + line}" in str(caught.value)
    assert (COUNTER, SEEN, NOTES, vars(HOLDER)) == (0, [], {"last": None}, {"count": 0})


@pytest.mark.parametrize("function", [prints, warns, logs, logs_module, formats])
def test_with_compiling_disabled_the_error_does_not_say_to_disable_it(function):
    with gradc.disable_compile(), pytest.raises(gradc.TracingError) as caught:
        gradc.jvp(function, (X,), (X,))
    assert "disable_compile" not in str(caught.value)
    assert "transforms such as gradc.grad trace it as ever" in str(caught.value)


def test_a_nonlocal_store_of_the_traced_function():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x

    with pytest.raises(gradc.TracingError, match="nonlocal variable 'count'"):
        gradc.compile(f)(X)
    assert count == 0


def test_stores_to_what_the_call_itself_makes_are_fine():
    def f(x):
        box, items, found = Holder(), [], {}
        box.value = x * 2
        items.append(box.value)
        items += [x]
        found["sum"] = sum(items)
        found.update(twice=found["sum"] * 2)
        total = 0

        def add(v):
            nonlocal total
            total += v

        add(box.value)
        return found, total

    found, total = gradc.compile(f)(X)
    np.testing.assert_allclose(found["sum"], 3 * X)
    np.testing.assert_allclose(found["twice"], 6 * X)
    np.testing.assert_allclose(total, 2 * X)


def test_a_change_to_an_argument_container_is_refused():
    def f(params):
        params["w"] = params["w"] * 2
        return params["w"]

    given = {"w": X}
    with pytest.raises(gradc.TracingError, match="an item of a dict that outlives"):
        gradc.compile(f)(given)
    assert given["w"] is X


def test_a_change_behind_the_operators_back_is_found():
    def f(params):
        dict.pop(params, "w")
        return params["b"]

    with pytest.raises(gradc.TracingError, match="was changed while tracing"):
        gradc.compile(f)({"w": X, "b": X})


def test_an_escaped_tracer():

    class Quiet:
        __slots__ = ("value",)

    quiet = Quiet()
    setter = Quiet.value.__set__
    gradc.compile(lambda x: (setter(quiet, x), x)[1])(X)
    for use in (lambda t: t + 1, lambda t: gradc.compile(lambda x: x + t)(X), gradc.grad(np.sum)):
        with pytest.raises(gradc.TracingError, match="[Rr]eturn it"):
            use(quiet.value)


def test_an_object_result_that_holds_tracers():
    def f(x):
        box = Holder()
        box.value = x
        return box

    with pytest.raises(gradc.TracingError, match="result is a Holder that holds traced arrays"):
        gradc.compile(f)(X)


def test_the_function_works_again_after_an_error():
    flag = True

    def f(x):
        if flag:
            print(x)
        return x * 2

    compiled = gradc.compile(f)
    with pytest.raises(gradc.TracingError):
        compiled(X)
    flag = False
    np.testing.assert_array_equal(compiled(X), 2 * X)


def test_user_exceptions_pass_through():
    def f(x):
        if x.shape[0] != 3:
            raise ValueError("expected three")
        return x

    with pytest.raises(ValueError, match="expected three"):
        gradc.compile(f)(X)
