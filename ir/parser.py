"""Reads the generic MLIR form, as `print_module` and `mlir-opt --mlir-print-op-generic` write it.

Malformed text of every kind raises ParseError with the place in the text. Parsing checks syntax,
names and the types of operands; what an operation demands is the verifier's business.
"""

from __future__ import annotations

import difflib

from gradc.ir import ops as _ops  # registers the operations  # noqa: F401
from gradc.ir.attribute_parser import AttributeParser
from gradc.ir.core import Block, Location, Operation, Region, UnregisteredOperation, Value
from gradc.ir.diagnostic import ParseError
from gradc.ir.opdef import REGISTRY
from gradc.ir.ops.func import ModuleOp
from gradc.ir.types import Type


def parse_module(text: str, file: str = "", allow_unregistered: bool = False) -> ModuleOp:
    """The module in `text`; operations that stand without a module around them are put into one.

    file:               the name for messages and for the locations of operations that give none
    allow_unregistered: keep operations of unknown names instead of refusing them

    ParseError for malformed text.
    """
    found = _parse(text, file, allow_unregistered)
    if len(found) == 1 and isinstance(found[0], ModuleOp):
        return found[0]
    return ModuleOp.build(found)


def parse_operation(text: str, file: str = "", allow_unregistered: bool = False) -> Operation:
    """The one operation in `text`, of any kind; arguments and errors as in `parse_module`."""
    found = _parse(text, file, allow_unregistered)
    if len(found) != 1:
        raise ParseError(f"expected one operation, got {len(found)}", file, 1, 1)
    return found[0]


def _parse(text: str, file: str, allow_unregistered: bool) -> list[Operation]:
    parser = _Parser.__new__(_Parser)
    try:
        parser.__init__(text, file)  # type: ignore[misc]
        parser.allow_unregistered = allow_unregistered
        return parser.parse_file()
    except RecursionError:
        parser.fail("the text is nested too deeply here")


class _Parser(AttributeParser):
    """The cursor with methods that read operations.

    scope: the values visible here by name, "%x" or "%x#1"
    """

    allow_unregistered = False

    def __init__(self, text: str, file: str = "") -> None:
        super().__init__(text, file)
        self.scope: dict[str, Value] = {}
        self.defined: list[str] = []  # names defined in the current region
        self.late_locations: list[tuple[Operation, str, int]] = []
        self.counted_to, self.line, self.line_start = 0, 1, 0

    def parse_file(self) -> list[Operation]:
        found: list[Operation] = []
        while self.kind != "end":
            if self.kind in ("hash", "bang"):
                self._alias()
            else:
                found.append(self.parse_operation())
        if not found:
            self.expected('an operation such as "builtin.module"() ({ ... }) : () -> ()')
        for op, name, at in self.late_locations:
            location = self.aliases.get(name)
            if not isinstance(location, Location):
                self.fail(f"the location alias {name} is not defined", at)
            op.location = location
        return found

    def _alias(self) -> None:
        """`#name = attribute` or `!name = type`."""
        kind, at = self.kind, self.start
        name = self.advance()
        self.expect("=", f" after {name}")
        if name in self.aliases:
            self.fail(f"the alias {name} is defined twice", at)
        if kind == "bang":
            self.aliases[name] = self.parse_type()
        elif self.at("loc"):
            self.aliases[name] = self.parse_location()
        else:
            self.aliases[name] = self.parse_attribute()

    # ------------------------------------------------------------------------------- operations

    def parse_operation(self) -> Operation:
        begin = self.start
        results = self._result_names() if self.kind == "value" else []
        at = self.start
        if self.kind != "string":
            self.expected('an operation in generic form, such as "nd.add"(%x, %y) : ...')
        name = self.string()
        cls = REGISTRY.get(name)
        if cls is None and not self.allow_unregistered:
            close = difflib.get_close_matches(name, REGISTRY, 1)
            hint = f", did you mean {close[0]}?" if close else ""
            self.fail(f"unknown operation {name}{hint}", at)
        operands = self._operand_names()
        if self.at("["):
            self.fail("expected no successor blocks: control flow is structured (scf)")
        attributes = {}
        if self.accept("<"):
            attributes = self.parse_dictionary()
            self.expect(">", " at the end of the properties")
        regions = self._regions(isolated=cls is not None and cls.isolated)
        if self.at("{"):
            here = self.start
            further = self.parse_dictionary()
            twice = next((key for key in further if key in attributes), None)
            if twice is not None:
                self.fail(f"attribute {twice} is given twice", here)
            attributes.update(further)
        self.expect(":", " and the type of the operation")
        here = self.start
        signature = self.parse_function_type()
        values = self._resolve(operands, signature.inputs, here)
        count = sum(n for _, n, _ in results)
        if results and count != len(signature.results):
            self.fail(f"expected {count} result types, got {len(signature.results)}", here)
        location = self._position(begin)
        late = ""
        if self.at("loc"):
            location, late = self._trailing_location(location)
        if cls is None:
            op: Operation = UnregisteredOperation(
                name, values, signature.results, attributes, regions, location
            )
        else:
            op = cls(values, signature.results, attributes, regions, location)
            if cls.no_terminator:
                for region in op.regions:
                    if not region.blocks:  # MLIR writes the empty body of a module as {}
                        region.blocks.append(Block())
                        region.blocks[0].parent = region
        if late:
            self.late_locations.append((op, late, begin))
        self._define_results(op, results)
        return op

    def _result_names(self) -> list[tuple[str, int, int]]:
        """`%a, %b:2 =` as (name, number of results, position)."""
        found = []
        while True:
            at = self.start
            if self.kind != "value":
                self.expected("the name of a result such as %x")
            name = self.advance()
            if "#" in name:
                self.fail(f"expected a name without a result number, got {name}", at)
            count = 1
            if self.accept(":"):
                count = self.integer("the number of results")
                if not 1 <= count <= 1 << 16:
                    self.fail("expected between 1 and 65536 results", at)
            found.append((name, count, at))
            if not self.accept(","):
                break
        self.expect("=", " after the names of the results")
        return found

    def _define_results(self, op: Operation, names: list[tuple[str, int, int]]) -> None:
        first = 0
        for name, count, at in names:
            if count == 1:
                self._define(name, op.results[first], at)
                self.scope[f"{name}#0"] = op.results[first]
                self.defined.append(f"{name}#0")
            else:
                self._define(name, op.results[first], at)
                del self.scope[name]
                for k in range(count):
                    op.results[first + k].hint = ""
                    self._define(f"{name}#{k}", op.results[first + k], at)
            first += count

    def _define(self, name: str, value: Value, at: int) -> None:
        if name in self.scope or f"{name}#0" in self.scope:
            self.fail(f"{name} is defined twice", at)
        self.scope[name] = value
        self.defined.append(name)
        plain = name[1:]
        if "#" not in name and not plain.isdigit():
            is_default = isinstance(value.owner, Block) and plain == f"arg{value.index}"
            value.hint = "" if is_default else plain

    def _operand_names(self) -> list[tuple[str, int]]:
        self.expect("(", " and the operands")
        found = []
        while not self.at(")"):
            if self.kind != "value":
                self.expected("an operand such as %x")
            at = self.start
            found.append((self.advance(), at))
            if not self.accept(","):
                break
        self.expect(")", " at the end of the operands")
        return found

    def _resolve(
        self, names: list[tuple[str, int]], types: tuple[Type, ...], at: int
    ) -> list[Value]:
        if len(names) != len(types):
            self.fail(f"expected {len(names)} operand types, got {len(types)}", at)
        values = []
        for (name, place), type in zip(names, types, strict=True):
            value = self.scope.get(name)
            if value is None:
                self.fail(f"{name} is not defined before its use, or not visible here", place)
            if value.type != type:
                self.fail(f"expected {name} to have type {value.type}, got {type}", place)
            values.append(value)
        return values

    def _trailing_location(self, default: Location) -> tuple[Location, str]:
        """The location, or the name of an alias that the end of the text may define."""
        self.advance()
        self.expect("(", " after loc")
        if self.kind == "hash" and self.token not in self.aliases:
            name = self.advance()
            self.expect(")", " at the end of the location")
            return default, name
        location = self.location_body()
        self.expect(")", " at the end of the location")
        return location, ""

    def _position(self, at: int) -> Location:
        """The place in this text, for operations without a location of their own."""
        if not self.file:
            return Location()
        if at >= self.counted_to:
            self.line += self.text.count("\n", self.counted_to, at)
            self.counted_to = at
            line = self.line
        else:  # an operation around those already read
            line = self.text.count("\n", 0, at) + 1
        return Location(self.file, line, at - self.text.rfind("\n", 0, at))

    # ---------------------------------------------------------------------------------- regions

    def _regions(self, isolated: bool) -> list[Region]:
        regions: list[Region] = []
        if not self.accept("("):
            return regions
        outer = self.scope
        if isolated:
            self.scope = {}
        regions.append(self._region())
        while self.accept(","):
            regions.append(self._region())
        self.expect(")", " at the end of the regions")
        self.scope = outer
        return regions

    def _region(self) -> Region:
        self.expect("{", " at the start of a region")
        outer, self.defined = self.defined, []
        blocks: list[Block] = []
        labels: set[str] = set()
        if self.kind != "block" and not self.at("}"):
            blocks.append(self._block_body(Block()))
        while self.kind == "block":
            if self.token in labels:
                self.fail(f"block {self.token} is defined twice")
            labels.add(self.token)
            self.advance()
            block = Block()
            if self.accept("("):
                self._block_arguments(block)
            self.expect(":", " after the label of the block")
            blocks.append(self._block_body(block))
        self.expect("}", " at the end of the region")
        for name in self.defined:
            self.scope.pop(name, None)
        self.defined = outer
        return Region(blocks)

    def _block_arguments(self, block: Block) -> None:
        while not self.at(")"):
            at = self.start
            if self.kind != "value":
                self.expected("a block argument such as %x")
            name = self.advance()
            self.expect(":", f" and the type of {name}")
            self._define(name, block.add_argument(self.parse_type()), at)
            if self.at("loc"):
                self._trailing_location(Location())
            if not self.accept(","):
                break
        self.expect(")", " at the end of the block arguments")

    def _block_body(self, block: Block) -> Block:
        while self.kind not in ("block", "end") and not self.at("}"):
            block.append(self.parse_operation())
        return block
