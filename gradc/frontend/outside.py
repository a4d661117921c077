"""Library functions that read or change the outside world: files, clocks, processes, networks.

Known by the module that defines them, so that none of these modules is imported here, and within
some modules by name. A call of one would run once, while tracing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

_TIME = "Pass the time as an argument"
_VALUE = "Pass its value as an argument"
_FILES = "Read and write files outside the function, and pass what was read as an argument"
_ARRAYS = "Load arrays outside the function and pass them as arguments; return what is to be saved"
_RUNS = "Run it outside the function, and pass what it gives as an argument"

# Everything in these modules but the names listed.
_MODULES: dict[str, tuple[frozenset[str], str]] = {
    "time": (frozenset(("struct_time", "mktime", "strptime")), _TIME),
    "os": (frozenset(("fspath", "fsencode", "fsdecode", "strerror", "cpu_count")), _FILES),
    "secrets": (frozenset(("compare_digest",)), _VALUE),
    "shutil": (frozenset(), _FILES),
    "tempfile": (frozenset(), _FILES),
    "glob": (frozenset(("escape", "has_magic")), _FILES),
    "fileinput": (frozenset(), _FILES),
    "gzip": (frozenset(("compress", "decompress")), _FILES),
    "zipfile": (frozenset(), _FILES),
    "tarfile": (frozenset(), _FILES),
    "shelve": (frozenset(), _FILES),
    "dbm": (frozenset(), _FILES),
    "sqlite3": (frozenset(), _FILES),
    "linecache": (frozenset(), _FILES),
    "subprocess": (frozenset(("list2cmdline",)), _RUNS),
    "multiprocessing": (frozenset(), _RUNS),
    "socket": (frozenset(("htonl", "htons", "ntohl", "ntohs")), _RUNS),
    "select": (frozenset(), _RUNS),
    "ssl": (frozenset(), _RUNS),
    "http": (frozenset(("HTTPStatus",)), _RUNS),
    "urllib.request": (frozenset(("quote", "unquote")), _RUNS),
    "ftplib": (frozenset(), _RUNS),
    "smtplib": (frozenset(), _RUNS),
    "requests": (frozenset(), _RUNS),
    "getpass": (frozenset(), _VALUE),
    "platform": (frozenset(), _VALUE),
    "scipy.io": (frozenset(), _FILES),
    "pandas.io": (frozenset(), _FILES),
}  # fmt: skip
# Only these names of these modules.
_NAMES: dict[str, tuple[frozenset[str], str]] = {
    "numpy": (frozenset(("load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "save",
                         "savez", "savez_compressed", "savetxt", "DataSource")), _ARRAYS),
    "numpy.lib": (frozenset(("open_memmap", "read_array", "write_array", "DataSource")), _ARRAYS),
    "uuid": (frozenset(("uuid1", "uuid4", "getnode")), _VALUE),
    "pickle": (frozenset(("load", "dump")), _FILES),
    "json": (frozenset(("load", "dump")), _FILES),
    "marshal": (frozenset(("load", "dump")), _FILES),
    "tomllib": (frozenset(("load",)), _FILES),
    "bz2": (frozenset(("open", "BZ2File")), _FILES),
    "lzma": (frozenset(("open", "LZMAFile")), _FILES),
    "pprint": (frozenset(("pprint", "pp")), "Remove it"),
    "traceback": (frozenset(("print_exc", "print_stack", "print_exception", "print_tb")),
                  "Remove it"),
    "os.path": (frozenset(("exists", "lexists", "isfile", "isdir", "islink", "ismount", "getsize",
                           "getmtime", "getatime", "getctime", "samefile", "sameopenfile",
                           "realpath", "abspath", "expanduser", "expandvars", "relpath",
                           "isjunction", "isdevdrive")), _FILES),
}  # fmt: skip
# Modules that are written in C or per system, by the name that users know.
_PUBLIC = {
    "posix": "os", "nt": "os", "_pickle": "pickle", "_socket": "socket", "_sqlite3": "sqlite3",
    "genericpath": "os.path", "posixpath": "os.path", "ntpath": "os.path", "_bz2": "bz2",
    "_lzma": "lzma", "_ssl": "ssl", "_posixsubprocess": "subprocess", "multiprocessing.context":
    "multiprocessing", "pathlib._local": "pathlib",
}  # fmt: skip


def outside_world(function: Callable[..., Any]) -> tuple[str, str] | None:
    """(name, what to do instead) of a function or method that depends on or changes the outside
    world; None for others."""
    name = getattr(function, "__name__", "")
    if isinstance(function, type):
        if issubclass(function, BaseException):
            return None
        return _found(function.__module__, name)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, Path) or (isinstance(owner, type) and issubclass(owner, Path)):
        return (f"Path.{name}", _FILES) if _uses_files(name) else None
    if owner is not None and type(owner).__name__ != "module":
        cls = owner if isinstance(owner, type) else type(owner)
        found = _found(cls.__module__, cls.__name__)
        return (f"{cls.__name__}.{name}", found[1]) if found is not None else None
    if _uses_files(name) and getattr(Path, name, None) is function:
        return f"Path.{name}", _FILES
    return _found(getattr(function, "__module__", None) or "", name)


def _uses_files(method: str) -> bool:
    """Is this a method of Path that paths without a file system do not have?"""
    return not method.startswith("_") and hasattr(Path, method) and not hasattr(PurePath, method)


def _found(module: str, name: str) -> tuple[str, str] | None:
    module = _PUBLIC.get(module, module)
    home = module
    while home:
        if home in _MODULES:
            allowed, instead = _MODULES[home]
            return None if name in allowed else (f"{_short(module)}.{name}", instead)
        if home in _NAMES:
            names, instead = _NAMES[home]
            return (f"{_short(module)}.{name}", instead) if name in names else None
        home = home.rpartition(".")[0]
    return None


def _short(module: str) -> str:
    return "np" if module.partition(".")[0] == "numpy" else module
