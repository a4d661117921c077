"""Shared set-up. Its place also puts this folder on the path: tests import `mlir_readers`."""

import os
import tempfile

from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

# Test processes run side by side: one thread each, unless a test is about threads.
os.environ.setdefault("GRADC_NUM_THREADS", "1")

# Nothing is written into the repository, and no example is remembered between runs.
set_hypothesis_home_dir(tempfile.gettempdir() + "/gradc-hypothesis")
# The same examples in every run, so that a change alone decides whether tests pass.
settings.register_profile("gradc", database=None, deadline=None, max_examples=60, derandomize=True)
settings.load_profile("gradc")
