"""Every public name that an operation says it serves can be called in traced code."""

import builtins
import importlib
import math

import numpy as np
import pytest

import gradc
from gradc.frontend.table import TABLE, implementation
from gradc.ir.opdef import REGISTRY
from gradc.numpy_functions.served import serve

NAMES = sorted({name for cls in REGISTRY.values() for name in cls.numpy_names()})
X = np.array([-1.5, 0.25, 2.75])


def test_operations_serve_functions_of_each_kind():
    homes = {name.rpartition(".")[0] for name in NAMES}
    assert homes >= {"numpy", "math", "builtins", "scipy.special"}


@pytest.mark.parametrize("dotted", NAMES)
def test_a_served_name_has_an_entry(dotted):
    module, _, name = dotted.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    assert implementation(function) is not None


def test_a_function_that_is_no_ufunc_is_served(monkeypatch):
    cases = [(np.fix, "numpy.fix", "trunc"), (abs, "builtins.abs", "abs")]
    for function, dotted, mnemonic in cases:
        monkeypatch.delitem(TABLE, function)
        serve(dotted, mnemonic)
        compiled = gradc.compile(lambda x, f=function: f(x) * 2)
        np.testing.assert_array_equal(compiled(X), function(X) * 2)


def test_what_has_an_entry_keeps_it():
    entry = TABLE[builtins.abs]
    serve("builtins.abs", "abs")
    assert TABLE[builtins.abs] is entry
    assert implementation(math.sin) is not None


@pytest.mark.parametrize("dotted", ["numpy.no_such_function", "torch.sin", "sin"])
def test_an_unknown_name_is_refused(dotted):
    with pytest.raises(ValueError, match=f"sin serves {dotted}: expected a function of numpy"):
        serve(dotted, "sin")
