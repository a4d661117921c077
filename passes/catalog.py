"""Importing this module registers every pass, for pipeline strings that name them."""

from gradc.passes import canonicalize, cse, dce  # noqa: F401
