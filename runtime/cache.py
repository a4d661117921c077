"""The cache of machine code on disk.

One file a module: a header with a checksum, then the object code; nothing is unpickled. The folder
belongs to the user alone (0700). Files are written under another name and renamed, so concurrent
processes see whole files or none. A damaged entry, or one that someone else owns, is ignored and
written anew. A folder that is missing, full or read-only costs compile time and one warning,
nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from pathlib import Path

FORMAT = b"gradc object code 1\n"
DIGEST_SIZE = 32
HEADER_SIZE = len(FORMAT) + DIGEST_SIZE
MOST_BYTES = 512 << 20  # the folder is trimmed to this, oldest use first

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
        with open(_path(name), "rb", opener=_open_no_link) as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            content = file.read()
    except (OSError, RuntimeError):
        return None
    code = content[HEADER_SIZE:]
    if content[:HEADER_SIZE] != FORMAT + _digest(name.encode() + code):
        return None
    with contextlib.suppress(OSError):
        os.utime(_path(name))  # the time of last use, for trimming
    return code


def store(name: str, code: bytes) -> None:
    """Write an entry; a folder that cannot be written gives one warning a process."""
    temporary = None
    try:
        place = _path(name)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(os.stat(place.parent)):
            raise PermissionError(f"{place.parent} belongs to another user or others may write it")
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".new-")
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


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _is_ours(found: os.stat_result) -> bool:
    """Owned by this user, and nobody else may write it."""
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


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
    """Remove the entries used longest ago until the folder is below its limit."""
    entries = []
    with os.scandir(place) as found:
        for entry in found:
            with contextlib.suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                entries.append((about.st_mtime, about.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= MOST_BYTES:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
