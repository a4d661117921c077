"""The cache of compiled code stays inside the tests' temporary folder."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory):
    before = os.environ.get("GRADC_CACHE_DIR")
    os.environ["GRADC_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["GRADC_CACHE_DIR"]
    else:
        os.environ["GRADC_CACHE_DIR"] = before
