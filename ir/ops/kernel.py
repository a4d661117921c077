"""Kernel-level operations."""
