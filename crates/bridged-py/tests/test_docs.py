"""Every example in the documentation runs, and the package is typed."""

import ast
import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from conftest import ROOT

import bridged
from bridged import _native

#: Modules that need a package that is not always there.
NEEDS = {"bridged.spark": "pyspark", "bridged.ray": "ray", "bridged._partition": "pyarrow"}
MODULES = ["bridged", *(f"bridged.{m.name}" for m in pkgutil.iter_modules(bridged.__path__) if m.name != "_native")]
PACKAGE = Path(bridged.__file__).parent


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def test_public_classes_and_functions_have_examples():
    for name in bridged.__all__:
        thing = getattr(bridged, name)
        if inspect.isclass(thing) and name != "Prediction" or inspect.isfunction(thing):
            assert ">>>" in (thing.__doc__ or ""), name


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_the_stubs_name_what_the_native_layer_has():
    stubs = ast.parse((PACKAGE / "_native.pyi").read_text())
    named = {}
    for node in stubs.body:
        if isinstance(node, ast.FunctionDef):
            named[node.name] = None
        elif isinstance(node, ast.ClassDef):
            named[node.name] = {f.name for f in node.body if isinstance(f, ast.FunctionDef) and f.name[0] != "_"}
    public = {name for name in dir(_native) if not name.startswith("_")}
    assert set(named) == public
    for name, methods in named.items():
        if methods is not None:
            assert methods - {"__init__"} == {m for m in vars(getattr(_native, name)) if not m.startswith("_")}


def test_the_examples_of_the_guide_run():
    guide = ROOT / "docs" / "how-to" / "python.md"
    found = doctest.testfile(str(guide), module_relative=False, encoding="utf-8")
    assert found.attempted > 10 and found.failed == 0
