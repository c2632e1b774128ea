"""Keeps workers busy, from the thread that asks for results.

There is no helper thread: an interrupt, an exception or the end of the caller finds everything in one
place, and nothing computes ahead of a caller that does not ask (back-pressure). Each worker has a
chunk at work and one that waits in its socket; the results of what the caller has not yet asked for
stay in a window of limited size.
"""

from __future__ import annotations

import os
import select
import time
import weakref
from collections import deque

from . import _pmap_worker
from ._lifetime import DeferredInterrupt
from ._pmap_code import cloud_dumps
from ._pmap_errors import WorkerDied, item_failed
from ._pmap_source import Chunk, Items, Source
from ._pmap_start import Death, Link, Starter, set_up
from ._pmap_figures import Figures
from ._pmap_wire import AT, CAREFUL, ERROR, NOTHING, RESULT, UNREADABLE, Encoded, Frame, decode
from ._pmap_worker import COUNTS, INDEX

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Deque, Dict, Iterator, List, Optional, Sequence, Union

    from ._pmap_stats import PmapStats

__all__ = ["Engine", "Jobs"]

# One at work, one that waits.
_CHUNKS_PER_WORKER = 2
# Where fn waits for something outside, more workers than CPUs help: so many times at most.
_JOBS_PER_CPU = 4
# How long a result takes to arrive after it was computed, on a busy machine.
_RESULT_SECONDS = 0.02
# An iterable that takes longer than this for a chunk may make results wait.
_SLOW_PULL_SECONDS = 0.005
# What fn is watched for before that is decided.
_LEARN_SECONDS = 0.1
# Results that wait for the caller, or for earlier ones.
_HELD_BYTES_MAX = 64 << 20


def cpus() -> int:
    """Returns how many CPUs this process may use, by its affinity and its control group."""
    allowed = len(os.sched_getaffinity(0))
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        if quota != "max":
            allowed = min(allowed, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):
        pass
    return allowed


class Jobs:
    """Says how many workers there should be."""

    def __init__(self, jobs: Union[int, str]) -> None:
        if jobs != "auto" and (isinstance(jobs, (bool, str)) or jobs < 1):
            raise ValueError(f"pelton: pmap: jobs must be 'auto' or a number from 1, not {jobs!r}")
        self.is_elastic = jobs == "auto"
        self._cpus = 1 if _pmap_worker.is_worker else cpus()
        self.most = self._cpus if self.is_elastic else int(jobs)

    def learn(self, figures: Union[Figures, PmapStats]) -> None:
        """Allows more workers than CPUs if fn leaves CPUs idle."""
        if self.is_elastic and figures.seconds_fn > _LEARN_SECONDS:
            busy = max(1 - figures.seconds_fn_blocked / figures.seconds_fn, 1 / _JOBS_PER_CPU)
            self.most = max(self._cpus, round(self._cpus / busy))


class _Result:
    """The results of a chunk, or the error that takes their place."""

    __slots__ = ("values", "size_bytes", "error")

    def __init__(self, values: Sequence[Any], size_bytes: int, error: Any = None) -> None:
        self.values = values
        self.size_bytes = size_bytes
        # Takes the number of results delivered and returns the exception.
        self.error = error


class Engine:
    """One run of `pmap`: source, workers and the window of results."""

    def __init__(
        self, starter: Starter, source: Source, setup: bytes, jobs: Jobs, ordered: bool
    ) -> None:
        self.figures = Figures(starter.name)
        self._starter, self._source, self._setup, self._jobs = starter, source, setup, jobs
        self._ordered = ordered
        self._links: Dict[int, Link] = {}
        self._again: Deque[Chunk] = deque()
        self._ready: Dict[int, _Result] = {}
        self._held_bytes = 0
        self._next = 0
        self._done = 0
        self.progress = 0
        self._closed = False
        # Until when results that are about to come are waited for before the iterable is asked again.
        self._patient_until = 0.0
        self._finalize = weakref.finalize(self, _abandon, starter, source, self._links, os.getpid())

    # What the caller sees.

    @property
    def stats(self) -> PmapStats:
        """Returns the figures so far."""
        return self.figures.stats()

    def batches(self) -> Iterator[Sequence[Any]]:
        """Yields results, as many at once as arrive together."""
        at_once = True
        self.figures.begin()
        try:
            while True:
                result = self._take_ready()
                if result is not None:
                    yield from self._deliver(result)
                elif self._is_finished():
                    break
                else:
                    self._step()
            at_once = False
            if self._source.error is not None:
                raise self._source.error
        finally:
            self.close(at_once)

    def _deliver(self, result: _Result) -> Iterator[Sequence[Any]]:
        values = result.values
        result.values = []
        self._done += len(values)
        if values:
            given = time.perf_counter()
            yield values
            self.figures.seconds_consumer += time.perf_counter() - given
        if result.error is not None:
            raise result.error(self._done)

    def _take_ready(self) -> Optional[_Result]:
        if not self._ready:
            return None
        number = self._next if self._ordered else next(iter(self._ready))
        result = self._ready.pop(number, None)
        if result is not None:
            self._next += 1
            self._held_bytes -= result.size_bytes
        return result

    def _is_finished(self) -> bool:
        return (
            self._source.is_at_end
            and not self._again
            and not self._ready
            and not any(link.outstanding for link in self._links.values())
        )

    def close(self, at_once: bool = True) -> None:
        """Ends the workers and closes everything."""
        if self._closed:
            return
        self._closed = True
        with DeferredInterrupt():
            self._finalize.detach()
            self.figures.now()
            _close(self._starter, self._source, self._links, at_once)

    # One step of the loop.

    def _step(self) -> None:
        self._fill()
        for link in list(self._links.values()):
            self._flush(link)
        if self._is_finished():
            return
        can_pull = self._has_room() and not self._source.is_at_end and self._source.waits_for < 0
        can_give = self._freest_exists()
        self._wait(self._patience() if can_pull and can_give else None)

    def _patience(self) -> float:
        """Returns for how many seconds results are still waited for before the iterable is asked again.

        That might take long, and results that are about to come would have to wait for it.
        """
        if not any(link.outstanding for link in self._links.values()):
            return 0.0
        return max(self._patient_until - time.perf_counter(), 0.0)

    def _fill(self) -> None:
        """Gives chunks to workers, and starts one more if all have enough."""
        while self._again or not self._patience():
            link = self._freest()
            if link is None:
                return
            chunk = self._again.popleft() if self._again else self._pull()
            if chunk is None:
                return
            self._give(link, chunk)

    def _freest(self) -> Optional[Link]:
        """Returns the worker with the least to do; a new one before any has two chunks."""
        least = min(self._links.values(), key=lambda link: len(link.outstanding), default=None)
        if least is not None and not least.outstanding:
            return least
        has_more = bool(self._again) or (not self._source.is_at_end and self._has_room())
        if has_more and len(self._links) < self._jobs.most and self._may_grow():
            return self._start()
        if least is not None and len(least.outstanding) < _CHUNKS_PER_WORKER:
            return least
        return None

    def _may_grow(self) -> bool:
        """Whether another worker can help: not where chunks take less time than to hand them out."""
        figures = self.figures
        # Nothing is known before the first result. A worker costs 2 ms, and waiting may cost more.
        return not figures.chunks or figures.seconds_fn > figures.seconds_pickling / 2

    def _has_room(self) -> bool:
        window = self.figures.chunks and 8 * self._jobs.most + 8 or 2 * self._jobs.most
        waiting = len(self._ready) + sum(len(link.outstanding) for link in self._links.values())
        return waiting < window and self._held_bytes < _HELD_BYTES_MAX

    def _pull(self) -> Optional[Chunk]:
        source = self._source
        if source.is_at_end or not self._has_room():
            return None
        if source.waits_for >= 0 and not _is_readable(source.waits_for):
            return None
        started = time.perf_counter()
        chunk = source.next_chunk()
        ended = time.perf_counter()
        self.figures.seconds_source += ended - started
        if ended - started >= _SLOW_PULL_SECONDS:
            service = self.figures.seconds_fn / max(self.figures.chunks, 1)
            self._patient_until = ended + min((ended - started) / 2, 2 * service + _RESULT_SECONDS)
        return chunk

    def _start(self) -> Link:
        try:
            with DeferredInterrupt():
                link = self._starter.start()
                self._links[link.fd] = link
        except ConnectionError:
            raise self._server_died() from None
        self.figures.jobs = max(self.figures.jobs, len(self._links))
        set_up(link, self._setup, self._source.shared_fd)
        return link

    def _give(self, link: Link, chunk: Chunk) -> None:
        if chunk.deaths:
            link.writer.put(CAREFUL, Encoded(NOTHING, b""))
        link.writer.put(chunk.kind, chunk.encoded)
        self.figures.bytes_sent += chunk.encoded.bytes_in_all()
        link.outstanding.append(chunk)

    def _flush(self, link: Link) -> None:
        try:
            link.writer.flush()
        except EOFError:
            # Reading finds out what happened, and takes the results that were sent before.
            link.writer.close()

    def _wait(self, timeout: Optional[float]) -> None:
        """Waits until a worker, the server or the source has something."""
        poll = select.poll()
        for fd, link in self._links.items():
            poll.register(fd, select.POLLIN | (0 if link.writer.is_empty else select.POLLOUT))
        if self._starter.fd >= 0:
            poll.register(self._starter.fd, select.POLLIN)
        waits_for = self._source.waits_for
        if waits_for >= 0 and self._has_room() and self._freest_exists():
            poll.register(waits_for, select.POLLIN)
        started = time.perf_counter()
        events = poll.poll(None if timeout is None else timeout * 1000)
        self.figures.seconds_blocked += time.perf_counter() - started
        for fd, event in events:
            if fd in self._links:
                self._serve(self._links[fd], event)
            elif fd == self._starter.fd:
                self._hear_server()

    def _freest_exists(self) -> bool:
        if len(self._links) < self._jobs.most:
            return True
        return any(len(link.outstanding) < _CHUNKS_PER_WORKER for link in self._links.values())

    def _hear_server(self) -> None:
        try:
            self._starter.look()
        except (EOFError, ConnectionError):
            raise self._server_died() from None

    def _server_died(self) -> WorkerDied:
        return WorkerDied("the start of workers", None, -9, 0, self._done)

    def _serve(self, link: Link, event: int) -> None:
        if event & select.POLLOUT:
            self._flush(link)
        if not event & ~select.POLLOUT:
            return
        try:
            while True:
                frame = link.reader.read()
                if frame is None:
                    return
                self._take(link, frame)
        except EOFError:
            self._bury(link)

    # What workers send.

    def _take(self, link: Link, frame: Frame) -> None:
        if frame.kind == AT:
            (link.at,) = INDEX.unpack(frame.body)
            return
        chunk: Chunk = link.outstanding.popleft()
        link.at = None
        if frame.kind == RESULT:
            self._take_result(chunk, frame)
        elif frame.kind == UNREADABLE:
            self._send_otherwise(chunk, frame)
        elif frame.kind == ERROR:
            self._take_error(chunk, frame)

    def _take_result(self, chunk: Chunk, frame: Frame) -> None:
        count, load, fn, cpu, runnable, waited = COUNTS.unpack_from(frame.body)
        (dump,) = INDEX.unpack_from(frame.body, COUNTS.size)
        body = frame.body[COUNTS.size + INDEX.size :]
        size_bytes = body.nbytes + sum(buffer.nbytes for buffer in frame.buffers)
        started = time.perf_counter()
        values = decode(frame.encoding, body, frame.buffers)
        figures = self.figures
        figures.seconds_pickling += (load + dump) / 1e9 + time.perf_counter() - started
        figures.seconds_fn += fn / 1e9
        figures.seconds_fn_cpu += cpu / 1e9
        figures.seconds_fn_blocked += max(fn - cpu - runnable, 0) / 1e9
        figures.seconds_waiting += waited / 1e9
        figures.items += count
        figures.chunks += 1
        figures.bytes_received += size_bytes
        figures.now()
        self.progress += chunk.size
        largest = max(size_bytes, chunk.encoded.bytes_in_all())
        # Without the time in which other programs had the CPU: chunks must not shrink for that.
        self._source.sizes.learn(chunk.size, (load + fn - min(runnable, fn) + dump) / 1e9, largest)
        self._jobs.learn(figures)
        self._put(chunk, _Result(values, size_bytes))

    def _put(self, chunk: Chunk, result: _Result) -> None:
        self._ready[chunk.number] = result
        self._held_bytes += result.size_bytes

    def _take_error(self, chunk: Chunk, frame: Frame) -> None:
        import pickle

        (length,) = INDEX.unpack_from(frame.body)
        story = pickle.loads(frame.body[INDEX.size : INDEX.size + length])
        before = decode(frame.encoding, frame.body[INDEX.size + length :], frame.buffers)
        index = None if chunk.first is None else chunk.first + story[0]
        if index is not None:
            position = f"item {index}"
        else:
            position = f"line {story[0]} (from 0) of {chunk.position}"
        self._put(chunk, _Result(before, 0, lambda done: item_failed(story, position, index, done)))

    def _send_otherwise(self, chunk: Chunk, frame: Frame) -> None:
        """Sends items again that a worker could not read: their class is in `__main__`."""
        import pickle

        told = pickle.loads(frame.body)
        cloud = cloud_dumps()
        source = self._source
        if cloud is None or chunk.items is None or not isinstance(source, Items) or chunk.deaths:
            error = TypeError(
                f"pelton: pmap: a worker cannot read {chunk.position}: {told.strip().splitlines()[-1]}; "
                "try `pip install cloudpickle`, move the class to a module, or start='fork'"
            )
            self._put(chunk, _Result([], 0, lambda done: error))
            return
        source.dumps = cloud
        chunk.encoded = Encoded(chunk.encoded.encoding, cloud(chunk.items, 5))
        chunk.items = None
        self._again.appendleft(chunk)

    # Workers that die.

    def _bury(self, link: Link) -> None:
        """Tries the chunk of a dead worker once more, and puts back the one that waited."""
        death = self._starter.death(link)
        chunks: List[Chunk] = list(link.outstanding)
        del self._links[link.fd]
        link.close()
        if chunks:
            chunks[0].deaths += 1
            if chunks[0].deaths > 1:
                self._give_up(chunks.pop(0), death, link.at)
            else:
                self.figures.chunks_retried += 1
        self._again.extendleft(reversed(chunks))

    def _give_up(self, chunk: Chunk, death: Death, at: Optional[int]) -> None:
        def error(done: int) -> BaseException:
            return WorkerDied(chunk.position, at, death.returncode, death.memory_max_bytes, done)

        self._put(chunk, _Result([], 0, error))


def _is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _close(starter: Starter, source: Source, links: Dict[int, Link], at_once: bool) -> None:
    for link in links.values():
        link.close()
    links.clear()
    starter.close(at_once)
    source.close()


def _abandon(starter: Starter, source: Source, links: Dict[int, Link], pid: int) -> None:
    if pid == os.getpid():
        with DeferredInterrupt():
            _close(starter, source, links, at_once=True)
