"""Errors of the package."""

from __future__ import annotations

import subprocess

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "PeltonError",
    "PeltonNotFound",
    "PeltonRefused",
    "PipelineFailed",
    "PipelineTimeout",
    "RecordVersionError",
    "UnsupportedPlatform",
]


class PeltonError(Exception):
    """Is the base of the errors that are not also errors of `subprocess`."""


class PeltonNotFound(PeltonError):
    """Says that the `pelton` program is not installed where this Python looks for it."""


class UnsupportedPlatform(PeltonError):
    """Says that this system is not Linux, the only one on which pelton runs."""


class PeltonRefused(PeltonError):
    """Says that pelton did not do what it was asked for, and why.

    `args[0]` is pelton's own message, `returncode` its exit status, and `cmd` the command.
    """

    def __init__(self, message: str, returncode: int = 2, cmd: Any = None) -> None:
        super().__init__(message)
        self.returncode = returncode
        self.cmd = cmd

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.args[0], self.returncode, self.cmd))


class RecordVersionError(PeltonError):
    """Says that a record was written by a newer pelton than this package can read."""


class PipelineFailed(subprocess.CalledProcessError):
    """Says that a pipeline ended with a status other than 0, and `check` was true.

    Has the attributes of `subprocess.CalledProcessError`. `cmd` is the pipeline.
    """

    def __str__(self) -> str:
        # The base names the signal, or the status.
        text = super().__str__()
        return text + _last_lines(self.stderr)


class PipelineTimeout(subprocess.TimeoutExpired):
    """Says that a pipeline did not end in time. Every process of it has been killed.

    Has the attributes of `subprocess.TimeoutExpired`. `output` and `stderr` hold, as bytes, what
    was captured until then.
    """


def _last_lines(stderr: Any, most: int = 3) -> str:
    """Returns the end of the captured error messages, to add to an error's text."""
    if not stderr:
        return ""
    text = stderr.decode("utf-8", "replace") if isinstance(stderr, bytes) else str(stderr)
    lines = [line for line in text.splitlines() if line.strip()]
    return "".join(f"\n  {line}" for line in lines[-most:])


def _name_publicly() -> None:
    """Lets tracebacks and pickles name the public module."""
    for name in __all__:
        globals()[name].__module__ = "pelton"


_name_publicly()
