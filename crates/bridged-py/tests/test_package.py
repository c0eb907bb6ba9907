"""What is installed with the package, besides its code."""

import importlib.metadata
import json


def test_the_package_lists_what_is_compiled_into_it():
    files = importlib.metadata.files("bridged") or []
    bills = [f for f in files if "sboms" in f.parts and f.name.endswith(".json")]
    assert bills, "no bill of materials under *.dist-info/sboms"
    bill = json.loads(bills[0].locate().read_text())
    names = {component["name"] for component in bill["components"]}
    assert {"bridged", "bridged-math", "pyo3", "numpy", "rayon"} <= names


def test_the_package_ships_its_types_and_licences():
    files = importlib.metadata.files("bridged") or []
    names = {f.name for f in files}
    assert {"py.typed", "_native.pyi", "LICENSE-MIT", "LICENSE-APACHE"} <= names
