"""Shared set-up. Its place also puts this folder on the path: tests import `mlir_readers`."""

import tempfile

from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

# Nothing is written into the repository, and no example is remembered between runs.
set_hypothesis_home_dir(tempfile.gettempdir() + "/gradc-hypothesis")
settings.register_profile("gradc", database=None, deadline=None, max_examples=60)
settings.load_profile("gradc")
