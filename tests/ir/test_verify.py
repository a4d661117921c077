"""What the verifier refuses of programs built in Python, and what its message shows.

Invalid programs that can be written as text are in tests/errors.
"""

import numpy as np
import pytest

from gradc.ir.builder import Builder
from gradc.ir.core import Block, Location, Region, UnregisteredOperation, Value
from gradc.ir.diagnostic import IRError, VerificationError
from gradc.ir.opdef import REGISTRY
from gradc.ir.ops.func import FuncOp, ModuleOp
from gradc.ir.types import TensorType, f32, i1, tensor
from gradc.ir.verify import verify

VECTOR = tensor(f32, 4)


def program() -> tuple[ModuleOp, FuncOp, Builder]:
    function = FuncOp.build("f", [VECTOR, VECTOR], ["x", "y"], Location("model.py", 1, 1))
    b = Builder(function.body, Location("model.py", 2, 5))
    z = b.add(*function.args)
    z.hint = "z"
    function.finish([b.neg(z)], Location("model.py", 3, 5))
    return ModuleOp.build([function]), function, b


def refused(op: object, message: str) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        verify(op)  # type: ignore[arg-type]
    assert message in caught.value.message
    return caught.value


def test_a_valid_program_and_its_parts() -> None:
    module, function, _ = program()
    verify(module)
    verify(function)
    for op in function.body.ops:
        verify(op)


def test_the_message_shows_the_ir_around_and_the_place() -> None:
    module, function, _ = program()
    neg = function.body.ops[1]
    neg.results[0].type = tensor(f32, 3)
    error = refused(module, "nd.neg: expected result types tensor<4xf32>, got tensor<3xf32>")
    assert error.op is neg
    assert str(error) == (
        "nd.neg: expected result types tensor<4xf32>, got tensor<3xf32>\n\n"
        "    %z = nd.add %x, %y : tensor<4xf32>\n"
        "  > %0 = nd.neg %z : tensor<4xf32> -> tensor<3xf32>\n"
        "    func.return %0 : tensor<3xf32>\n\n"
        "at model.py:2"
    )


def test_the_message_shows_the_users_line(tmp_path) -> None:
    file = tmp_path / "model.py"
    file.write_text("def f(x):\n    return -x  # here\n")
    op = UnregisteredOperation("t.t", location=Location(str(file), 2, 5))
    assert str(IRError("bad", op)).endswith(f"at {file}:2\n    return -x  # here")


def test_use_before_definition() -> None:
    module, function, _ = program()
    add, neg, end = function.body.ops
    function.body.replace_ops([neg, add, end])
    error = refused(module, "nd.neg: expected operand 0 to be defined before its use")
    assert "nd.add at model.py:2" in error.message


def test_a_function_sees_no_values_from_outside() -> None:
    module, function, _ = program()
    other = FuncOp.build("g", [VECTOR])
    other.finish([function.args[0]])
    module.body.append(other)
    refused(module, "func.return: expected operand 0 to be defined before its use and visible")


def test_values_of_a_region_end_with_it() -> None:
    block = Block([VECTOR])
    inner = UnregisteredOperation("t.region", (), (), {}, [Region([block])])
    use = UnregisteredOperation("t.use", [block.args[0]])
    refused(ModuleOp.build([inner, use]), "t.use: expected operand 0")


def test_use_lists() -> None:
    module, function, _ = program()
    add = function.body.ops[0]
    function.args[0].users[add] = 2
    refused(module, "nd.add: expected operand 0 to list 1 uses here, got 2")
    function.args[0].users[add] = 1
    stranger = UnregisteredOperation("t.stranger")
    add.results[0].users[stranger] = 1
    refused(module, "nd.add: result 0 lists 1 uses in t.stranger, expected 0")


def test_owners_and_parents() -> None:
    module, function, _ = program()
    add = function.body.ops[0]
    result = add.results[0]
    result.index = 1
    refused(module, "nd.add: result 0 does not belong to its operation")
    result.index = 0
    add.parent = None
    refused(module, "nd.add: the operation has another parent")
    add.parent = function.body
    function.regions[0].parent = None
    refused(module, "func.func: region 0 has another parent")
    function.regions[0].parent = function
    function.body.args[0].owner = add
    refused(module, "func.func: block argument 0 belongs elsewhere")
    function.body.args[0].owner = function.body
    verify(module)


@pytest.mark.parametrize("value", [[1], {"a": np.float32(1)}, (1, {2}), object()])
def test_attributes_must_be_attribute_values(value: object) -> None:
    op = UnregisteredOperation("t.t", (), (), {"a": value})
    refused(op, "t.t: expected attribute `a` to be an immutable attribute value, got")


def test_arrays_in_attributes_must_be_read_only() -> None:
    array = np.zeros(3)
    op = UnregisteredOperation("t.t", (), (), {"a": (array,)})
    refused(op, "t.t: expected the array in attribute `a` to be read-only")
    array.flags.writeable = False
    verify(op)


def test_the_builder_and_the_verifier_ask_the_same_rule() -> None:
    x = Value(VECTOR, Block(), 0)
    y = Value(tensor(f32, 3), Block(), 0)
    with pytest.raises(VerificationError) as built:
        Builder(Block()).add(x, y)
    op = REGISTRY["nd.add"]([x, y], [VECTOR])
    rule = "expected operands of one type, got tensor<4xf32> and tensor<3xf32> (operand 1)"
    assert rule in built.value.message
    refused(op, rule)


def test_a_rule_that_trips_over_a_strange_attribute_is_no_crash() -> None:
    x = Value(VECTOR, Block(), 0)
    op = REGISTRY["nd.transpose"]([x], [VECTOR], {"perm": "abc"})
    with pytest.raises(VerificationError, match="nd.transpose"):
        verify(op)


def test_an_operation_alone_may_use_values_of_its_operands() -> None:
    x = Value(TensorType((2,), f32), Block(), 0)
    verify(REGISTRY["nd.neg"]([x], [x.type]))


def test_a_run_time_size_is_born_once():
    function = FuncOp.build("f", [tensor(i1, 5)])
    b = Builder(function.body)
    b.nonzero(function.args[0], size="n0")
    second = b.nonzero(function.args[0], size="n0")
    function.finish([second])
    with pytest.raises(VerificationError, match="the size 'n0' is defined twice"):
        verify(function)
