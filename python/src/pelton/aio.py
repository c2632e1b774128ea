"""Runs child processes that cannot deadlock from asyncio and trio.

    child = await pelton.aio.Popen(["seq", "3"], stdout=subprocess.PIPE)
    async for line in child.stdout:
        ...
    await child.wait()

Works like `asyncio.create_subprocess_exec`, in whatever event loop runs; trio needs `anyio`. It uses
neither threads nor a child watcher: a process that ends is seen by its pidfd.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, AsyncIterator, Generator, Optional, Tuple, cast

from . import _lifetime
from ._popen import Popen as _SyncPopen
from ._popen import PopenStats

__all__ = ["DEVNULL", "PIPE", "STDOUT", "Popen", "Reader", "Writer", "run"]

PIPE = subprocess.PIPE
STDOUT = subprocess.STDOUT
DEVNULL = subprocess.DEVNULL

_READ_BYTES = 1 << 16
# Without a pidfd (Linux before 5.3), how often to look whether a process has ended.
_POLL_SECONDS = 0.02
# How long the buffers of a killed child may take for what it wrote last.
_TAKE_SECONDS = 0.1
# What is written and not yet taken by the buffer process.
_UNSENT_BYTES_MAX = 1 << 20


def _library() -> str:
    """Returns the event loop that runs: "asyncio" or "trio"."""
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            trio.lowlevel.current_task()
            return "trio"
        except RuntimeError:
            pass
    return "asyncio"


async def _readable(fd: int) -> None:
    if _library() == "trio":
        await _by_anyio("wait_readable", fd)
    else:
        await _by_asyncio(fd, reads=True)


async def _writable(fd: int) -> None:
    if _library() == "trio":
        await _by_anyio("wait_writable", fd)
    else:
        await _by_asyncio(fd, reads=False)


async def _by_anyio(name: str, fd: int) -> None:
    try:
        import anyio
    except ImportError:
        raise RuntimeError("pelton: aio: trio is used by way of anyio; try `pip install anyio`") from None
    waits: Any = getattr(anyio, name)
    await waits(fd)


async def _by_asyncio(fd: int, reads: bool) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    add, remove = (loop.add_reader, loop.remove_reader) if reads else (loop.add_writer, loop.remove_writer)
    ready = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    add(fd, wake)
    try:
        await ready
    finally:
        remove(fd)


async def _sleep(seconds: float) -> None:
    if _library() == "trio":
        import anyio

        await anyio.sleep(seconds)
    else:
        import asyncio

        await asyncio.sleep(seconds)


class Reader:
    """A child's standard output or error: bytes, or by `async for` lines."""

    def __init__(self, file: Any) -> None:
        self._file = file
        os.set_blocking(file.fileno(), False)
        self._held = bytearray()
        self._is_at_end = False
        self._is_waiting = False

    async def _more(self) -> bool:
        """Takes what is there, or waits for it. Returns False at the end."""
        if self._is_at_end:
            return False
        if self._is_waiting:
            raise RuntimeError("pelton: aio: another task reads this stream already")
        while True:
            data = self._file.read(_READ_BYTES)
            if data is not None:
                self._held += data
                self._is_at_end = not data
                return bool(data)
            self._is_waiting = True
            try:
                await _readable(self._file.fileno())
            finally:
                self._is_waiting = False

    async def read(self, size: int = -1) -> bytes:
        """Returns up to `size` bytes as soon as there are any, all if it is negative, b"" at the end."""
        if size < 0:
            while await self._more():
                pass
            size = len(self._held)
        elif size and not self._held:
            await self._more()
        return self._take(size)

    async def readexactly(self, size: int) -> bytes:
        """Returns `size` bytes.

        Raises:
            asyncio.IncompleteReadError: If there are fewer; `partial` holds them.
        """
        while len(self._held) < size:
            if not await self._more():
                from asyncio import IncompleteReadError

                raise IncompleteReadError(self._take(len(self._held)), size)
        return self._take(size)

    async def readline(self) -> bytes:
        """Returns a line with its newline; the last may have none; b"" at the end. Of any length."""
        searched = 0
        while True:
            newline = self._held.find(b"\n", searched)
            if newline >= 0:
                return self._take(newline + 1)
            searched = len(self._held)
            if not await self._more():
                return self._take(len(self._held))

    def at_eof(self) -> bool:
        """Whether everything was read."""
        return self._is_at_end and not self._held

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            line = await self.readline()
            if not line:
                return
            yield line

    def _take(self, size: int) -> bytes:
        data = bytes(self._held[:size])
        del self._held[:size]
        return data

    def close(self) -> None:
        """Closes the stream."""
        self._file.close()


class Writer:
    """A child's standard input. Writing never waits for the child, only for memory and disk."""

    def __init__(self, file: Any) -> None:
        self._file = file
        os.set_blocking(file.fileno(), False)
        self._unsent = bytearray()

    def write(self, data: bytes) -> None:
        """Writes, without waiting while less than 1 MiB is unsent; see `drain`."""
        self._unsent += data
        self._send()
        while len(self._unsent) > _UNSENT_BYTES_MAX:
            # Whoever never drains must not fill the memory. The buffer process is about to read.
            _lifetime.wait_writable(self._file.fileno())
            self._send()

    def writelines(self, lines: Any) -> None:
        """Writes each of `lines`."""
        for line in lines:
            self.write(line)

    def _send(self) -> None:
        while self._unsent:
            count = self._file.write(self._unsent)
            if count is None:
                return
            del self._unsent[:count]

    async def drain(self) -> None:
        """Waits until everything is sent.

        Raises:
            BrokenPipeError: If the child reads no more.
        """
        self._send()
        while self._unsent:
            await _writable(self._file.fileno())
            self._send()

    async def aclose(self) -> None:
        """Sends everything and closes."""
        try:
            await self.drain()
        except BrokenPipeError:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Closes the stream. Unsent bytes are sent first, waiting for the buffer process."""
        try:
            while self._unsent and not self._file.closed:
                _lifetime.wait_writable(self._file.fileno())
                self._send()
        except BrokenPipeError:
            pass
        finally:
            self._unsent.clear()
            self._file.close()

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return bool(self._file.closed)

    async def wait_closed(self) -> None:
        """Returns: a closed stream has nothing left to send."""


class Popen:
    """Starts a child process; `await` or `async with` gives the object.

    Takes the arguments of `pelton.Popen`, except those for text: streams are of bytes. The process is
    started at once.

    Attributes:
        stdin: A `Writer`, or None if it is not piped.
        stdout, stderr: A `Reader`, or None.
        pid: The child's process id.

    >>> import asyncio
    >>> async def count() -> int:
    ...     async with Popen(["seq", "1000000"], stdout=PIPE) as child:
    ...         await child.wait()
    ...         return len([line async for line in child.stdout])
    >>> asyncio.run(count())
    1000000
    """

    def __init__(self, args: Any, **keywords: Any) -> None:
        for name in ("text", "encoding", "errors", "universal_newlines"):
            if keywords.get(name):
                raise ValueError(f"pelton: aio: streams are of bytes: {name} cannot be set")
        sync: Any = _SyncPopen(args, bufsize=0, **keywords)
        self._sync: "_SyncPopen[bytes]" = sync
        self.stdin: Optional[Writer] = Writer(sync.stdin) if sync.stdin is not None else None
        self.stdout: Optional[Reader] = Reader(sync.stdout) if sync.stdout is not None else None
        self.stderr: Optional[Reader] = Reader(sync.stderr) if sync.stderr is not None else None
        self.args = args
        self.pid = self._sync.pid

    def __await__(self) -> Generator[Any, None, "Popen"]:
        return self._itself().__await__()

    async def _itself(self) -> "Popen":
        return self

    @property
    def returncode(self) -> Optional[int]:
        """Returns the exit status, or the negative signal number; None while the child runs."""
        return self._sync.poll()

    @property
    def stats(self) -> Optional[PopenStats]:
        """Returns what was held, and the time it saved; None until a stream has ended."""
        return self._sync.stats

    async def wait(self) -> int:
        """Waits for the child's end and returns its status. Its output need not be read first."""
        child = self._sync._child
        while self._sync.poll() is None:
            if child.pidfd < 0:
                await _sleep(_POLL_SECONDS)
                continue
            # A descriptor of its own: another task may wait as well.
            fd = os.dup(child.pidfd)
            try:
                await _readable(fd)
            finally:
                os.close(fd)
        if self._sync._owner.killed_at is not None:
            await _sleep(_TAKE_SECONDS)
            self._sync._end_streams_of_killed(0)
        return cast(int, self._sync.returncode)

    async def communicate(self, input: Optional[bytes] = None) -> Tuple[Optional[bytes], Optional[bytes]]:
        """Writes `input`, reads both outputs to their ends, waits. Returns (stdout, stderr)."""
        if self.stdin is not None:
            try:
                if input:
                    self.stdin.write(input)
                await self.stdin.aclose()
            except BrokenPipeError:
                self.stdin.close()
        if self._sync._owner.killed_at is not None:
            await self.wait()
        # One after the other: neither can stop the child.
        out = await self.stdout.read() if self.stdout is not None else None
        err = await self.stderr.read() if self.stderr is not None else None
        await self.wait()
        return out, err

    def send_signal(self, sig: int) -> None:
        """Sends a signal to the child, unless it has ended."""
        self._sync.send_signal(sig)

    def terminate(self) -> None:
        """Sends SIGTERM to the child."""
        self._sync.terminate()

    def kill(self) -> None:
        """Sends SIGKILL to the child."""
        self._sync.kill()

    async def __aenter__(self) -> "Popen":
        return self

    async def __aexit__(self, kind: Any, value: Any, traceback: Any) -> None:
        """Closes the streams and waits for the child; after an exception, ends it at once."""
        try:
            if kind is None:
                self._close_streams()
                await self.wait()
            else:
                self._sync.terminate()
        finally:
            self.close()

    def _close_streams(self) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()

    def close(self) -> None:
        """Closes the streams, ends the child if it still runs, and reaps every process.

        Blocks for as long as the child takes to end on SIGTERM, 2 s at most.
        """
        if self.stdin is not None:
            self.stdin._unsent.clear()
        self._sync.close()


async def run(
    args: Any,
    *,
    input: Optional[bytes] = None,
    check: bool = False,
    **keywords: Any,
) -> "subprocess.CompletedProcess[bytes]":
    """Runs a command to its end, as `subprocess.run` does.

    Raises:
        subprocess.CalledProcessError: If `check` is true and the status is not 0.
    """
    if input is not None:
        keywords["stdin"] = PIPE
    async with Popen(args, **keywords) as child:
        out, err = await child.communicate(input)
        status = await child.wait()
    done: "subprocess.CompletedProcess[bytes]" = subprocess.CompletedProcess(args, status, out, err)
    if check:
        done.check_returncode()
    return done
