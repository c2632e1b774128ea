"""Errors of `pmap`, `pfilter` and `pfold`."""

from __future__ import annotations

import signal

from ._errors import PeltonError

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Tuple

__all__ = ["ItemError", "WorkerDied"]


class ItemError(PeltonError):
    """Says for which item fn raised.

    It is the cause (`__cause__`) of the exception that fn raised; and is raised itself if that
    exception cannot be sent between processes.

    Attributes:
        index: The item's position, from 0; in a file whose lines are read by the workers None.
        position: Where the item is, in words.
        item: The item's repr, 200 characters at most.
        done: How many results were delivered before.
        traceback: The worker's traceback.
    """

    def __init__(
        self, index: Optional[int], position: str, item: str, done: int, traceback: str
    ) -> None:
        super().__init__(index, position, item, done, traceback)
        self.index = index
        self.position = position
        self.item = item
        self.done = done
        self.traceback = traceback

    def __str__(self) -> str:
        return (
            f"fn failed for {self.position}: {self.item}\n"
            f"({self.done} results were delivered before)\nin the worker:\n{self.traceback}"
        )


class WorkerDied(PeltonError):
    """Says that a worker process died twice over the same items.

    Attributes:
        position: Which items it was working on, in words.
        index: The item during which it died the second time, counted from the first of them.
        returncode: Its exit status, or the negative number of the signal that ended it.
        memory_max_bytes: The most memory that it had used.
        done: How many results were delivered before.
    """

    def __init__(
        self, position: str, index: Optional[int], returncode: int, memory_max_bytes: int, done: int
    ) -> None:
        super().__init__(position, index, returncode, memory_max_bytes, done)
        self.position = position
        self.index = index
        self.returncode = returncode
        self.memory_max_bytes = memory_max_bytes
        self.done = done

    def __str__(self) -> str:
        at = "" if self.index is None else f", at number {self.index} of them (from 0)"
        return (
            f"a worker {describe_end(self.returncode)} over {self.position}{at}; they were tried "
            f"twice. It had used {self.memory_max_bytes / 1e6:.0f} MB of memory. "
            f"{self.done} results were delivered before"
        )


def describe_end(returncode: int) -> str:
    """Returns how a process ended, in words."""
    if returncode >= 0:
        return f"ended with status {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    hint = ", as the kernel does when memory runs out," if returncode == -signal.SIGKILL else ""
    return f"was killed by {name}{hint}"


def item_failed(
    story: "Tuple[int, str, Optional[bytes], str, str]", position: str, index: Optional[int], done: int
) -> BaseException:
    """Returns what to raise: fn's exception, caused by an ItemError, or that alone."""
    import pickle

    _, item, pickled, traceback, _ = story
    cause = ItemError(index, position, item, done, traceback)
    error: Any = None
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except Exception:
            pass
    if not isinstance(error, BaseException):
        return cause
    error.__cause__ = cause
    return error
