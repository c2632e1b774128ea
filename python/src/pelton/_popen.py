"""Runs a child process that cannot deadlock with its caller.

`subprocess.Popen` connects a child to its caller by pipes, and a pipe holds 64 KiB. A child that
prints more stands still until the caller reads; a caller that waits for the child's end first waits
for ever. Here a `pelton buffer` process sits on each pipe:

    child ─▶ pelton buffer ─▶ caller          memory first, then a file without a name

It is a process and not a thread, because a thread cannot help a caller that holds the GIL, has
forked, or is stopped in a debugger.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, AnyStr, Dict, List, Literal, Optional, Tuple, Union, cast, overload

from . import _lifetime
from ._buffer import BufferProcess, OwnedFile, StreamStats, pipe_through
from ._lifetime import ChildProcess, DeferredInterrupt, wait_readable

__all__ = ["Popen", "PopenStats", "StreamStats"]

PIPE = subprocess.PIPE
DEFAULT_MEMORY = "16M"

# What a killed child's own children may still print after its end, before the stream is ended.
_GRACE_AFTER_KILL = 0.5
# How long its buffers may take for what it wrote last.
_TAKE_SECONDS = 0.1
# How long a child that was asked to end may take.
_GRACE = 2.0


@dataclass(frozen=True)
class PopenStats:
    """Holds the figures of a child's streams. A stream that is not piped, or not at its end, is None."""

    stdin: Optional[StreamStats]
    stdout: Optional[StreamStats]
    stderr: Optional[StreamStats]

    @property
    def seconds_saved(self) -> float:
        """Returns the time for which the child would have stood still, on its slowest output."""
        outputs = (self.stdout, self.stderr)
        return max((stream.seconds_saved for stream in outputs if stream is not None), default=0.0)

    @property
    def bytes_held_max(self) -> int:
        """Returns the most bytes held at one time, of all streams."""
        streams = (self.stdin, self.stdout, self.stderr)
        return sum(stream.bytes_held_max for stream in streams if stream is not None)


class _Owner:
    """What a Popen and its streams own together: the child lives until the last of them is gone."""

    def __init__(self, keep_running: bool) -> None:
        self.keep_running = keep_running
        self.child: Optional[ChildProcess] = None
        self.buffers: Dict[str, BufferProcess] = {}
        self.killed_at: Optional[float] = None

    def reap(self) -> None:
        for buffer in self.buffers.values():
            buffer.ended()

    def end(self, buffer_grace: float = _GRACE) -> None:
        """Ends and reaps everything. Buffers get `buffer_grace` seconds to see that nobody reads."""
        child = self.child
        if child is not None and not self.keep_running:
            child.end(_GRACE)
        for buffer in self.buffers.values():
            buffer.end(buffer_grace)


class _Handle:
    """The reference that a Popen and its streams share. Its end ends the processes."""

    def __init__(self, owner: _Owner) -> None:
        self.owner = owner
        self._finalize = weakref.finalize(self, _end_abandoned, owner, os.getpid())

    @property
    def is_attached(self) -> bool:
        return self._finalize.alive

    def detach(self) -> None:
        self._finalize.detach()

    def before_read(self, fd: int) -> None:
        """Ends the stream of a killed child that nobody is going to end.

        The child's own children may hold the pipe open for ever: the usual cause of a
        `communicate` that does not return after `kill`.
        """
        owner = self.owner
        if owner.killed_at is None or not os.get_blocking(fd):
            return
        while owner.killed_at is not None and owner.child is not None:
            if wait_readable(fd, 0.05):
                return
            dead = owner.child.poll() is not None
            if dead and time.monotonic() - owner.killed_at > _GRACE_AFTER_KILL:
                for buffer in owner.buffers.values():
                    buffer.stop_taking()
                return


def _end_abandoned(owner: _Owner, pid: int) -> None:
    if pid != os.getpid():
        return
    with DeferredInterrupt():
        owner.end(buffer_grace=0)
        if owner.child is not None and owner.child.poll() is None:
            _running_on.append(owner.child)


# Children that run on although nobody refers to them. They are reaped when the next one starts.
_running_on: List[ChildProcess] = []


class Popen(subprocess.Popen[AnyStr]):
    """Starts a child process; takes the arguments of `subprocess.Popen`, and cannot deadlock.

    `wait()` returns when the child ends, whether or not its output was read; what it printed can
    still be read afterwards. Writing to `stdin` does not wait for the child to read.

    Differs from `subprocess.Popen` in this:

    - The child's output is held by `pelton buffer`: `memory` at most per stream (a number of bytes,
      or a text such as "16M"), then `disk` in $TMPDIR (by default half of what is free there).
      Only when both are used up does the child wait.
    - A `with` block that an exception leaves ends the child, and so does dropping the last
      reference to the object and its streams, and the end of the interpreter: SIGTERM, SIGKILL 2 s
      later, then it is reaped. `keep_running=True` leaves the child alone.
    - After `kill`, `terminate` or `send_signal` and the child's death, its streams end, even if a
      process that it started holds them open.
    - A process that the caller forks cannot use `stdin`, and so cannot withhold its end.

    Raises what `subprocess.Popen` raises, and PeltonNotFound if there is no `pelton` program.

    >>> with Popen(["seq", "1000000"], stdout=subprocess.PIPE) as child:
    ...     child.wait()    # 6.9 MB were printed, and a pipe holds 0.06 MB
    ...     len(child.stdout.read())
    0
    6888896
    """

    if TYPE_CHECKING:
        text_mode: Optional[bool]
        encoding: Optional[str]
        errors: Optional[str]

    @overload
    def __init__(self: "Popen[str]", args: Any, *rest: Any, text: Literal[True], **keywords: Any) -> None: ...
    @overload
    def __init__(self: "Popen[str]", args: Any, *rest: Any, encoding: str, **keywords: Any) -> None: ...
    @overload
    def __init__(
        self: "Popen[str]", args: Any, *rest: Any, universal_newlines: Literal[True], **keywords: Any
    ) -> None: ...
    @overload
    def __init__(
        self: "Popen[bytes]",
        args: Any,
        bufsize: int = -1,
        executable: Any = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        *positional: Any,
        memory: Union[int, str] = DEFAULT_MEMORY,
        disk: Union[int, str, None] = None,
        keep_running: bool = False,
        text: Optional[Literal[False]] = None,
        encoding: None = None,
        **keywords: Any,
    ) -> None: ...

    def __init__(
        self,
        args: Any,
        bufsize: int = -1,
        executable: Any = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        *positional: Any,
        memory: Union[int, str] = DEFAULT_MEMORY,
        disk: Union[int, str, None] = None,
        keep_running: bool = False,
        **keywords: Any,
    ) -> None:
        self._handle: Optional[_Handle] = None
        self.returncode = None
        owner = _Owner(keep_running)
        self._limits: Tuple[str, Optional[str]] = (str(memory), None if disk is None else str(disk))
        streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        _running_on[:] = [child for child in _running_on if child.poll() is None]
        try:
            with DeferredInterrupt(), _lifetime.creation:
                self._start(owner, streams, (args, bufsize, executable), positional, keywords)
        except BaseException:
            # An interrupt that came meanwhile: nobody has the object to close it.
            if self._handle is not None and self._handle.is_attached:
                self.close()
            raise

    def _start(
        self,
        owner: _Owner,
        streams: Dict[str, Any],
        first: Tuple[Any, int, Any],
        positional: Tuple[Any, ...],
        keywords: Dict[str, Any],
    ) -> None:
        theirs: Dict[str, int] = {}
        ours: Dict[str, int] = {}
        try:
            for name, stream in streams.items():
                if stream == PIPE:
                    to_child = name == "stdin"
                    theirs[name], ours[name], owner.buffers[name] = pipe_through(
                        *self._limits, to_child
                    )
                    _lifetime.keep_from_forks(ours[name], os.O_RDONLY if to_child else os.O_WRONLY)
            super().__init__(
                *first, *({**streams, **theirs}[name] for name in streams), *positional, **keywords
            )
            owner.child = ChildProcess(self.pid)
            self._handle = _Handle(owner)
            self._open_streams(ours, first[1])
        except BaseException:
            for fd in ours.values():
                _lifetime.release(fd)
                _close_quietly(fd)
            for fd in theirs.values():
                _close_quietly(fd)
            theirs.clear()
            if self._handle is not None:
                self._handle.detach()
            owner.keep_running = False
            owner.end()
            raise
        finally:
            for fd in theirs.values():
                os.close(fd)

    def _open_streams(self, ours: Dict[str, int], bufsize: int) -> None:
        line_buffered = bool(self.text_mode) and bufsize == 1
        size = -1 if line_buffered else bufsize
        for name in list(ours):
            buffer = self._owner.buffers[name]
            raw = OwnedFile(ours.pop(name), "w" if name == "stdin" else "r", buffer, self._handle)
            setattr(self, name, self._wrap(raw, name == "stdin", size, line_buffered))

    def _wrap(self, raw: OwnedFile, writes: bool, size: int, line_buffered: bool) -> Any:
        if size == 0:
            stream: Any = raw
        else:
            size = size if size > 1 else io.DEFAULT_BUFFER_SIZE
            kind = io.BufferedWriter if writes else io.BufferedReader
            stream = kind(raw, size)
        if self.text_mode:
            keywords: Dict[str, Any] = {"encoding": self.encoding, "errors": self.errors}
            if writes:
                keywords.update(write_through=True, line_buffering=line_buffered)
            stream = io.TextIOWrapper(stream, **keywords)
        return stream

    @property
    def _owner(self) -> _Owner:
        assert self._handle is not None
        return self._handle.owner

    @property
    def _child(self) -> ChildProcess:
        child = self._owner.child
        assert child is not None
        return child

    def poll(self) -> Optional[int]:
        """Returns the child's exit status, or its negative signal number; None while it runs."""
        if self._handle is None:
            return cast(Optional[int], self.returncode)
        self.returncode = self._child.poll()
        self._owner.reap()
        return self.returncode

    def wait(self, timeout: Optional[float] = None) -> int:
        """Waits for the child's end and returns its status. Its output need not be read first.

        Raises:
            subprocess.TimeoutExpired: If the child runs on after `timeout` seconds.
            ChildProcessError: In a process that the caller forked.
        """
        if self._is_of_another_process():
            raise ChildProcessError(errno.ECHILD, "the child belongs to the process that started it")
        if self.poll() is None and self._child.wait(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, cast(float, timeout))
        return cast(int, self.poll())

    def _is_of_another_process(self) -> bool:
        return self._handle is not None and self._child.owner != os.getpid()

    def send_signal(self, sig: int) -> None:
        """Sends a signal to the child, unless it has ended."""
        if self._handle is None:
            return
        if sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            self._owner.killed_at = time.monotonic()
        self._child.send_signal(sig)

    def terminate(self) -> None:
        """Sends SIGTERM to the child."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL to the child."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: Any = None, timeout: Optional[float] = None) -> Tuple[Any, Any]:
        """Writes `input`, reads stdout and stderr to their ends, and waits for the child.

        Returns (stdout, stderr), each None if it is not piped.

        Raises:
            subprocess.TimeoutExpired: After `timeout` seconds. Nothing is lost: call it again.
        """
        if self._owner.killed_at is not None:
            self._end_streams_of_killed()
        result = super().communicate(input, timeout)
        for name, buffer in self._owner.buffers.items():
            if name == "stdin":
                buffer.wait()
            else:
                buffer.wait_for_all()
        return cast(Tuple[Any, Any], result)

    def _end_streams_of_killed(self, take_seconds: float = _TAKE_SECONDS) -> None:
        """Ends the streams that a killed child's own children hold open."""
        if self._child.wait(_GRACE_AFTER_KILL) is not None:
            # What the child wrote last is still to be taken.
            time.sleep(take_seconds)
            for name in ("stdout", "stderr"):
                buffer = self._owner.buffers.get(name)
                # A stream that is not held open has been taken to its end by now, or ends as soon
                # as its reader has read it.
                if buffer is not None and not buffer.ended():
                    buffer.stop_taking()

    @property
    def stats(self) -> Optional[PopenStats]:
        """Returns what was held for whom, and the time it saved; None until a stream has ended.

        A stream's figures are there when it was read to its end or closed.
        """
        found = {name: buffer.stats() for name, buffer in self._owner.buffers.items()}
        if all(stats is None for stats in found.values()):
            return None
        return PopenStats(found.get("stdin"), found.get("stdout"), found.get("stderr"))

    def __enter__(self) -> "Popen[AnyStr]":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        """Closes the streams and waits for the child; after an exception, ends it first."""
        try:
            if kind is None and not self._is_of_another_process():
                self._close_streams(ignore_errors=False)
                self.wait()
        finally:
            self.close()

    def close(self) -> None:
        """Closes the streams, ends the child if it still runs, and reaps every process."""
        with DeferredInterrupt():
            self._close_streams(ignore_errors=True)
            if self._is_of_another_process():
                return
            self._owner.end()
            self.poll()
            if self._handle is not None:
                self._handle.detach()

    def _close_streams(self, ignore_errors: bool) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is None:
                continue
            try:
                stream.close()
            except BrokenPipeError:
                # The child has left without reading: nothing of the caller's is wrong.
                pass
            except (OSError, ValueError):
                if not ignore_errors:
                    raise

    def __del__(self, *_: Any) -> None:
        # The base class would wait for the child as well. The handle does, and later: while a
        # stream is in use the child is not abandoned.
        pass


def _close_quietly(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        pass

