"""The user's program: a Python file, imported, and the functions and values in it."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from gradc.cli.opt import read_text
from gradc.frontend.location import describe, error_location
from gradc.ir.core import Location

_MODULE = "__gradc_program__"  # never the name of a module that the file itself may import


class ProgramFile:
    """A Python file that is imported under a name of its own.

    What it prints goes to the standard error, so that the result of a command stays clean. Raises
    click.ClickException when it cannot be read, does not parse, or raises.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        read_text(path)
        self._file = str(Path(path).resolve())
        self.module = self._run()

    def _run(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(
            _MODULE, self._file, loader=importlib.machinery.SourceFileLoader(_MODULE, self._file)
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[_MODULE] = module
        sys.path.insert(0, str(Path(self._file).parent))
        try:
            with contextlib.redirect_stdout(sys.stderr):
                spec.loader.exec_module(module)
        except SyntaxError as error:
            place = Location(error.filename or self._file, error.lineno or 0, error.offset or 0)
            raise click.ClickException(
                f"{self.path} does not parse: {error.msg}{describe(place)}"
            ) from error
        except SystemExit as error:
            raise click.ClickException(
                f"{self.path} exited when it was imported: put the start of the program under "
                f"if __name__ == '__main__':{self._where(error)}"
            ) from error
        except Exception as error:
            raise click.ClickException(
                f"{self.path} raised {shown(error)} when it was imported{self._where(error)}"
            ) from error
        finally:
            sys.path.remove(str(Path(self._file).parent))
        return module

    def _where(self, error: BaseException) -> str:
        return describe(error_location(error, self._file))

    def find(self, name: str) -> Any:
        """The value of `name`, which may have dots; ClickException where there is none."""
        try:
            return functools.reduce(getattr, name.split("."), self.module)
        except AttributeError:
            names = [k for k, v in vars(self.module).items() if self._is_own(k, v)]
            close = difflib.get_close_matches(name, names, 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise click.ClickException(
                f"{self.path} has no {name}{hint}: its functions are {', '.join(names) or 'none'}"
            ) from None

    def _is_own(self, name: str, value: Any) -> bool:
        home = getattr(value, "__module__", None)
        return callable(value) and home == _MODULE and not name.startswith("__")

    def example(self, name: str) -> Any:
        """The value of `name`, or what it returns if it is a function."""
        value = self.find(name)
        if not callable(value) or hasattr(value, "__array__"):
            return value
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return value()
        except Exception as error:
            raise click.ClickException(
                f"@{name}: expected a function of no arguments that returns example arguments; it "
                f"raised {shown(error)}{self._where(error)}"
            ) from error


def shown(error: BaseException) -> str:
    """An error's type and message on one line or more."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
