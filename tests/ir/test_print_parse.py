"""print -> parse -> print is a fixed point and loses nothing; other readers accept the text."""

import io
import math
import struct
import subprocess

import numpy as np
import pytest
from hypothesis import given
from ir_strategies import attributes, locations, modules, same
from mlir_readers import assert_readable, mlir_opt, read_with_mlir_opt, read_with_xdsl
from xdsl.printer import Printer

from gradc.ir.core import Location, Operation, Region, TypedNumber, UnregisteredOperation
from gradc.ir.diagnostic import ParseError
from gradc.ir.ops.func import ModuleOp
from gradc.ir.parser import parse_module, parse_operation
from gradc.ir.printer import print_module, print_op_line, print_pretty
from gradc.ir.types import Dim, bf16, f16, f32
from gradc.ir.verify import verify


def holder(value: object) -> Operation:
    return UnregisteredOperation("test.holder", (), (), {"value": value})


@given(attributes)
def test_attributes_survive(value: object) -> None:
    text = print_module(holder(value))
    again = parse_operation(text, allow_unregistered=True)
    assert same(value, again.attributes["value"]), text
    assert print_module(again) == text


def test_any_text_is_a_key() -> None:
    value = {"a b": 1, 'é\n"\\': None, "": 2}
    again = parse_operation(print_module(holder(value)), allow_unregistered=True)
    assert same(value, again.attributes["value"])


@given(attributes)
def test_xdsl_reads_attributes(value: object) -> None:
    read_with_xdsl(print_module(holder(value)))


@pytest.mark.skipif(mlir_opt() is None, reason="mlir-opt is not installed")
def test_mlir_opt_reads_attributes() -> None:
    texts: list[str] = []

    @given(attributes)
    def collect(value: object) -> None:
        texts.append(print_module(holder(value)))

    collect()
    assert len(texts) > 20
    assert read_with_mlir_opt(*texts).count("test.holder") == len(texts)


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


ODD_VALUES = [
    *(math.nan, -math.nan, math.inf, -math.inf, -0.0, 5e-324),
    struct.unpack("<d", b"\x01\x02\x03\x04\x05\x06\xf8\x7f")[0],
    complex(math.nan, -math.inf),
    complex(-0.0, 1e300),
    (1 << 64) - 1,
    TypedNumber(math.inf, f32),
    TypedNumber(math.nan, bf16),
    TypedNumber(-math.inf, f16),
    frozen(np.array([math.nan, 1.5, -0.0, -math.inf])),
    frozen(np.array([[math.inf]], np.float16)),
    frozen(np.array([1, 2 + 3j], np.complex64)),
    frozen(np.full(150, math.nan, np.float32)),
    frozen(np.linspace(0, 1, 150) + 1j),
    frozen(np.array([0x7FC12345, 0xFF800001], np.uint32).view(np.float32)),
    Dim("n0"),
    (None, True, 1, (), {"a": "text é\n"}),
]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda v: str(v)[:20])
def test_odd_values_survive_other_readers(value: object) -> None:
    text = print_module(holder(value))
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(read_with_xdsl(text))
    printed = [stream.getvalue()]
    if mlir_opt():
        printed.append(read_with_mlir_opt(text).replace("module {", "").rstrip().rstrip("}"))
    for again in printed:
        module = parse_module(again, allow_unregistered=True)
        found = [op for op in module.walk() if op.name == "test.holder"]
        assert same(value, found[0].attributes["value"]), again


@given(modules())
def test_functions_are_a_fixed_point(module: ModuleOp) -> None:
    for with_locations in (False, True):
        text = print_module(module, with_locations)
        again = parse_module(text)
        verify(again)
        assert print_module(again, with_locations) == text
    places = [op.location for op in module.walk()]
    assert [op.location for op in again.walk()] == places
    assert print_pretty(again) == print_pretty(module)


@given(modules())
def test_xdsl_reads_functions(module: ModuleOp) -> None:
    read_with_xdsl(print_module(module, locations=True))


@given(locations)
def test_locations_survive(location: Location) -> None:
    op = UnregisteredOperation("test.x", (), (), {}, (), location)
    again = parse_operation(print_module(op, locations=True), "file.mlir", True)
    assert again.location == location


def test_an_operation_without_location_gets_its_place_in_the_text() -> None:
    text = '// first line\n"test.a"() ({\n  "test.b"() : () -> ()\n}) : () -> ()\n'
    text += '"test.c"() : () -> ()'
    module = parse_module(text, "file.mlir", allow_unregistered=True)
    places = [(op.location.line, op.location.column) for op in module.walk()][1:]
    assert places == [(2, 1), (3, 3), (5, 1)]


def test_alias_of_a_location_may_come_last() -> None:
    text = '"test.a"() : () -> () loc(#l1)\n#l0 = loc("a.py":1:2)\n#l1 = loc("backward"(#l0))\n'
    op = parse_operation(text, allow_unregistered=True)
    assert op.location == Location("a.py", 1, 2, "backward")


def test_fused_location_is_read() -> None:
    text = '"test.a"() : () -> () loc(fused<"backward">["model.py":12:9])'
    assert parse_operation(text, allow_unregistered=True).location == Location(
        "model.py", 12, 9, "backward"
    )


@pytest.mark.skipif(mlir_opt() is None, reason="mlir-opt is not installed")
def test_what_mlir_opt_prints_is_read() -> None:
    text = """
      %c = "arith.constant"() {value = 2 : index} : () -> index
      %a:2 = "test.two"(%c) ({
      ^bb0(%i: index):
        "test.end"(%i) {map = affine_map<(d0) -> (d0 * 3)>} : (index) -> ()
      }) : (index) -> (f32, f32) loc("m.py":1:2)
      "test.use"(%a#1, %a#0) : (f32, f32) -> ()
    """
    printed = subprocess.run(
        [mlir_opt() or "", "--allow-unregistered-dialect", "--mlir-print-op-generic"]
        + ["--mlir-print-debuginfo"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "#map" in printed and "#loc" in printed
    module = parse_module(printed, allow_unregistered=True)
    _, two, use = module.body.ops
    assert two.location == Location("m.py", 1, 2)
    assert use.operands == (two.results[1], two.results[0])


def test_properties_comments_and_layout_do_not_matter() -> None:
    text = """
      // a comment
      "builtin.module" ( ) ( { // another
        "func.func"()<{sym_name="f",function_type=()->()}>({"func.return"():()->()}):()->()
      } ) : ( ) -> ( )
    """
    module = parse_module(text)
    verify(module)
    assert module.function("f").attributes["sym_name"] == "f"
    assert_readable(print_module(module))


def test_names_are_unique_in_a_function_and_free_in_the_next() -> None:
    text = '"func.func"() ({\n^bb0(%x: f32):\n  "func.return"() : () -> ()\n}) '
    text += '{sym_name = "NAME"} : () -> ()\n'
    module = parse_module(text.replace("NAME", "f") + text.replace("NAME", "g"))
    assert print_module(module).count("%x:") == 2


def test_empty_blocks_and_regions_survive() -> None:
    text = '"test.r"() ({\n}, {\n^bb0:\n}, {\n^bb0(%x: f32):\n^bb1:\n}) : () -> ()\n'
    op = parse_operation(text, allow_unregistered=True)
    assert [len(region.blocks) for region in op.regions] == [0, 1, 2]
    text = print_module(op)
    assert print_module(parse_operation(text, allow_unregistered=True)) == text


def test_a_line_for_an_operation_outside_of_functions() -> None:
    op = UnregisteredOperation("test.alone", (), (), {"a": (1, 2.0)}, [Region()])
    assert print_op_line(op) == "test.alone {a = [1, 2.0]} { ... }"


def test_a_value_that_is_no_attribute_is_refused() -> None:
    with pytest.raises(TypeError, match="expected an attribute value"):
        print_module(holder([1, 2]))


def test_long_arrays_are_hexadecimal_and_exact() -> None:
    array = np.linspace(0, 1, 1000, dtype=np.float32)
    array.flags.writeable = False
    text = print_module(holder(array))
    assert 'dense<"0x' in text
    assert same(array, parse_operation(text, allow_unregistered=True).attributes["value"])
    assert_readable(text)


# ---------------------------------------------------------------------------- malformed text


@given(modules())
def test_truncated_text_is_a_parse_error(module: ModuleOp) -> None:
    text = print_module(module)
    step = max(1, len(text) // 80)
    for end in range(0, len(text) - 1, step):
        with pytest.raises(ParseError):
            parse_module(text[:end])


@given(attributes)
def test_truncated_attributes_are_a_parse_error(value: object) -> None:
    text = print_module(holder(value)).rstrip()
    for end in range(0, len(text), max(1, len(text) // 60)):
        with pytest.raises(ParseError):
            parse_module(text[:end], allow_unregistered=True)


def test_damaged_text_is_never_another_exception() -> None:
    text = (
        "#m = affine_map<(d0)[s0] -> (d0 * 2 + s0)>\n"
        '"test.a"() ({\n^bb0(%x: tensor<?xf32, ["n"]>):\n'
        '  %y, %z:2 = "test.b"(%x) <{p = -1.5e3 : f32}> {a = [1, unit, {k = "s\\22"}], m = #m, '
        "d = dense<[[1, 2]]> : tensor<1x2xi8>, g = #gradc.dense<[nan] : tensor<1xf64>>, "
        "c = #gradc.complex<1.0, inf>, t = (f32) -> memref<2xf32, strided<[1]>>} : "
        '(tensor<?xf32, ["n"]>) -> (f32, i1, i1) loc("b"("f.py":1:2))\n'
        '  "test.c"(%z#1) : (i1) -> ()\n}) : () -> ()\n'
    )
    assert len(parse_operation(text, allow_unregistered=True).regions) == 1
    refused = 0
    for position in range(len(text)):
        for piece in ("", "<", "}", "0x", '"', "%x", "é", "9" * 5, " "):
            damaged = text[:position] + piece + text[position + 1 :]
            try:
                parse_module(damaged, allow_unregistered=True)
            except ParseError as error:
                assert error.line >= 1 and error.column >= 1
                refused += 1
    assert refused > 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an operation"),
        ('"test.a"() {a = ' + "[" * 100_000, "nested too deeply"),
        ('"test.a"() {a = ' + "1" * 5000 + "} : () -> ()", "fewer than 1000 digits"),
        ('"test.a"() {a = tensor<' + "9" * 30 + "xf32>} : () -> ()", "sizes below"),
        ('"test.a"() {a = dense<1> : tensor<' + "9999999x" * 5 + "i8>} : () -> ()", "do not make"),
        ('"test.a"() {a = 0x1FFFFFFFF : f32} : () -> ()', "more than the 32 bits"),
        ('"test.a"() {a = #undefined} : () -> ()', "alias #undefined is not defined"),
        ('"test.a"() {a = affine_map<(d0) -> (d0 mod 2)>} : () -> ()', "mod is not supported"),
        ('"test.a"() {a = affine_map<(d0) -> (d0 * d0)>} : () -> ()', "factor of a product"),
        ('"test.a"() {a = "\\q"} : () -> ()', "after a backslash"),
        ('"test.a"() {a = "\\FF"} : () -> ()', "not UTF-8"),
        ('"test.a"()[^bb1] : () -> ()', "no successor blocks"),
        ('"test.a"() : () -> () loc(#nowhere)', "location alias #nowhere is not defined"),
        ('%a:2 = "test.a"() : () -> (f32, f32)\n"test.b"(%a) : (f32) -> ()', "%a is not defined"),
        ('"test.a"() : () -> () \x00', "expected a token"),
    ],
)
def test_malformed_text(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_module(text, "f.mlir", allow_unregistered=True)
    assert message in caught.value.message
    assert str(caught.value).startswith(f"f.mlir:{caught.value.line}:{caught.value.column}: ")


def test_the_caret_points_at_the_fault() -> None:
    with pytest.raises(ParseError) as caught:
        parse_module('"nd.neg"() : () -> ()\n  "nd.add"(%x : (f32) -> ()', "f.mlir")
    assert str(caught.value) == (
        "f.mlir:2:15: expected ')' at the end of the operands, got ':'\n"
        '    "nd.add"(%x : (f32) -> ()\n'
        "                ^"
    )
