"""Starts pelton, moves data in and out of it, and ends its process group."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from io import FileIO
from typing import Any, Callable, Union

__all__ = ["Feed", "Process", "deadline_after", "open_input", "open_output", "start"]

# Large enough to move 1 GB at the speed of memory; larger ones no longer fit the processor's cache.
PIPE_BYTES = 256 * 1024
# What every pipe holds without being asked: input of this size needs no thread.
SMALL_BYTES = 64 * 1024
# How long processes have to end after a polite signal, in seconds.
GRACE = 0.25

_F_SETPIPE_SZ = 1031
_Chunks = Union[bytes, bytearray, memoryview, Iterable[Any]]


def widen(fd: int) -> None:
    """Enlarges a pipe, if the user's limit allows that."""
    import fcntl

    try:
        fcntl.fcntl(fd, _F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass


class Feed:
    """Writes data to a pipe: at once if it fits, else in a thread.

    An error of the iterable ends the process group, and is raised by `check`.
    """

    def __init__(self, data: _Chunks, encode: Callable[[str], bytes]) -> None:
        self._data = data
        self._encode = encode
        self._error: BaseException | None = None
        self.reader, self._writer = os.pipe()

    def start(self, process: Process) -> None:
        """Begins to write, after the process has got the reading end."""
        self._close("reader")
        data = self._data
        if isinstance(data, (bytes, bytearray, memoryview)) and _length(data) <= SMALL_BYTES:
            try:
                self._write(data)
            except BrokenPipeError:
                pass
            self._close("_writer")
            return
        widen(self._writer)
        threading.Thread(target=self._run, args=(process,), name="pelton-input", daemon=True).start()

    def _run(self, process: Process) -> None:
        try:
            if isinstance(self._data, (bytes, bytearray, memoryview)):
                self._write(self._data)
            else:
                self._write_all(self._data)
        except BrokenPipeError:
            pass  # The pipeline has read all that it wants.
        except BaseException as error:
            self._error = error
            process.kill()
        finally:
            self._close("_writer")

    def _write_all(self, items: Iterable[Any]) -> None:
        """Writes items, gathered to blocks as long as they come without a pause."""
        block: list[Any] = []
        size = 0
        for item in items:
            if isinstance(item, str):
                item = self._encode(item)
            elif not isinstance(item, (bytes, bytearray, memoryview)):
                raise TypeError(
                    f"cannot write an item of `input`: it is of type {type(item).__name__}, "
                    "and must be bytes or str"
                )
            block.append(item)
            size += len(item)
            # A list is there already; what a generator yields may be waited for.
            if size >= PIPE_BYTES or not isinstance(items, (list, tuple)):
                self._write(b"".join(block) if len(block) > 1 else item)
                block.clear()
                size = 0
        if block:
            self._write(b"".join(block))

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data).cast("B")
        offset = 0
        while offset < len(view):
            offset += os.write(self._writer, view[offset:])

    def check(self) -> None:
        """Raises the error that the iterable raised, if it did."""
        if self._error is not None:
            raise self._error

    def _close(self, end: str) -> None:
        fd = getattr(self, end)
        if fd >= 0:
            setattr(self, end, -1)
            os.close(fd)

    def close(self) -> None:
        """Closes both ends, if the process could not be started."""
        self._close("reader")
        self._close("_writer")


def _length(data: bytes | bytearray | memoryview) -> int:
    return data.nbytes if isinstance(data, memoryview) else len(data)


class Process:
    """A running pelton, and the group of all processes that it starts."""

    def __init__(self, popen: subprocess.Popen[bytes], leads_group: bool) -> None:
        self._popen = popen
        self._leads_group = leads_group
        # A forked copy of this object must not signal the processes of the original.
        self._owner = os.getpid()
        # Held while the process is reaped or signalled: a reaped id may be another process's.
        self._lock = threading.Lock()
        self.pid = popen.pid

    @property
    def returncode(self) -> int | None:
        return self._popen.returncode

    def wait(self, deadline: float | None = None) -> int | None:
        """Waits for the end, and returns the status; None if the deadline came first."""
        if self._popen.returncode is None:
            if deadline is None:
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            elif not self._ends_before(deadline):
                return None
        return self._reap()

    def _reap(self) -> int:
        with self._lock:
            return self._popen.wait()

    def _ends_before(self, deadline: float) -> bool:
        """Waits for the end without reaping, and returns whether it came before the deadline."""
        try:
            pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return self._is_seen_to_end(deadline)
        try:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
        finally:
            os.close(pidfd)

    def _is_seen_to_end(self, deadline: float) -> bool:
        """Does the same where there is no descriptor of a process, by looking again and again."""
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.002)
        return True

    def kill(self) -> None:
        """Kills every process of the group. The status is still to be waited for."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Sends a signal to every process of the group.

        Reaches nobody else: as long as `wait` has not been called, the process id is in use.
        """
        with self._lock:
            if self._popen.returncode is not None or os.getpid() != self._owner:
                return
            pids = [-self.pid] if self._leads_group else [self.pid, *_descendants(self.pid)]
            for pid in pids:
                _signal(pid, number)

    def end(self, first: int = signal.SIGTERM) -> None:
        """Ends every process of the group and reaps the first: by a polite signal, then by SIGKILL."""
        if self._popen.returncode is not None or os.getpid() != self._owner:
            return
        if first != signal.SIGKILL:
            children = [] if self._leads_group else _descendants(self.pid)
            self.send_signal(first)
            try:
                # It stays a zombie, which keeps the group's id.
                self._ends_before(time.monotonic() + GRACE)
            finally:
                for pid in children:
                    _signal(pid, signal.SIGKILL)
        self.kill()
        self._reap()


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _descendants(pid: int) -> list[int]:
    """Returns the processes that a process has started, and those that they have."""
    found: list[int] = []
    for task in _listed(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children = [int(word) for word in file.read().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_descendants(child)]
    return found


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def start(
    argv: list[str],
    stdin: int | None,
    stdout: int | None,
    stderr: int | None,
    env: Any,
    cwd: Any,
) -> Process:
    """Starts pelton as the leader of a group of processes.

    Not so if it reads the terminal: a background group must not, and Ctrl-C would not reach it.
    """
    leads_group = not (stdin is None and _is_terminal(0))
    options: dict[str, Any] = {}
    if leads_group:
        if sys.version_info >= (3, 11):
            options["process_group"] = 0
        else:
            # The other way that does not need Python code between fork and exec.
            options["start_new_session"] = True
    popen: Any = subprocess.Popen(
        argv,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=env,
        cwd=cwd,
        bufsize=0,
        **options,
    )
    return Process(popen, leads_group)


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def open_input(value: Any) -> tuple[int | None, Any, Any]:
    """Returns how an `input` reaches the pipeline: its descriptor, or data to feed, and what to close.

    Files are passed as descriptors, from the position to which they have been read.
    """
    if isinstance(value, (bytes, bytearray, memoryview, str)):
        return None, value, None
    if isinstance(value, os.PathLike):
        fd = os.open(value, os.O_RDONLY | os.O_CLOEXEC)
        return fd, None, fd
    if hasattr(value, "getbuffer") and hasattr(value, "read"):
        return None, value.read(), None  # io.BytesIO
    plain = _descriptor(value)
    if plain is not None:
        return plain, None, None
    if hasattr(value, "read"):
        return None, _blocks(value), None
    if isinstance(value, Iterable):
        return None, value, None
    raise TypeError(
        f"cannot use an `input` of type {type(value).__name__}: give bytes, str, a path, a file, "
        "or an iterable of bytes or lines"
    )


def _blocks(file: Any) -> Iterator[Any]:
    # One that does not wait for a whole block, if there is one.
    read = getattr(file, "read1", file.read)
    while True:
        block = read(PIPE_BYTES)
        if not block:
            return
        yield block


def _descriptor(value: Any) -> int | None:
    """Returns the descriptor of a plain file object; None of others.

    Others may have a descriptor too, but with other data behind it: that of `gzip.GzipFile` has
    compressed data.
    """
    import io

    file = getattr(value, "file", value)  # tempfile wraps its files.
    if isinstance(file, io.TextIOWrapper):
        if not file.seekable():
            return None  # Some of it may be in the buffer.
        position = file.tell()
        if position >> 63 or not isinstance(file.buffer, (io.BufferedReader, io.BufferedRandom)):
            return None  # In the middle of what its decoder holds.
        if not isinstance(file.buffer.raw, io.FileIO):
            return None
        return _at(file.fileno(), position)
    if isinstance(file, (io.BufferedReader, io.BufferedRandom)):
        if not isinstance(file.raw, io.FileIO):
            return None
        if isinstance(file, io.BufferedRandom):
            file.flush()
        if file.seekable():
            return _at(file.fileno(), file.tell())
        return None  # What has been read ahead of a pipe is in the buffer.
    if isinstance(file, io.FileIO):
        return file.fileno()
    return None


def _at(fd: int, position: int) -> int:
    os.lseek(fd, position, os.SEEK_SET)
    return fd


def open_output(value: Any) -> tuple[int | None, int | None]:
    """Returns the descriptor of a `stdout` or `stderr`, and the one to close, if it was opened here."""
    if value is None or isinstance(value, int):
        return value, None
    if isinstance(value, os.PathLike):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        fd = os.open(value, flags, 0o666)
        return fd, fd
    if hasattr(value, "flush"):
        value.flush()
    if hasattr(value, "fileno"):
        return value.fileno(), None
    raise TypeError(
        f"cannot write output to a {type(value).__name__}: give a path, a file, a descriptor, "
        "PIPE, DEVNULL or None"
    )


class Drain:
    """Reads a pipe to its end, in the calling thread or in another."""

    def __init__(self) -> None:
        reader, self.writer = os.pipe()
        self._file = FileIO(reader, "rb")
        self.data: bytes | None = None
        self._thread: Any = None

    def close_writer(self) -> None:
        if self.writer >= 0:
            fd, self.writer = self.writer, -1
            os.close(fd)

    def widen(self) -> None:
        widen(self._file.fileno())

    def read(self) -> None:
        """Reads everything in the calling thread."""
        # Grows one object, into which the kernel copies: no block is copied twice.
        self.data = self._file.readall() or b""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="pelton-output", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.read()
        except (OSError, ValueError):
            pass  # Closed meanwhile.

    def join(self, deadline: float | None) -> bool:
        """Waits for the end of the data, and returns whether it came before the deadline."""
        if self._thread is None:
            return True
        self._thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return not self._thread.is_alive()

    def close(self) -> None:
        self.close_writer()
        if self._thread is None or not self._thread.is_alive():
            self._file.close()


def deadline_after(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def exchange(
    argv: list[str],
    *,
    stdin: int | None,
    feed: Feed | None,
    stdout: Any,
    stderr: Any,
    env: Any,
    cwd: Any,
    timeout: float | None,
) -> tuple[int, bytes | None, bytes | None, bool]:
    """Runs a command to its end. Returns its status, its captured output, and whether it was late.

    Cannot deadlock: each pipe has a thread of its own, or needs none.
    """
    out = err = None
    closing: list[int] = []
    process: Process | None = None
    try:
        out_fd, opened = open_output(stdout)
        closing += [] if opened is None else [opened]
        if out_fd == subprocess.PIPE:
            out = Drain()
            out_fd = out.writer
        err_fd, opened = open_output(stderr)
        closing += [] if opened is None else [opened]
        if err_fd == subprocess.PIPE:
            err = Drain()
            err_fd = err.writer
        deadline = deadline_after(timeout)
        process = start(argv, feed.reader if feed else stdin, out_fd, err_fd, env, cwd)
        drains = [drain for drain in (out, err) if drain is not None]
        for drain in drains:
            drain.close_writer()
        if out is not None:
            out.widen()
        if feed is not None:
            feed.start(process)
        if len(drains) == 1 and deadline is None:
            drains[0].read()
        elif drains or deadline is not None:
            for drain in drains:
                drain.start()
            in_time = all([drain.join(deadline) for drain in drains])
            if not in_time or process.wait(deadline) is None:
                process.end()
                late = deadline_after(GRACE)
                for drain in drains:
                    drain.join(late)
                return (
                    process.returncode or 0,
                    out.data if out else None,
                    err.data if err else None,
                    True,
                )
        status = process.wait()
        if feed is not None:
            feed.check()
        return status or 0, out.data if out else None, err.data if err else None, False
    except BaseException as error:
        if process is not None:
            process.end(signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM)
        raise
    finally:
        for either in (out, err):
            if either is not None:
                either.close()
        if feed is not None and process is None:
            feed.close()
        for fd in closing:
            os.close(fd)
