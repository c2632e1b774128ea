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
import traceback

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
    from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

    from ._pmap_wire import Frame

# Items, then nanoseconds: reading, fn, in fn on a CPU, in fn waiting for one, waiting for the chunk.
COUNTS = struct.Struct("<QQQQQQ")
INDEX = struct.Struct("<Q")
EXTENT = struct.Struct("<QQ?")
# What the server tells: b"S" (started) or b"X" (ended), a process, its wait status, its peak memory.
TOLD = struct.Struct("<cIiQ")

# Whether this process is a worker: then `pmap` inside `pmap` uses one job by default.
is_worker = False

_MORE_BYTES = 1 << 16
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
    if pid:
        os.close(fd)
        return pid
    try:
        for other in not_its:
            os.close(other)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        run_worker(fd)
    finally:
        os._exit(1)
    return 0


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
            data, items = self._load(frame)
        except Exception as error:
            if frame.kind != ITEMS:
                raise
            self._send(UNREADABLE, Encoded(PICKLED, pickle.dumps(_describe(error))))
            return
        loaded, cpu, runnable = time.perf_counter_ns(), time.process_time_ns(), self._runnable_ns()
        try:
            count, results = self._compute(data, items, careful)
        except Failed as failed:
            self._send_failure(failed)
            return
        done, cpu, runnable = (
            time.perf_counter_ns(),
            time.process_time_ns() - cpu,
            self._runnable_ns() - runnable,
        )
        counts = COUNTS.pack(count, loaded - started, done - loaded, cpu, runnable, waited_ns)
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

    def _load(self, frame: "Frame") -> "Tuple[Optional[bytes], List[Any]]":
        """Returns lines as one piece of bytes, or items as a list."""
        if frame.kind == ITEMS:
            return None, decode(frame.encoding, frame.body, frame.buffers)
        if frame.kind == BLOCK:
            return bytes(frame.body), []
        assert frame.kind == RANGE
        return lines_of(self._file, *EXTENT.unpack(frame.body)), []

    def _compute(
        self, data: "Optional[bytes]", items: "List[Any]", careful: bool
    ) -> "Tuple[int, List[Any]]":
        if data is None:
            count, source = len(items), items
        else:
            count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            # A list of all lines at once would cost twice the time.
            needs_list = self._mode == "filter" or careful
            source = io.BytesIO(data).readlines() if needs_list else io.BytesIO(data)  # type: ignore[assignment]
        watched: "Iterable[Any]" = self._tell_each(source) if careful else source
        if self._mode == "fold":
            return count, [self._fold(watched, items, data)]
        results: "List[Any]" = []
        try:
            results.extend(map(self._fn, watched))
        except BaseException as error:
            raise Failed(len(results), _item(len(results), items, data), results) from error
        if len(results) != count:
            # `map` takes StopIteration for the end of its input.
            error = RuntimeError("fn raised StopIteration")
            raise Failed(len(results), _item(len(results), items, data), results) from error
        if self._mode == "filter":
            return count, list(itertools.compress(source, results))
        return count, results

    def _fold(self, items: "Iterable[Any]", all_items: "List[Any]", data: "Optional[bytes]") -> "Any":
        position = itertools.count()
        initial = pickle.loads(self._initial)
        try:
            return functools.reduce(self._fn, items, initial)
        except BaseException as error:
            # The item is not known: counting would slow every other chunk.
            del position
            raise Failed(0, "one of the chunk that starts with " + _text(_item(0, all_items, data)), []) from error

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
        text = _text(failed.item) if not isinstance(failed.item, str) or self._mode != "fold" else failed.item
        story = (failed.index, text, pickled, _describe(error), type(error).__name__)
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
            return Failed(index, f"(its result cannot be pickled) {_text(result)}", results[:index])
    return Failed(0, "(the results cannot be pickled)", [])


def _item(index: int, items: "List[Any]", data: "Optional[bytes]") -> "Any":
    if data is not None:
        items = io.BytesIO(data).readlines()
    return items[index] if index < len(items) else None


def _text(item: "Any") -> str:
    try:
        text = repr(item)
    except Exception as error:
        text = f"<an item whose repr fails: {error!r}>"
    return text if len(text) <= _ITEM_TEXT_MAX else text[:_ITEM_TEXT_MAX] + "…"


def _describe(error: BaseException) -> str:
    """Returns the traceback without this module's own frames."""
    entries = traceback.extract_tb(error.__traceback__)
    own = __file__
    shown = [entry for entry in entries if entry.filename != own] or list(entries)
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(shown)]
    return "".join([*lines, *traceback.format_exception_only(type(error), error)])


def lines_of(fd: int, start: int, end: int, is_first: bool) -> bytes:
    """Returns the lines of a file that begin at an offset from `start` to `end`, whole.

    `is_first`: a line begins at `start`. Otherwise it does if a newline is before it.
    """
    before = 0 if is_first else 1
    data = _read_at(fd, start - before, end - start + before)
    at = start - before + len(data)
    if before:
        newline = data.find(b"\n")
        if newline < 0:
            return b""
        data = data[newline + 1 :]
    if not data:
        return b""
    parts = [data]
    while not parts[-1].endswith(b"\n"):
        more = os.pread(fd, _MORE_BYTES, at)
        if not more:
            break
        at += len(more)
        newline = more.find(b"\n")
        parts.append(more if newline < 0 else more[: newline + 1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read_at(fd: int, offset: int, length: int) -> bytes:
    data = os.pread(fd, length, offset)
    while len(data) < length:
        more = os.pread(fd, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data
