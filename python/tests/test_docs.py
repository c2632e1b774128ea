"""The book's pages about the package."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent
BOOK = PACKAGE.parent / "docs"


def test_examples_of_the_book() -> None:
    page = BOOK / "python.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 10
    assert failed == 0


@pytest.mark.skipif(not (3, 11) <= sys.version_info[:2] <= (3, 13), reason="others show signatures otherwise")
def test_the_reference_is_what_the_docstrings_say() -> None:
    program = PACKAGE / "tools" / "generate_reference.py"
    done = subprocess.run([sys.executable, str(program), "--check"], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
