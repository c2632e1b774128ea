"""Shows how far a `pmap` is: a line on a terminal, or an output of a notebook's cell."""

from __future__ import annotations

import os
import sys
import time

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

__all__ = ["Progress"]

_FIRST_SECONDS = 1.0
_INTERVAL_SECONDS = 0.1


class Progress:
    """A bar that appears after a second and is removed at the end."""

    def __init__(self, shown: Optional[bool], total: Optional[int], unit: str) -> None:
        self._notebook = _notebook()
        self._is_shown = _is_visible(self._notebook) if shown is None else shown
        self._total = total
        self._unit = unit
        self._started = time.monotonic()
        self._due = self._started + _FIRST_SECONDS
        self._handle: Any = None
        self._drawn = False

    def update(self, done: int, jobs: int) -> None:
        """Draws the bar, if it is time."""
        if not self._is_shown or time.monotonic() < self._due:
            return
        now = time.monotonic()
        self._due = now + _INTERVAL_SECONDS
        self._draw(self._text(done, jobs, now - self._started))

    def _text(self, done: int, jobs: int, seconds: float) -> str:
        rate = f"{_short(done / seconds)}{self._unit}/s, {jobs} jobs"
        if not self._total:
            return f"{_short(done)}{self._unit}  {rate}"
        share = min(done / self._total, 1.0)
        left = seconds * (1 - share) / share if share else 0
        full = round(share * 20)
        bar = "▇" * full + "·" * (20 - full)
        return f"{bar} {share:4.0%}  {rate}, {left:.0f} s left"

    def _draw(self, text: str) -> None:
        if self._notebook is not None:
            if self._handle is None:
                self._handle = self._notebook.display({"text/plain": text}, raw=True, display_id=True)
            else:
                self._handle.update({"text/plain": text}, raw=True)
            return
        import shutil

        width = shutil.get_terminal_size().columns - 1
        clear = "\x1b[K" if os.environ.get("TERM") != "dumb" else ""
        sys.stderr.write(f"\r{text[:width]}{clear}")
        sys.stderr.flush()
        self._drawn = True

    def close(self) -> None:
        """Removes the bar from a terminal."""
        if self._drawn:
            self._drawn = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _notebook() -> Any:
    """Returns IPython's display module inside a notebook, else None."""
    core = sys.modules.get("IPython.core.getipython")
    shell = core.get_ipython() if core is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from importlib import import_module

    return import_module("IPython.display")


def _is_visible(notebook: Any) -> bool:
    try:
        return notebook is not None or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    except (AttributeError, ValueError):
        return False


def _short(number: float) -> str:
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g} "
