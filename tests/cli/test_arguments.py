"""The language of `--args`: what each form gives, and one exact message for each mistake."""

from typing import Any

import numpy as np
import pytest

from gradc.cli.arguments import Arguments, describe_argument, parse_arguments
from gradc.ir.diagnostic import ParseError
from gradc.signature import Static

FILE = {"start": np.ones((2, 3)), "pair": (np.ones(2), 0.5), "layer.w": np.ones(4, np.int8)}


def described(text: str) -> str:
    args, kwargs = parse_arguments(text, FILE.__getitem__)
    words = [*map(describe_argument, args)]
    return ", ".join(words + [f"{k}={describe_argument(v)}" for k, v in kwargs.items()])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f32[128,784], f32[128,10]",
        "f64[], i1[3], ui8[0], bf16[2,2], c64[1], c128[]",
        "0.5, -3, 1e-06, 2j, (1+2j), True, None",
        "'mean', 'a, b]', \"it's\"",
        "[f32[3], [f64[]], 2]",
        "{'w': f32[3,4], 1: {'b': f32[4]}}",
        "(0, 1), (f64[2], f64[3])",
        "f64[3], axis=(0, 1), out={'a': i8[2]}",
    ],
)
def test_descriptions_are_the_language(text: str) -> None:
    assert described(text) == text


@pytest.mark.parametrize(
    ("text", "means"),
    [
        (" f32 [ 2 , 3 ] ,\n f64[ ] ,", "f32[2,3], f64[]"),
        ("@start, x=@start", "f64[2,3], x=f64[2,3]"),
        ("@pair, f32[1]", "f64[2], 0.5, f32[1]"),
        ("[@pair]", "[(f64[2], 0.5)]"),
        ("@layer.w", "i8[4]"),
        ("1+2j", "(1+2j)"),
        ("[]", "[]"),
        ("(f32[2],)", "(f32[2],)"),
        ("(f32[2])", "f32[2]"),
        ("0x10, 1_000, .5, b'x'", "16, 1000, 0.5, b'x'"),
    ],
)
def test_other_spellings(text: str, means: str) -> None:
    assert described(text) == means


def test_arrays_take_no_memory_and_literals_are_static() -> None:
    (array, number, text, scalar), _ = parse_arguments("f64[100000,100000], 0.5, 'x', f32[]", dict)
    assert type(array) is np.ndarray and array.shape == (100000, 100000)
    assert isinstance(number, Static) and number.value == 0.5
    assert isinstance(text, Static) and text.value == "x"
    assert type(scalar) is np.float32


TYPES = "i1, i8, i16, i32, i64, ui8, ui16, ui32, ui64, f16, bf16, f32, f64, c64, c128"
A_TYPE = f"expected an element type of {TYPES}"
A_SIZE = "expected a size, a whole number of at least 0"
A_KEY = "expected a key that is a Python literal, such as 'weights'"
AN_ARGUMENT = (
    "expected an argument such as f32[128,784], 0.5, 'text', [...], {'k': ...}, name=... or @NAME"
)
END = "got the end of the text"


def a_word(word: str) -> str:
    return f"got {word!r}; @{word} is a value of the file, {word!r} in quotes a string"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("f32[3", 6, f"expected ',' or ']' in the shape, {END}"),
        ("f32[3 4]", 7, "expected ',' or ']' in the shape, got '4'"),
        ("f32[-1]", 5, f"{A_SIZE}, got '-'"),
        ("f32[n]", 5, f"{A_SIZE}, got 'n'"),
        ("f32[3,]", 7, f"{A_SIZE}, got ']'"),
        ("f32", 4, f"expected '[' and a shape after f32, {END}: a scalar is f32[]"),
        ("f33[2]", 1, f"{A_TYPE}, got 'f33' (did you mean f32?)"),
        ("float32[2]", 1, f"{A_TYPE}, got 'float32' (did you mean f32?)"),
        ("bool[2]", 1, f"{A_TYPE}, got 'bool' (did you mean i1?)"),
        ("index[2]", 1, f"{A_TYPE}, got 'index'"),
        ("f32[2] f32[3]", 8, "expected ',' after 'f32[2]', got 'f32'"),
        ("f32[2],, f32[3]", 8, f"{AN_ARGUMENT}, got ','"),
        ("[f32[2]", 8, f"expected ',' or ']' after '[f32[2]', {END}"),
        ("{'w': f32[2]", 13, f"expected ',' or '}}' after \"{{'w': f32[2]\", {END}"),
        ("{'w' f32[2]}", 6, "expected ':' after the key 'w', got 'f32'"),
        ("{w: f32[2]}", 2, f"{AN_ARGUMENT}, {a_word('w')}"),
        ("{f32[2]: 1}", 2, f"{A_KEY}, got f32[2]"),
        ("{", 2, f"{A_KEY}, {END}"),
        ("mean", 1, f"{AN_ARGUMENT}, {a_word('mean')}"),
        ("@", 1, f"{AN_ARGUMENT}, got '@'"),
        ("@pair[0]", 6, "expected ',' after '@pair', got '['"),
        ("'text", 1, f'{AN_ARGUMENT}, got "\'"'),
        ("x=1, f32[2]", 6, "expected name=... after a keyword argument, got a positional one"),
        ("x=1, x=2", 6, "the argument x is given twice"),
        ("012", 1, "expected a Python literal, got 012"),
        (f"f64[{10**10},{10**10}]", 1, f"expected a shape that NumPy can hold, got {[10**10] * 2}"),
    ],
)
def test_mistakes(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        Arguments(text)
    assert (caught.value.message, caught.value.column) == (message, column)


def test_a_mistake_is_shown_in_its_line() -> None:
    with pytest.raises(ParseError) as caught:
        Arguments("f32[2],\n f33[3]")
    assert str(caught.value).startswith("--args:2:2: expected an element type")
    assert str(caught.value).endswith("\n   f33[3]\n   ^")


@pytest.mark.parametrize("value", [object(), "x" * 100, np.array(["text"])])
def test_descriptions_of_other_values_are_short(value: Any) -> None:
    assert len(describe_argument(value)) < 80
