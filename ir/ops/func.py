"""`builtin.module`, `func.func`, `func.return`: names and rules are MLIR's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradc.ir.core import UNKNOWN, Block, Location, Operation, Region, Value
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Control
from gradc.ir.printer import short_text, symbol_text, types_text
from gradc.ir.types import FunctionType, Type


class ModuleOp(Control, name="builtin.module"):
    """A list of functions with distinct names."""

    vjp = NOT_DIFFERENTIABLE
    isolated = True
    no_terminator = True

    def infer(*, regions: Sequence[Region], **attributes: Any) -> tuple[Type, ...]:
        return ()

    def verify(op: ModuleOp) -> None:
        seen: set[str] = set()
        for inner in op.body.ops:
            name = inner.attributes.get("sym_name")
            if name in seen:
                raise TypeRuleError(f"expected distinct symbol names, got @{name} twice")
            if name is not None:
                seen.add(name)

    @classmethod
    def build(cls, functions: Sequence[Operation] = ()) -> ModuleOp:
        block = Block()
        module = cls((), (), {}, [Region([block])])
        for function in functions:
            block.append(function)
        return module

    @property
    def functions(self) -> Iterator[FuncOp]:
        return (op for op in self.body.ops if isinstance(op, FuncOp))

    def function(self, name: str) -> FuncOp:
        """The function of that name; KeyError otherwise."""
        for op in self.functions:
            if op["sym_name"] == name:
                return op
        raise KeyError(name)


class FuncOp(Control, name="func.func"):
    """A function: attributes `sym_name`, `function_type`; one region whose block args are the
    inputs.
    """

    vjp = NOT_DIFFERENTIABLE
    isolated = True

    def pretty(op: FuncOp, name: Callable[[Value], str]) -> str:
        inputs = ", ".join(f"{name(v)}: {v.type}" for v in op.args)
        results = op["function_type"].results
        arrow = f" -> {types_text(results)}" if results else ""
        rest = op.further_attributes()
        shown = f" attributes {short_text(rest)}" if rest else ""
        return f"func.func {symbol_text(op['sym_name'])}({inputs}){arrow}{shown}"

    def infer(*, sym_name: str, function_type: FunctionType, regions: Any, **rest: Any) -> Any:
        block = regions[0].block
        if tuple(v.type for v in block.args) != function_type.inputs:
            raise TypeRuleError(
                f"the block arguments of @{sym_name} do not have the types of {function_type}"
            )
        if block.ops and block.ops[-1].name == "func.return":
            returned = tuple(v.type for v in block.ops[-1].operands)
            if returned != function_type.results:
                raise TypeRuleError(
                    f"@{sym_name} returns {FunctionType((), returned)}, expected {function_type}"
                )
        return ()

    @classmethod
    def build(
        cls,
        name: str,
        input_types: Sequence[Type],
        hints: Sequence[str] = (),
        location: Location = UNKNOWN,
    ) -> FuncOp:
        """A function with an empty body; `finish` adds the return and sets the result types."""
        block = Block(input_types, hints)
        attributes = {"sym_name": name, "function_type": FunctionType(tuple(input_types), ())}
        return cls((), (), attributes, [Region([block])], location)

    def finish(self, results: Sequence[Value], location: Location = UNKNOWN) -> FuncOp:
        self.body.append(ReturnOp(results, (), {}, (), location))
        self.update_type()
        return self

    def take_over(self, other: FuncOp) -> None:
        """Become `other`, which is given up: its attributes, body and location."""
        self.drop_all_uses()
        self.attributes = other.attributes
        self.regions = other.regions
        self.location = other.location
        for region in self.regions:
            region.parent = self

    def further_attributes(self) -> dict[str, Any]:
        """The attributes besides the name and the type."""
        named = ("sym_name", "function_type")
        return {key: value for key, value in self.attributes.items() if key not in named}

    def update_type(self) -> None:
        """Set `function_type` from the block arguments and the returned values."""
        returned = self.body.terminator.operands
        self.attributes["function_type"] = FunctionType(
            tuple(v.type for v in self.body.args), tuple(v.type for v in returned)
        )

    @property
    def args(self) -> list[Value]:
        return self.body.args

    @property
    def returned(self) -> tuple[Value, ...]:
        return self.body.terminator.operands


def copy_function(function: FuncOp, name: str = "") -> FuncOp:
    """A copy, under another name where one is given."""
    copy: Any = function.clone({})
    copy.attributes["sym_name"] = name or function["sym_name"]
    found: FuncOp = copy
    return found


class ReturnOp(Control, name="func.return"):
    """Ends a function."""

    vjp = NOT_DIFFERENTIABLE
    effects = True
    is_terminator = True

    def infer(*types: Type) -> tuple[Type, ...]:
        return ()
