"""The example notebook runs from start to end."""

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient


@pytest.mark.filterwarnings("ignore")
def test_the_example_notebook_runs_from_start_to_end():
    path = ROOT / "examples" / "demo.ipynb"
    book = nbformat.read(path, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    for cell in code:
        cell.outputs, cell.execution_count = [], None
    # A failing cell raises; the notebook has assertions of its own.
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": path.parent}}).execute()
    assert all(cell.execution_count for cell in code)
    pictures = [o.data["text/html"] for c in code for o in c.outputs if "text/html" in o.get("data", {})]
    assert any(html.startswith("<svg") for html in pictures)
