"""Which symbols an object file leaves undefined: ELF and Mach-O, 64 bit, little endian.

A symbol that nobody defines makes LLVM's linker end the process, so it must be found before.
"""

from __future__ import annotations

import struct

from gradc.ir.diagnostic import GradcError

ELF_SYMBOL_TABLE = 2  # SHT_SYMTAB
MACHO_SYMBOL_TABLE = 2  # LC_SYMTAB
MACHO_MAGIC = 0xFEEDFACF


class ObjectFileError(GradcError):
    """The bytes are no object file of a known kind, or a damaged one."""


def undefined_symbols(code: bytes) -> set[str]:
    """Names of the symbols that `code` uses and does not define."""
    try:
        if code[:6] == b"\x7fELF\x02\x01":
            return _elf(code)
        if len(code) >= 4 and struct.unpack_from("<I", code)[0] == MACHO_MAGIC:
            return _macho(code)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise ObjectFileError(f"damaged object file: {error}") from error
    raise ObjectFileError(f"expected a 64-bit ELF or Mach-O object file, got {code[:4]!r}")


def _name(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode()


def _elf(code: bytes) -> set[str]:
    (sections_at,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    found = set()
    if sections_at + size * count > len(code):
        raise ValueError("the section table lies outside of the file")
    for k in range(count):
        at = sections_at + k * size
        kind = struct.unpack_from("<I", code, at + 4)[0]
        if kind != ELF_SYMBOL_TABLE:
            continue
        offset, length = struct.unpack_from("<QQ", code, at + 0x18)
        strings_section = struct.unpack_from("<I", code, at + 0x28)[0]
        strings = struct.unpack_from("<Q", code, sections_at + strings_section * size + 0x18)[0]
        for symbol in range(offset + 24, offset + length, 24):
            name, _, _, section = struct.unpack_from("<IBBH", code, symbol)
            if section == 0 and name:
                found.add(_name(code, strings + name))
    return found


def _macho(code: bytes) -> set[str]:
    count = struct.unpack_from("<I", code, 16)[0]
    at, found = 32, set()
    for _ in range(count):
        command, size = struct.unpack_from("<II", code, at)
        if command == MACHO_SYMBOL_TABLE:
            symbols, number, strings = struct.unpack_from("<III", code, at + 8)
            for k in range(number):
                name, kind, section = struct.unpack_from("<IBB", code, symbols + 16 * k)
                if kind & 0x0F == 0x01 and section == 0:  # N_UNDF | N_EXT
                    found.add(_name(code, strings + name).removeprefix("_"))
        at += size
    return found
