"""Runs in the processes of `pmap`: the server that forks workers, and the workers.

The server is a fresh interpreter without threads, so that forking is safe whatever the caller runs.
It imports nothing of the caller's. It ends when its caller does, and then ends the workers.
"""

from __future__ import annotations

import array
import functools
import io
import itertools
import os
import pickle
import select
import signal
import socket
import struct
import sys
import time

from . import _pmap_code
from ._pmap_wire import (
    AT,
    BLOCK,
    CAREFUL,
    ERROR,
    ITEMS,
    NOTHING,
    PICKLED,
    RANGE,
    RESULT,
    SETUP,
    UNREADABLE,
    Encoded,
    Reader,
    Writer,
    decode,
    encode,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

    from ._pmap_wire import Frame

# Items, then nanoseconds: reading, fn, in fn on a CPU, in fn waiting for one, waiting for the chunk.
COUNTS = struct.Struct("<QQQQQQ")
INDEX = struct.Struct("<Q")
EXTENT = struct.Struct("<QQ?")
# What the server tells: b"S" (started) or b"X" (ended), a process, its wait status, its peak memory.
TOLD = struct.Struct("<cIiQ")

# Whether this process is a worker: then `pmap` inside `pmap` uses one job by default.
is_worker = False

# How much of a file is read at once, and how much to find the end of a line.
PIECE_BYTES = 32 << 10
MORE_BYTES = 4 << 10
_ITEM_TEXT_MAX = 200


# The server.


def serve(number: int) -> None:
    """Forks a worker for each socket that arrives on descriptor `number`, until its end."""
    control = socket.socket(fileno=number)
    control.setblocking(True)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    workers: "Dict[int, None]" = {}
    try:
        _serve_until_end(control, wake_read, wake_write, workers)
    except OSError:
        # The caller has gone.
        pass
    finally:
        _end_workers(workers)
    os._exit(0)


def _serve_until_end(
    control: socket.socket, wake_read: int, wake_write: int, workers: "Dict[int, None]"
) -> None:
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(wake_read, select.POLLIN)
    asked_to_finish = False
    while not (asked_to_finish and not workers):
        ready = dict(poll.poll())
        if wake_read in ready:
            _drain(wake_read)
            _reap(control, workers)
        if control.fileno() in ready:
            message, fds = _receive(control)
            if not message:
                return
            if message == b"Q":
                asked_to_finish = True
            elif fds:
                pid = _fork_worker(fds[0], (control.fileno(), wake_read, wake_write))
                workers[pid] = None
                control.sendall(TOLD.pack(b"S", pid, 0, 0))


def _receive(control: socket.socket) -> "Tuple[bytes, List[int]]":
    try:
        message, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4))
    except ConnectionError:
        return b"", []
    fds: "List[int]" = []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += array.array("i", data[:4])
    return message, fds


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 512):
            pass
    except BlockingIOError:
        pass


def _reap(control: socket.socket, workers: "Dict[int, None]") -> None:
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if workers.pop(pid, 0) is None:
            try:
                control.sendall(TOLD.pack(b"X", pid, status, usage.ru_maxrss * 1024))
            except OSError:
                pass


def _end_workers(workers: "Dict[int, None]") -> None:
    for pid in workers:
        end_group(pid)
    for pid in workers:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass


def end_group(pid: int) -> None:
    """Kills a worker, and the processes that its items started."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except OSError:
            pass


def _fork_worker(fd: int, not_its: "Iterable[int]") -> int:
    pid = os.fork()
    if pid == 0:
        _become_worker(fd, not_its)
    os.close(fd)
    return pid


def _become_worker(fd: int, not_its: "Iterable[int]") -> None:
    try:
        for other in not_its:
            os.close(other)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        run_worker(fd)
    finally:
        os._exit(1)


# A worker.


def run_worker(fd: int, inherited: "Optional[Tuple[Any, ...]]" = None) -> None:
    """Answers the chunks that arrive on `fd`, then ends the process."""
    global is_worker
    is_worker = True
    os.setpgid(0, 0)
    # An interrupt is the caller's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sock = socket.socket(fileno=fd)
    try:
        Worker(sock, inherited).run()
        status = 0
    except (EOFError, ConnectionError):
        # The caller has finished, or has gone.
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    _flush()
    os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass


class Failed(Exception):
    """Carries the index of the item for which fn raised, and the results before it."""

    def __init__(self, index: int, item: "Any", before: "List[Any]") -> None:
        self.index = index
        self.item = item
        self.before = before


class Worker:
    """Runs fn over chunks, in the order in which they arrive."""

    def __init__(self, sock: socket.socket, inherited: "Optional[Tuple[Any, ...]]") -> None:
        self._reader = Reader(sock)
        self._writer = Writer(sock)
        self._file = -1
        self._inherited = inherited
        self._fn: "Callable[..., Any]" = _unset
        self._mode = "map"
        self._initial = b""
        try:
            self._schedule = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._schedule = -1

    def run(self) -> None:
        """Works until the caller closes the socket; raises EOFError then."""
        careful = False
        while True:
            waited = time.perf_counter_ns()
            frame = self._reader.read()
            assert frame is not None
            started = time.perf_counter_ns()
            if frame.kind == SETUP:
                self._set_up(frame)
            elif frame.kind == CAREFUL:
                careful = True
            else:
                self._answer(frame, started - waited, careful)
                careful = False
                _flush()

    def _set_up(self, frame: "Frame") -> None:
        self._file = self._reader.take_fd(close=False)
        path, self._mode, code, self._initial = pickle.loads(frame.body)
        # The server has a stand-in without contents (see `_start_server`).
        if not hasattr(sys.modules["pelton"], "__file__"):
            del sys.modules["pelton"]
        if self._inherited is not None:
            self._fn = self._inherited[0]
            return
        sys.path[:] = path
        try:
            self._fn = pickle.loads(code)
        except BaseException as error:
            # Told as an error of the first item: there is always one.
            self._fn = functools.partial(_raise, error)

    def _answer(self, frame: "Frame", waited_ns: int, careful: bool) -> None:
        started = time.perf_counter_ns()
        try:
            chunk = self._load(frame)
        except Exception as error:
            if frame.kind != ITEMS:
                raise
            self._send(UNREADABLE, Encoded(PICKLED, pickle.dumps(_describe(error))))
            return
        loaded, cpu, runnable = time.perf_counter_ns(), time.process_time_ns(), self._runnable_ns()
        try:
            count, results = self._compute(chunk, careful)
        except Failed as failed:
            self._send_failure(failed)
            return
        done, cpu, runnable = (
            time.perf_counter_ns(),
            time.process_time_ns() - cpu,
            self._runnable_ns() - runnable,
        )
        load = loaded - started + chunk.reading_ns
        counts = COUNTS.pack(
            count, load, done - loaded - chunk.reading_ns, cpu, runnable, waited_ns
        )
        try:
            encoded = _encode(results)
        except Exception as error:
            self._send_failure(_unsendable(results, error), error)
            return
        self._send(RESULT, encoded, counts + INDEX.pack(time.perf_counter_ns() - done))

    def _runnable_ns(self) -> int:
        """Returns for how long this thread was ready to run and had no CPU; 0 if that is unknown."""
        if self._schedule < 0:
            return 0
        return int(os.pread(self._schedule, 100, 0).split()[1])

    def _send(self, kind: int, encoded: Encoded, prefix: bytes = b"") -> None:
        self._writer.put(kind, encoded, prefix)
        self._writer.flush()

    def _load(self, frame: "Frame") -> "Chunk":
        if frame.kind == ITEMS:
            return ListChunk(decode(frame.encoding, frame.body, frame.buffers))
        if frame.kind == BLOCK:
            return BlockChunk(bytes(frame.body))
        return RangeChunk(self._file, *EXTENT.unpack(frame.body))

    def _compute(self, chunk: "Chunk", careful: bool) -> "Tuple[int, List[Any]]":
        """Returns the number of items and the results."""
        if self._mode == "filter" or careful:
            chunk = ListChunk(list(chunk.items()))
        items = self._tell_each(chunk.items()) if careful else chunk.items()
        if self._mode == "fold":
            return self._fold(chunk, items)
        results: "List[Any]" = []
        end = End()
        try:
            # No Python code runs for an item but fn. If it raises, the list holds what was before.
            results.extend(map(self._fn, itertools.chain(items, end)))
            if not end.was_reached:
                # `map` takes StopIteration from fn for the end of its input.
                raise RuntimeError("fn raised StopIteration")
        except BaseException as error:
            raise Failed(len(results), chunk.item(len(results)), results) from error
        if self._mode == "filter":
            return len(results), list(itertools.compress(chunk.items(), results))
        return len(results), results

    def _fold(self, chunk: "Chunk", items: "Iterable[Any]") -> "Tuple[int, List[Any]]":
        try:
            folded = functools.reduce(self._fn, items, pickle.loads(self._initial))
        except BaseException as error:
            # Which item is not known: counting them would slow every other chunk.
            raise Failed(0, Words(f"one of those from {_text(chunk.item(0))}"), []) from error
        return chunk.count(), [folded]

    def _tell_each(self, items: "Iterable[Any]") -> "Iterable[Any]":
        """Tells the caller before each item, so that it can name the one that ends the process."""
        for index, item in enumerate(items):
            self._send(AT, Encoded(NOTHING, INDEX.pack(index)))
            yield item

    def _send_failure(self, failed: Failed, error: "Optional[BaseException]" = None) -> None:
        error = error or failed.__cause__
        assert error is not None
        try:
            # Both ways: an exception may pickle well and fail to be read.
            pickled: "Optional[bytes]" = _dumps(error)
            pickle.loads(pickled)  # type: ignore[arg-type]
        except Exception:
            pickled = None
        try:
            before = _encode(failed.before if self._mode == "map" else [])
        except Exception:
            before = encode([])
        story = (failed.index, _text(failed.item), pickled, _describe(error), type(error).__name__)
        body = pickle.dumps(story)
        self._send(ERROR, Encoded(before.encoding, INDEX.pack(len(body)) + body + before.body, before.buffers))


def _unset(*_: "Any") -> "Any":
    raise RuntimeError("no function was sent")


def _raise(error: BaseException, *_: "Any") -> "Any":
    raise error


def _encode(results: "List[Any]") -> Encoded:
    try:
        return encode(results)
    except Exception:
        cloud = _pmap_code.cloud_dumps()
        if cloud is None:
            raise
        return encode(results, cloud)


def _dumps(value: "Any") -> bytes:
    try:
        return pickle.dumps(value, 5)
    except Exception:
        cloud = _pmap_code.cloud_dumps()
        if cloud is None:
            raise
        return cloud(value, 5)


def _unsendable(results: "List[Any]", error: Exception) -> Failed:
    """Returns the first result that cannot be sent, as a failure of its item."""
    for index, result in enumerate(results):
        try:
            _encode([result])
        except Exception:
            words = Words(f"its result cannot be pickled: {_text(result)}")
            return Failed(index, words, results[:index])
    return Failed(0, Words("its result cannot be pickled"), [])


def _text(item: "Any") -> str:
    if isinstance(item, Words):
        return item.text
    try:
        text = repr(item)
    except Exception as error:
        text = f"<an item whose repr fails: {error!r}>"
    return text if len(text) <= _ITEM_TEXT_MAX else text[:_ITEM_TEXT_MAX] + "…"


def _describe(error: BaseException) -> str:
    """Returns the traceback without this module's own frames."""
    import traceback

    entries = traceback.extract_tb(error.__traceback__)
    own = __file__
    shown = [entry for entry in entries if entry.filename != own] or list(entries)
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(shown)]
    return "".join([*lines, *traceback.format_exception_only(type(error), error)])


class Words:
    """Stands for an item that is described instead of shown."""

    def __init__(self, text: str) -> None:
        self.text = text


class End:
    """An empty iterator that remembers whether it was asked for its first item."""

    was_reached = False

    def __iter__(self) -> "End":
        return self

    def __next__(self) -> "Any":
        self.was_reached = True
        raise StopIteration


# Chunks.


class Chunk:
    """The items of a frame."""

    # Time for reading the file, which is not time of fn.
    reading_ns = 0

    def items(self) -> "Iterable[Any]":
        """Returns the items, from the first."""
        raise NotImplementedError

    def count(self) -> int:
        """Returns the number of items."""
        return sum(1 for _ in self.items())

    def item(self, index: int) -> "Any":
        """Returns an item, or None past the end."""
        return next(itertools.islice(self.items(), index, None), None)


class ListChunk(Chunk):
    """Items that were sent."""

    def __init__(self, items: "Sequence[Any]") -> None:
        self._items = items

    def items(self) -> "Iterable[Any]":
        return self._items

    def count(self) -> int:
        return len(self._items)


class BlockChunk(Chunk):
    """Lines that were sent as one piece of bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def items(self) -> "Iterable[Any]":
        return io.BytesIO(self._data)

    def count(self) -> int:
        return _count_lines(self._data)


class RangeChunk(Chunk):
    """The lines of a file that begin at an offset from `start` to `end`.

    `is_first`: a line begins at `start`. Otherwise it does if a newline is before it.
    """

    def __init__(self, fd: int, start: int, end: int, is_first: bool) -> None:
        self._fd, self._start, self._end, self._is_first = fd, start, end, is_first

    def items(self) -> "Iterable[Any]":
        return itertools.chain.from_iterable(map(io.BytesIO, self._timed_pieces()))

    def count(self) -> int:
        return sum(map(_count_lines, self._pieces()))

    def _timed_pieces(self) -> "Iterator[bytes]":
        pieces = self._pieces()
        while True:
            started = time.perf_counter_ns()
            piece = next(pieces, None)
            self.reading_ns += time.perf_counter_ns() - started
            if piece is None:
                return
            yield piece

    def _pieces(self) -> "Iterator[bytes]":
        """Yields whole lines, as many at a time as stay in the CPU's cache."""
        at = self._start if self._is_first else self._after_newline(self._start - 1)
        size = PIECE_BYTES
        while at < self._end:
            data = os.pread(self._fd, min(size, self._end - at), at)
            if not data:
                return
            if at + len(data) >= self._end:
                yield self._to_newline(data, at + len(data))
                return
            cut = data.rfind(b"\n") + 1
            if cut:
                yield data[:cut]
                at += cut
                size = PIECE_BYTES
            else:
                size *= 2

    def _after_newline(self, at: int) -> int:
        """Returns the offset after the first newline from `at`, or the end."""
        while at < self._end:
            data = os.pread(self._fd, MORE_BYTES, at)
            newline = data.find(b"\n")
            if newline >= 0:
                return at + newline + 1
            if not data:
                break
            at += len(data)
        return self._end

    def _to_newline(self, data: bytes, at: int) -> bytes:
        parts = [data]
        while not parts[-1].endswith(b"\n"):
            more = os.pread(self._fd, MORE_BYTES, at)
            if not more:
                break
            at += len(more)
            parts.append(more[: more.find(b"\n") + 1] or more)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))
