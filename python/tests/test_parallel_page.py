"""The book's page about Popen, pmap and the pytest plugin."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "python-parallel.md"


def test_examples_of_the_page() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 10
    assert failed == 0
