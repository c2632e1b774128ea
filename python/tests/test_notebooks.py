"""The magics, and the notebook that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pelton
from pelton import _magics

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "pelton.ipynb"


def test_the_notebook_runs() -> None:
    pytest.importorskip("ipykernel", reason="only the full lock file has notebooks")
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert shown[1][0].text == "5\n4\n"
    assert shown[2] == []
    assert "<svg" in shown[3][0].data["text/html"]
    assert shown[4][0].data["text/plain"] == "(['seq', 'sort', 'tail'], b'1\\n')"
    assert "sort the distinct lines" in shown[5][0].text
    assert shown[6][0].data["text/plain"] == "'2\\n'"


def test_the_line_magic(capfd: pytest.CaptureFixture[str]) -> None:
    assert _magics.pelton_magic("echo out; echo err >&2; exit 3") is None
    assert capfd.readouterr() == ("out\n", "err\npelton: the pipeline ended with status 3\n")
    assert isinstance(_magics.pelton_magic("time seq 3"), pelton.TimeRecord)
    assert capfd.readouterr().out == "1\n2\n3\n"
    with pytest.raises(pelton.PeltonError, match="empty"):
        _magics.pelton_magic("")


def test_the_cell_magic(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        user_ns: dict[str, Any] = {}

    monkeypatch.setattr(_magics, "_shell", Shell)
    assert _magics.pelton_magic("run --out kept", "echo a |\n cat\n") is None
    assert Shell.user_ns["kept"].stdout == "a\n"
    assert capfd.readouterr().out == ""
    with pytest.raises(pelton.PeltonError, match="cannot use the magic"):
        _magics.pelton_magic("nonsense", "echo a")


def test_registration() -> None:
    class IPython:
        registered: list[Any] = []

        def register_magic_function(self, *arguments: Any) -> None:
            self.registered.append(arguments[1:])

    pelton.load_ipython_extension(IPython())
    assert IPython.registered == [("line_cell", "pelton")]
