"""The magics `%pelton` and `%%pelton` of IPython and Jupyter: `%load_ext pelton`."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from ._errors import PeltonError
from ._run import explain, run, time

__all__ = ["load_ipython_extension", "pelton_magic"]

_VERBS = ("run", "time", "explain")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise PeltonError(f"cannot use the magic: {message}; try `%pelton time sort FILE | uniq -c`")


def pelton_magic(line: str, cell: str | None = None) -> Any:
    """Runs, times or explains a pipeline in a notebook.

    `%pelton [run|time|explain] PIPELINE` takes it from the line, `%%pelton [run|time|explain]
    [--out NAME]` from the cell. Without a verb it is `run`, which shows the output; `time` shows
    the timeline, and `explain` the plan. `--out` stores the result in a variable instead.
    """
    verb, out, text = _parsed(line, cell)
    if verb == "time":
        timed = time(text)
        result: Any = timed
        if out is None and timed.stdout:
            _show(timed.stdout.decode("utf-8", "replace"))
    elif verb == "explain":
        result = explain(text)
        if out is None:
            _show(result.explanation + "\n")
            return None
    else:
        result = run(text, capture_output=True, text=True, errors="replace")
        if out is None:
            _show(result.stdout or "")
            _show(result.stderr or "", is_error=True)
            if result.returncode:
                _show(f"pelton: the pipeline ended with status {result.returncode}\n", is_error=True)
            return None
    if out is not None:
        _shell().user_ns[out] = result
        return None
    return result


def _parsed(line: str, cell: str | None) -> tuple[str, str | None, str]:
    """Returns the verb, the variable and the pipeline."""
    if cell is None:
        first, _, rest = line.strip().partition(" ")
        if first in _VERBS and rest.strip():
            return first, None, rest.strip()
        if not line.strip():
            raise PeltonError("cannot run an empty pipeline; try `%pelton time sort FILE | uniq -c`")
        return "run", None, line.strip()
    parser = _Parser(prog="%%pelton", add_help=False)
    parser.add_argument("verb", nargs="?", choices=_VERBS, default="run")
    parser.add_argument("--out")
    options = parser.parse_args(shlex.split(line))
    return options.verb, options.out, cell.strip("\n")


def _shell() -> Any:
    from IPython import get_ipython  # type: ignore[import-not-found, unused-ignore]

    return get_ipython()  # type: ignore[no-untyped-call, unused-ignore]


def _show(text: str, is_error: bool = False) -> None:
    import sys

    (sys.stderr if is_error else sys.stdout).write(text)


def load_ipython_extension(ipython: Any) -> None:
    """Registers the magics; `%load_ext pelton` calls it."""
    ipython.register_magic_function(pelton_magic, "line_cell", "pelton")
