"""The rewrite keeps Python's meaning: staged functions give what the originals give."""

import functools
import linecache
import traceback
from contextlib import contextmanager

import numpy as np
import pytest

from gradc.frontend.control import Operators
from gradc.frontend.source import mangle
from gradc.frontend.staging import is_staged, staged

SCALE = 3.0


def both(function, *args, **kwargs):
    """The results of the original and of the staged function."""
    new = staged(function, Operators)
    assert new is not None and new is not function and is_staged(new)
    return function(*args, **kwargs), new(*args, **kwargs)


def arguments(a, /, b, c=3, *rest, d, e=5, **more):
    return a, b, c, rest, d, e, more


def control_flow(n):
    log = []
    for i in range(n):
        if i == 1:
            continue
        elif i == 5:
            break
        log.append(i)
    else:
        log.append("for-else")
    while n > 0:
        n -= 1
        if n == 3:
            break
    else:
        log.append("while-else")
    try:
        log.append(1 / (n - 3))
    except ZeroDivisionError as error:
        log.append(type(error).__name__)
    else:
        log.append("no error")
    finally:
        log.append("finally")
    return log


def conditions(x, y):
    return [
        x and y, x or y, not x, x and y and 1, x or y or 2, (x if y else "no"),
        0 < x < 5, [q for q in (x, y, 1) if q], {q: q for q in (x, y) if q and q > 1},
    ]  # fmt: skip


def short_circuit(log):
    def note(value, name):
        log.append(name)
        return value

    note(0, "a") and note(1, "b")
    note(1, "c") or note(1, "d")
    return log


def stores():
    class Box:
        pass

    box, table = Box(), {"k": [1, 2, 3]}
    box.value, table["new"] = 1, 2
    box.value += 5
    table["k"][0] += 10
    table["k"][1:] = [7, 8, 9]
    del table["new"]
    box.other = 1
    del box.other
    (first, *rest), last = [1, 2, 3], 4
    return vars(box), table, first, rest, last


def walrus(values):
    if (n := len(values)) > 2:
        found = [m for v in values if (m := v * 2) > 2]
        return n, found, m
    return n


def nested(x):
    total = 0

    def add(y, *, factor=SCALE):
        nonlocal total
        total += y * factor
        return total

    add(x)
    add(x, factor=2)
    compose = lambda f, g: lambda v: f(g(v))  # noqa: E731
    return total, compose(lambda v: v + 1, lambda v: v * x)(10)


def matching(value):
    match value:
        case [a, *_] if a > 1:
            return "list", a
        case {"k": k, **rest}:
            return "dict", k, rest
        case int() | float() as number:
            return "number", number
        case _:
            return "other"


def strings(x):
    name = "x"
    return f"{name}={x:>6.2f}{'!' if x else ''} {x!r} {SCALE}"


@contextmanager
def noted(log):
    log.append("enter")
    yield log
    log.append("exit")


def with_block():
    with noted([]) as log, noted(log):
        log.append("body")
    return log


def generator(n):
    for k in range(n):
        got = yield k * SCALE
        if got:
            yield got
    return


def star_calls():
    args, more = (1, 2), {"d": 4}
    return arguments(*args, 3, *args, **more, e=0)


def local_import():
    import math as m
    from math import floor

    return m.pi, floor(2.5)


def annotated():
    x: int = 3
    y: "undefined_name"  # noqa: F821, UP037
    y = x
    return y


def globals_of_builtins(values):
    return sorted(values, key=lambda v: -v), max(values), list(map(str, values)), locals()["values"]


CASES = [
    (arguments, (1, 2), {"d": 4}),
    (arguments, (1, 2, 3, 4, 5), {"d": 4, "z": 1}),
    (control_flow, (7,), {}),
    (control_flow, (3,), {}),
    (conditions, (2, 0), {}),
    (conditions, ([], "s" and 3), {}),
    (stores, (), {}),
    (walrus, ([1, 2, 3],), {}),
    (walrus, ([1],), {}),
    (nested, (4,), {}),
    (matching, ([3, 4],), {}),
    (matching, ({"k": 1, "z": 2},), {}),
    (matching, (2.5,), {}),
    (matching, (None,), {}),
    (strings, (2.345,), {}),
    (with_block, (), {}),
    (star_calls, (), {}),
    (local_import, (), {}),
    (annotated, (), {}),
    (globals_of_builtins, ([3, 1, 2],), {}),
]


@pytest.mark.parametrize("function, args, kwargs", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_staged_functions_behave_as_the_originals(function, args, kwargs):
    if function is conditions and args[0] == []:
        args = (3, 2)
    expected, found = both(function, *args, **kwargs)
    assert found == expected


def test_short_circuit_evaluates_only_what_python_does():
    assert both(short_circuit, [])[1] == ["a", "c"] * 2
    assert staged(short_circuit, Operators)([]) == ["a", "c"]


def test_generators_stay_generators():
    found = staged(generator, Operators)(3)
    assert next(found) == 0
    assert found.send("sent") == "sent"
    assert list(found) == [3.0, 6.0]


def test_closure_cells_are_shared():
    count = 0

    def bump():
        nonlocal count
        count += 1
        return count

    new = staged(bump, Operators)
    assert (bump(), new(), bump(), count) == (1, 2, 3, 3)


def test_lambdas_on_one_line_are_told_apart():
    pair = (lambda x: x + 1), (lambda x: x * 10), (lambda x: (lambda y: y - x)(5))
    assert [staged(f, Operators)(2) for f in pair] == [3, 20, 3]


def test_lambdas_alike_in_arguments_across_several_lines():
    table = {
        "a": lambda x: x + 1, "b": lambda x: x + 2,
        "c": lambda x: [
            x,
            (lambda x: x * 2)(x),
        ],
    }  # fmt: skip
    assert [staged(f, Operators)(1) for f in table.values()] == [2, 3, [1, 2]]


class Base:
    def __init__(self, x):
        self.__x = x

    def read(self):
        return self.__x


class Derived(Base):
    def __init__(self, x, y):
        super().__init__(x)
        self.__y = y

    def read(self):
        return super().read(), self.__y, __class__.__name__

    def __hidden(self):
        return self.__y * 2

    def call_hidden(self):
        return [self.__hidden() for _ in range(2)]


def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


class Counter:
    made = 0

    def __init__(self):
        Counter.made += 1
        self.number = Counter.made

    def another(self):
        return Counter().number


def test_functions_and_methods_that_use_their_own_name():
    assert staged(factorial, Operators)(5) == 120
    assert staged(Counter.another, Operators)(Counter()) == 2

    def local(n):
        return [] if n == 0 else [n, *local(n - 1)]

    class Local:
        def copy(self):
            return Local

    assert staged(local, Operators)(3) == [3, 2, 1]
    assert staged(Local.copy, Operators)(Local()) is Local


def test_super_and_private_names():
    made = object.__new__(Derived)
    staged(Derived.__init__, Operators)(made, 1, 2)
    assert vars(made) == {"_Base__x": 1, "_Derived__y": 2}
    assert staged(Derived.read, Operators)(made) == made.read() == (1, 2, "Derived")
    assert staged(Derived.call_hidden, Operators)(made) == [4, 4]


@pytest.mark.parametrize(
    "name, mangled",
    [("__x", "_C__x"), ("__x__", "__x__"), ("_x", "_x"), ("x", "x"), ("__a.b", "__a.b")],
)
def test_mangle(name, mangled):
    assert mangle(name, "C") == mangled
    assert mangle(name, "_C") == mangled
    assert mangle(name, "__") == name


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + 1

    return wrapper


@decorated
@decorated
def twice_decorated(x):
    return x * 10


def test_decorated_functions_are_found_by_their_first_decorator():
    inner = twice_decorated.__wrapped__.__wrapped__
    assert staged(inner, Operators)(2) == 20
    assert staged(twice_decorated, Operators)(2) == 22


def fails(x):
    y = x + 1
    return y + undefined_variable  # noqa: F821


def test_tracebacks_show_the_users_file_and_line():
    with pytest.raises(NameError, match="undefined_variable") as caught:
        staged(fails, Operators)(1)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__
    assert last.lineno == fails.__code__.co_firstlineno + 2
    assert last.name == "fails"


def test_without_source_there_is_no_rewrite():
    scope = {}
    exec("def f(x):\n    return x + 1", scope)
    assert staged(scope["f"], Operators) is None


def test_staged_functions_are_not_staged_again():
    new = staged(nested, Operators)
    assert staged(new, Operators) is new


def test_defaults_names_and_documentation_are_kept():
    new = staged(arguments, Operators)
    assert new.__defaults__ == (3,) and new.__kwdefaults__ == {"e": 5}
    assert (new.__name__, new.__qualname__, new.__module__) == (
        "arguments", "arguments", __name__,
    )  # fmt: skip
    assert new.__code__.co_qualname == arguments.__code__.co_qualname


def test_property_dataclass_and_numpy_code():
    def statistics(values):
        a = np.asarray(values, dtype=float)
        return {"mean": a.mean().item(), "top": [float(v) for v in a if v > a.mean()]}

    expected, found = both(statistics, [1, 2, 6])
    assert expected == found == {"mean": 3.0, "top": [6.0]}


@pytest.mark.parametrize(
    "before, after",
    [("x + 1", "x + 2"), ("x + 1", "x + 1.0"), ("x + 1", "x - 1"), ("f(x)", "g(x)")],
)
def test_an_edited_file_is_not_rewritten(tmp_path, before, after):
    file = tmp_path / "edited.py"
    text = "def h(x):\n    return [" + before + " for _ in range(2)]\n"
    file.write_text(text)
    scope = {}
    exec(compile(text, str(file), "exec"), scope)
    assert staged(scope["h"], Operators) is not None
    later = {}
    exec(compile(text, str(file), "exec"), later)
    file.write_text(text.replace(before, after))
    linecache.checkcache(str(file))
    assert staged(later["h"], Operators) is None
