"""Importing this module registers every pass, for pipeline strings that name them."""

from gradc.passes import backward, canonicalize, cse, dce, forward, stabilize  # noqa: F401
from gradc.passes.lower import expand_math  # noqa: F401
