"""Importing this module registers every pass, for pipeline strings that name them."""

from gradc.passes import (  # noqa: F401
    backward,
    bufferize,
    canonicalize,
    cse,
    dce,
    forward,
    fuse,
    release,
    stabilize,
)
from gradc.passes.lower import expand_math, loops  # noqa: F401
