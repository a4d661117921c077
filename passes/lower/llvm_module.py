"""What all functions of an emitted LLVM module share: numbers, declarations, metadata, error
sites."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.ir.core import OpaqueAttribute
from gradc.ir.diagnostic import IRError
from gradc.ir.program import ErrorSite
from gradc.ir.types import ScalarType, Type

PREFIX = "gradc_entry"  # stands for the entry's name, which is a digest of the module's text
LITERAL_LIMIT = 16  # larger index constants are run-time numbers

LLVM_TYPES = {
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "index": "i64",
    "f16": "half", "f32": "float", "f64": "double",
}  # fmt: skip


def llvm_type(t: Type) -> str:
    """The LLVM type of a loop-level scalar that is one LLVM value."""
    if isinstance(t, ScalarType) and t.name in LLVM_TYPES:
        return LLVM_TYPES[t.name]
    raise IRError(f"{t} is no scalar of the loop level: unsigned integers are signless there, bool "
                  "arrays are i8, bfloat16 is i16")  # fmt: skip


def component_types(t: Type) -> tuple[str, ...]:
    """The LLVM types of a value: two for a complex number."""
    if isinstance(t, ScalarType) and t.is_complex:
        return (llvm_type(t.real),) * 2
    return (llvm_type(t),)


class ModuleEmitter:
    """Collects the functions of a module and what they share."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.kernels: dict[str, str] = {}  # text of a shared kernel -> its function's name
        self.sites: list[ErrorSite] = []
        self.sizes: list[str] = []
        self._numbers: dict[int, int] = {}
        self._number_values: list[int] = []
        self._floats: dict[float | tuple[str], int] = {}
        self._float_values: list[float] = []
        self._declarations: dict[str, str] = {}
        self._metadata: list[str] = []
        self._nodes: dict[str, str] = {}
        self._functions = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(self._number_values)

    @property
    def floats(self) -> tuple[float, ...]:
        return tuple(self._float_values)

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(sorted(n for n in self._declarations if not n.startswith("llvm.")))

    def number_slot(self, value: int) -> int:
        """The place of an integer in the run-time numbers; equal sizes share one."""
        if value not in self._numbers:
            self._numbers[value] = self.own_number_slot(value)
        return self._numbers[value]

    def own_number_slot(self, value: int) -> int:
        """A new place: for numbers that are equal by chance only, such as numbers of jobs."""
        self._number_values.append(value)
        return len(self._number_values) - 1

    def float_slot(self, value: float) -> int:
        """The place of a float in the run-time floats; equal bits share one."""
        key = (value.hex(),)
        if key not in self._floats:
            self._floats[key] = len(self._float_values)
            self._float_values.append(value)
        return self._floats[key]

    def size_slot(self, name: str) -> int:
        if name not in self.sizes:
            self.sizes.append(name)
        return self.sizes.index(name)

    def declare(self, name: str, result: str, parameters: Sequence[str], suffix: str = "") -> str:
        """Declare an external function or intrinsic; its name with the sigil."""
        line = f"declare {result} @{name}({', '.join(parameters)}){suffix}"
        if self._declarations.setdefault(name, line) != line:
            raise IRError(f"two signatures for the symbol {name}")
        return f"@{name}"

    def metadata(self, text: str) -> str:
        """The reference of a metadata node with this content (shared when equal)."""
        if text not in self._nodes:
            self._nodes[text] = self._add(text)
        return self._nodes[text]

    def distinct(self, rest: str) -> str:
        """A node that names itself first: `distinct !{!n, rest}`."""
        name = f"!{len(self._metadata)}"
        return self._add(f"distinct !{{{name}{', ' if rest else ''}{rest}}}")

    def _add(self, text: str) -> str:
        name = f"!{len(self._metadata)}"
        self._metadata.append(f"{name} = {text}")
        return name

    @property
    def metadata_lines(self) -> list[str]:
        return self._metadata

    @property
    def metadata_count(self) -> int:
        return len(self._metadata)

    def adopt(self, functions: list[str], metadata: list[str], source: ModuleEmitter) -> None:
        """Take over functions and metadata, already renamed, and the declarations they need."""
        self.functions += functions
        self._metadata += metadata
        for name, line in source._declarations.items():
            if self._declarations.setdefault(name, line) != line:
                raise IRError(f"two signatures for the symbol {name}")

    def append_numbers(self, numbers: Sequence[int], floats: Sequence[float]) -> tuple[int, int]:
        """Append a stretch of run-time numbers and one of floats; where they start."""
        starts = len(self._number_values), len(self._float_values)
        self._number_values += numbers
        self._float_values += floats
        return starts

    def function_name(self, stem: str) -> str:
        self._functions += 1
        return f"{stem}.{self._functions}"

    def text(self) -> str:
        parts = [*self._declarations.values(), "", *self.functions, *self._metadata]
        return "\n".join(parts) + "\n"


def is_reassociable(fastmath: object) -> bool:
    return isinstance(fastmath, OpaqueAttribute) and "reassoc" in fastmath.text
