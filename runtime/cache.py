"""The cache of machine code on disk.

One file a module: a header with a checksum, then the object code; nothing is unpickled. The folder
is made for the user alone (0700); nothing in it but the cache's own files is ever touched. Files
are written under another name and renamed, so concurrent processes see whole files or none. A
damaged entry, or one that someone else owns or could have written, is ignored and written anew. A
folder that is missing, full or read-only costs compile time and one warning, nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
import warnings
from pathlib import Path

FORMAT = b"gradc object code 1\n"
DIGEST_SIZE = 32
HEADER_SIZE = len(FORMAT) + DIGEST_SIZE
MOST_BYTES = 512 << 20  # the entries are trimmed to this, oldest use first
ENTRY = re.compile(rf"[0-9a-f]{{{2 * DIGEST_SIZE}}}\.o")
UNFINISHED_PREFIX = ".gradc-new-"
UNFINISHED = re.compile(re.escape(UNFINISHED_PREFIX) + r"[a-z0-9_]{8}")  # as tempfile names them
ABANDONED_AFTER = 3600.0  # seconds: a process that ended while it wrote an entry left the file

_warned = False


def folder() -> Path:
    """GRADC_CACHE_DIR, else the platform's cache folder of the user."""
    chosen = os.environ.get("GRADC_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gradc"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gradc"


def key(text: str, target: str) -> str:
    """The name of a module's entry: a digest of its text and of all that machine code depends
    on."""
    return _digest(f"{target}\n{text}".encode()).hex()


def load(name: str) -> bytes | None:
    """The object code of an entry, or None."""
    try:
        place = _path(name)
        if not _is_ours(os.stat(place.parent)):
            return None
        with open(place, "rb", opener=_open_plainly) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or not _is_ours(about):
                return None
            content = file.read()
    except (OSError, RuntimeError):
        return None
    code = content[HEADER_SIZE:]
    if content[:HEADER_SIZE] != FORMAT + _digest(name.encode() + code):
        return None
    with contextlib.suppress(OSError):
        os.utime(place)  # the time of last use, for trimming
    return code


def store(name: str, code: bytes) -> None:
    """Write an entry; a folder that cannot be written gives one warning a process."""
    temporary = None
    try:
        place = _path(name)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(os.stat(place.parent)):
            raise PermissionError(f"{place.parent} belongs to another user or others may write it")
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=UNFINISHED_PREFIX)
        with os.fdopen(handle, "wb") as file:
            file.write(FORMAT + _digest(name.encode() + code) + code)
        os.replace(temporary, place)
        _trim(place.parent)
    except (OSError, RuntimeError) as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        _warn(error)


def _path(name: str) -> Path:
    return folder() / f"{name}.o"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).digest()


def _open_plainly(path: str, flags: int) -> int:
    """Follow no link, and do not wait for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _is_ours(found: os.stat_result) -> bool:
    """Owned by this user, and nobody else may write it.

    Systems without user numbers (Windows) keep a user's folders from others by themselves."""
    user = getattr(os, "getuid", None)
    if user is None:
        return True
    return found.st_uid == user() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _warn(error: BaseException) -> None:
    global _warned
    if not _warned:
        _warned = True
        place = os.environ.get("GRADC_CACHE_DIR") or "its cache folder"
        warnings.warn(
            f"gradc cannot keep compiled code in {place} ({error}): every process compiles again. "
            "Set GRADC_CACHE_DIR to a folder of your own.",
            RuntimeWarning,
            stacklevel=2,
        )


def _trim(place: Path) -> None:
    """Remove the entries used longest ago until they take no more than their limit, and what
    processes that ended while writing left behind. Other files are not the cache's to remove."""
    entries = []
    with os.scandir(place) as found:
        for item in found:
            finished = ENTRY.fullmatch(item.name) is not None
            if not finished and UNFINISHED.fullmatch(item.name) is None:
                continue
            with contextlib.suppress(OSError):
                about = item.stat(follow_symlinks=False)
                if not stat.S_ISREG(about.st_mode) or not _is_ours(about):
                    continue
                if finished:
                    entries.append((about.st_mtime, about.st_size, item.path))
                elif time.time() - about.st_mtime > ABANDONED_AFTER:
                    os.unlink(item.path)
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= MOST_BYTES:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
