"""Counts what a `pmap` does, while it runs."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._pmap_stats import PmapStats


class Figures:
    """Holds the figures of `PmapStats`, by the same names. Its module is imported at every start of a `pmap`, and that of
    `PmapStats`, which takes as long as all others, only if somebody asks for it."""

    items = 0
    chunks = 0
    chunks_retried = 0
    jobs = 0
    seconds = 0.0
    seconds_fn = 0.0
    seconds_fn_cpu = 0.0
    seconds_fn_blocked = 0.0
    seconds_pickling = 0.0
    seconds_waiting = 0.0
    seconds_source = 0.0
    seconds_blocked = 0.0
    seconds_consumer = 0.0
    bytes_sent = 0
    bytes_received = 0

    def __init__(self, start: str) -> None:
        self.start = start
        self._started = 0.0

    def begin(self) -> None:
        """Starts the clock, if it does not run."""
        self._started = self._started or time.perf_counter()

    def now(self) -> None:
        """Notes the time so far, if the clock runs."""
        if self._started:
            self.seconds = time.perf_counter() - self._started

    def stats(self) -> PmapStats:
        """Returns the figures so far."""
        from ._pmap_stats import PmapStats

        return PmapStats(**{name: value for name, value in vars(self).items() if name != "_started"})
