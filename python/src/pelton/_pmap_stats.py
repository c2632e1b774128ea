"""Says where the time of a `pmap` went, and whether processes helped."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

__all__ = ["PmapStats"]

# Runs shorter than this are mostly the start of the processes.
_SHORT_SECONDS = 0.15


def gil_is_off() -> bool:
    """Whether this Python runs threads in parallel."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    return enabled is not None and not enabled()


@dataclass
class PmapStats:
    """Holds the figures of a `pmap`, `pfilter` or `pfold`, up to when they were asked for.

    Attributes:
        items: Items of which the results have arrived.
        chunks: Chunks of which the results have arrived.
        chunks_retried: Chunks tried again because their worker died.
        jobs: The most workers at one time.
        start: How workers start: "forkserver" or "fork".
        seconds: Time from the first request for a result to the last result.
        seconds_fn: Time in fn, of all workers, with the loop around it.
        seconds_fn_cpu: CPU time of that.
        seconds_fn_blocked: Time in fn in which it neither ran nor waited for a CPU: sleep, network.
        seconds_pickling: Time for packing and unpacking items and results, of all processes.
        seconds_waiting: Time in which workers had nothing to do.
        seconds_source: Time in which the caller took items from its iterable.
        seconds_blocked: Time in which the caller waited for workers.
        seconds_consumer: Time between handing out results and being asked for more.
        bytes_sent: Bytes of items sent to workers.
        bytes_received: Bytes of results sent by workers.
    """

    items: int = 0
    chunks: int = 0
    chunks_retried: int = 0
    jobs: int = 0
    start: str = "forkserver"
    seconds: float = 0.0
    seconds_fn: float = 0.0
    seconds_fn_cpu: float = 0.0
    seconds_fn_blocked: float = 0.0
    seconds_pickling: float = 0.0
    seconds_waiting: float = 0.0
    seconds_source: float = 0.0
    seconds_blocked: float = 0.0
    seconds_consumer: float = 0.0
    bytes_sent: int = 0
    bytes_received: int = 0
    free_threaded: bool = field(default_factory=gil_is_off)

    def _share(self, seconds: float) -> float:
        whole = self.seconds_fn + self.seconds_pickling + self.seconds_waiting
        return seconds / whole if whole else 0.0

    @property
    def share_fn(self) -> float:
        """Returns the share of time in fn, 0 to 1; the three shares add up to 1."""
        return self._share(self.seconds_fn)

    @property
    def share_pickling(self) -> float:
        """Returns the share of time spent in packing and unpacking."""
        return self._share(self.seconds_pickling)

    @property
    def share_waiting(self) -> float:
        """Returns the share of time in which workers waited for work."""
        return self._share(self.seconds_waiting)

    @property
    def verdict(self) -> str:
        """Returns a sentence: whether processes helped, and what sets the pace."""
        if not self.items:
            return "there were no items"
        return self._pace() + (
            "; this Python has no GIL: threads would save the pickling" if self.free_threaded else ""
        )

    def _pace(self) -> str:
        each = f"fn costs {duration(self.seconds_fn / self.items)} an item"
        if self.seconds_fn < self.seconds:
            if self.seconds_consumer > 0.6 * self.seconds:
                return f"{each}: whoever takes the results sets the pace"
            if self.seconds_source > 0.6 * self.seconds and self.seconds_fn > 0.3 * self.seconds:
                return f"{each}: making the items sets the pace"
            if self.seconds < _SHORT_SECONDS:
                return f"{each}, {duration(self.seconds_fn)} in all: starting processes takes longer"
            return f"{each}: processes cannot help (a loop takes about {duration(self.seconds_fn)}, this took {duration(self.seconds)})"
        times = f"{self.seconds_fn / self.seconds:.1f} times as fast as a loop, with {self.jobs} jobs"
        waits = self.seconds_fn_blocked / self.seconds_fn
        if waits > 0.5:
            return f"{each} and waits {waits:.0%} of that: {times}; threads would do as well"
        return f"{each}: {times}"


def duration(seconds: float) -> str:
    """Returns a time with its unit: `2 µs`, `3.4 ms`, `12 s`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
