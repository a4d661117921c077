"""Where the user's program is: the nearest frame outside gradc, and the errors that say so."""

from __future__ import annotations

import linecache
import sys
from types import FrameType

from gradc.frontend.codes import when_gone
from gradc.ir.core import UNKNOWN, Location
from gradc.ir.diagnostic import GradcError

# Frames of these packages are passed over: they stand between the user's line and gradc.
_SKIPPED = frozenset(("gradc", "numpy", "scipy", "optree", "numba", "functools", "contextlib"))
# Packages of gradc that hold programs written as users write them.
PROGRAMS = ("gradc.examples", "gradc.benchmarks")

# By id, as long as the code lives: hashing a code object walks all of its constants.
_IS_USER: dict[int, bool] = {}
_LOCATIONS: dict[int, dict[int, Location]] = {}  # of a code, by instruction


def _is_user(frame: FrameType) -> bool:
    code = frame.f_code
    module = frame.f_globals.get("__name__", "")
    found = module.partition(".")[0] not in _SKIPPED or module.startswith(PROGRAMS)
    if id(code) not in _IS_USER:
        when_gone(code, _forget, id(code))
    _IS_USER[id(code)] = found
    return found


def _forget(code: int) -> None:
    _IS_USER.pop(code, None)
    _LOCATIONS.pop(code, None)


def user_location() -> Location:
    """The file, line and column of the nearest frame outside gradc (cached: about 1 us)."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        known = _IS_USER.get(id(frame.f_code))
        if known if known is not None else _is_user(frame):
            break
        frame = frame.f_back
    if frame is None:
        return UNKNOWN
    known_places = _LOCATIONS.setdefault(id(frame.f_code), {})
    location = known_places.get(frame.f_lasti)
    if location is None:
        location = known_places[frame.f_lasti] = _locate(frame)
    return location


def error_location(error: BaseException, file: str = "") -> Location:
    """The deepest line outside gradc that an error went through, if given of `file`."""
    found = UNKNOWN
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name == file if file else _is_user(trace.tb_frame) and not name.startswith("<"):
            found = Location(name, trace.tb_lineno, 1)
        trace = trace.tb_next
    return found


def _locate(frame: FrameType) -> Location:
    code, at = frame.f_code, frame.f_lasti
    column = None
    if at >= 0:
        for k, (_, _, start, _) in enumerate(code.co_positions()):
            if k == at // 2:
                column = start
                break
    return Location(code.co_filename, frame.f_lineno or 0, (column or 0) + 1)


class TracingError(GradcError, TypeError):
    """Something in the user's function cannot be traced. Says what, where, and what to write."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        self.message = message
        self.location = user_location() if location is None else location
        super().__init__(message)

    def __str__(self) -> str:
        return self.message + describe(self.location)


def describe(location: Location) -> str:
    """`at file:line` with the source line, on lines of their own; '' for an unknown place."""
    if not location:
        return ""
    line = linecache.getline(location.file, location.line).strip()
    return f"\n\nat {location}" + (f"\n    {line}" if line else "")
