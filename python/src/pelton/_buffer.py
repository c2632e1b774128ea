"""Runs `pelton buffer` between a child process and its caller."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
from dataclasses import dataclass

from . import _lifetime
from ._binary import path as binary_path
from ._lifetime import ChildProcess

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Tuple

__all__ = ["BufferProcess", "OwnedFile", "StreamStats", "pipe_through"]

# A process that has delivered all it had ends within milliseconds.
_END_SECONDS = 5.0


@dataclass(frozen=True)
class StreamStats:
    """Holds what passed through one of a child's streams, and what had to be held for its reader.

    Attributes:
        bytes_in: Bytes taken from the writer.
        bytes_out: Bytes that the reader took.
        bytes_held_max: The most bytes held at one time, in memory and on disk.
        bytes_on_disk: Bytes that were on disk for a while.
        bytes_memory_max: The most memory used to hold bytes.
        seconds_saved: Time in which bytes were held and the reader took none. Without the buffer
            the writer would have stood still for that time.
        seconds_idle: Time in which nothing was held and nothing came.
        seconds_full: Time in which memory and disk were used up and the writer had to wait.
        reader_left: Whether the reader closed the stream before its end.
    """

    bytes_in: int
    bytes_out: int
    bytes_held_max: int
    bytes_on_disk: int
    bytes_memory_max: int
    seconds_saved: float
    seconds_idle: float
    seconds_full: float
    reader_left: bool

    @staticmethod
    def from_json(text: bytes) -> "StreamStats":
        """Returns the figures of the output of `pelton buffer --json`."""
        record = json.loads(text)
        stream = record["streams"][0]
        return StreamStats(
            bytes_in=stream["in_bytes"],
            bytes_out=stream["out_bytes"],
            bytes_held_max=stream["held_peak_bytes"],
            bytes_on_disk=stream["disk_bytes"],
            bytes_memory_max=record["memory_peak_bytes"],
            seconds_saved=stream["reader_wait_ns"] / 1e9,
            seconds_idle=stream["input_wait_ns"] / 1e9,
            seconds_full=stream["full_ns"] / 1e9,
            reader_left=stream["reader_left"],
        )


class BufferProcess:
    """A `pelton buffer` that copies `source` to `sink` and holds what the reader has not taken."""

    def __init__(self, source: int, sink: int, memory: str, disk: Optional[str]) -> None:
        """Starts the process. Both descriptors stay open here: the caller closes its copies."""
        self._stats: Optional[StreamStats] = None
        self._said = ""
        self._was_stopped = False
        self._report, report = os.pipe()
        _lifetime.keep_from_forks(self._report)
        try:
            self.process = ChildProcess(_start(source, sink, report, memory, disk))
        except BaseException:
            self._close_report()
            raise
        finally:
            os.close(report)

    def ended(self) -> bool:
        """Reaps the process if it has ended. Returns whether it has."""
        if self.process.poll() is None:
            return False
        self.stats()
        return True

    def stats(self) -> Optional[StreamStats]:
        """Returns the figures; None while the process runs, and if it was killed."""
        if self._report >= 0 and self.process.poll() is not None:
            text = os.read(self._report, 1 << 16)
            self._close_report()
            self._stats, self._said = _read_report(text)
        return self._stats

    def wait(self, timeout: float = _END_SECONDS) -> bool:
        """Waits for the end, and returns whether it came in time."""
        self.process.wait(timeout)
        return self.ended()

    def wait_for_all(self) -> None:
        """Waits for the end of a process whose output is at its end.

        Raises:
            OSError: If the process failed or was killed. What it held is lost.
        """
        self.wait()
        status = self.process.returncode
        if status in (None, 0, -signal.SIGPIPE) or self._was_stopped:
            return
        reason = self._said or (f"killed by signal {-status}" if status < 0 else f"status {status}")
        raise OSError(errno.EIO, f"pelton buffer failed, and output is missing: {reason}")

    def stop_taking(self) -> None:
        """Makes it deliver what it holds and end, even if the writer's end is still open."""
        self._was_stopped = True
        self.process.send_signal(signal.SIGTERM)

    def end(self, grace: float) -> None:
        """Ends the process and forgets what it holds. Call it after closing the reader's end."""
        if self.process.wait(grace) is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(grace + 1)
        self.ended()

    def _close_report(self) -> None:
        fd, self._report = self._report, -1
        if fd >= 0:
            _lifetime.release(fd)
            os.close(fd)


def _read_report(text: bytes) -> Tuple[Optional[StreamStats], str]:
    """Returns the figures of a report, and the messages that precede them."""
    stats = None
    said = []
    for line in text.splitlines():
        if line.startswith(b"{"):
            stats = StreamStats.from_json(line)
        else:
            said.append(line.decode("utf-8", "replace").strip())
    return stats, "; ".join(said)


def _start(source: int, sink: int, report: int, memory: str, disk: Optional[str]) -> int:
    command = [binary_path(), "buffer", "--memory", memory]
    if disk is not None:
        command += ["--disk", disk]
    command.append("--json")
    starter = subprocess.Popen(
        command,
        stdin=source,
        stdout=sink,
        stderr=report,
        # An interrupt from the terminal is meant for the caller and its child. The buffer ends when
        # they do.
        start_new_session=True,
    )
    # The process is waited for by its ChildProcess.
    starter.returncode = 0
    return starter.pid


class OwnedFile(io.FileIO):
    """The caller's end of a stream. Keeps the child alive, and reaps the buffer at the end."""

    def __init__(self, fd: int, mode: str, buffer: BufferProcess, owner: Any) -> None:
        self._buffer = buffer
        self._owner = owner
        self._private = fd
        super().__init__(fd, mode)

    def readinto(self, into: Any) -> "Optional[int]":
        """Reads into a buffer. Returns the number of bytes, 0 at the end."""
        self._owner.before_read(self.fileno())
        count = super().readinto(into)
        if count == 0 and len(into):
            self._buffer.wait_for_all()
        return count

    def read(self, size: "Optional[int]" = -1) -> Any:
        """Reads `size` bytes at most, or all. Returns b"" at the end."""
        if size is None or size < 0:
            return self.readall()
        self._owner.before_read(self.fileno())
        data = super().read(size)
        if data == b"" and size:
            self._buffer.wait_for_all()
        return data

    def readall(self) -> bytes:
        """Reads to the end."""
        chunks: List[bytes] = []
        while True:
            chunk = self.read(1 << 18)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)

    def close(self) -> None:
        """Closes the stream."""
        if not self.closed:
            _lifetime.release(self._private)
            super().close()
            self._buffer.ended()


def pipe_through(
    memory: str, disk: Optional[str], to_child: bool
) -> "Tuple[int, int, BufferProcess]":
    """Returns the child's end, the caller's end, and the buffer between them."""
    fds = list(os.pipe())
    try:
        fds += os.pipe()
        buffer = BufferProcess(fds[0], fds[3], memory, disk)
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise
    os.close(fds[0])
    os.close(fds[3])
    return (fds[2], fds[1], buffer) if to_child else (fds[1], fds[2], buffer)
