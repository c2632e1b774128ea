"""Starts workers and learns how they end."""

from __future__ import annotations

import array
import os
import socket
import subprocess
import sys
import time
from collections import deque

from . import _lifetime, _pmap_worker
from ._lifetime import ChildProcess, wait_readable
from ._pmap_wire import Encoded, Reader, Writer, NOTHING, SETUP

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Deque, Dict, List, Optional

__all__ = ["Death", "Forker", "Link", "Server"]

_PATIENCE = 5.0
_BUFFER_BYTES = 1 << 20


class Death:
    """How a worker ended."""

    __slots__ = ("returncode", "memory_max_bytes")

    def __init__(self, returncode: int, memory_max_bytes: int) -> None:
        self.returncode, self.memory_max_bytes = returncode, memory_max_bytes


class Link:
    """The caller's connection to one worker."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        _lifetime.keep_from_forks(sock.fileno(), os.O_RDONLY)
        self.sock = sock
        self.fd = sock.fileno()
        self.reader = Reader(sock)
        self.writer = Writer(sock)
        # Known once the server has told it.
        self.pid = 0
        self.outstanding: Deque[Any] = deque()
        # The item that a careful worker is at.
        self.at: Optional[int] = None

    def close(self) -> None:
        """Closes the connection: an idle worker ends then."""
        self.reader.close()
        self.writer.close()
        _lifetime.release(self.fd)
        self.sock.close()


class Starter:
    """Is the base of the two ways to start workers."""

    name = ""

    def start(self) -> Link:
        """Starts a worker."""
        raise NotImplementedError

    def death(self, link: Link) -> Death:
        """Returns how the worker ended whose connection is at its end."""
        raise NotImplementedError

    def close(self, at_once: bool) -> None:
        """Ends all workers; those at work are killed if `at_once`."""
        raise NotImplementedError

    # A descriptor to wait for, or -1.
    fd = -1

    def look(self) -> None:
        """Takes what the descriptor has to tell."""


class Server(Starter):
    """Starts workers by a fresh interpreter that forks: safe whatever threads the caller has."""

    name = "forkserver"

    def __init__(self) -> None:
        mine, its = socket.socketpair()
        with _lifetime.DeferredInterrupt(), _lifetime.creation:
            try:
                self._process = ChildProcess(_start_server(its))
            except BaseException:
                mine.close()
                raise
            finally:
                its.close()
            self._control = mine
            self.fd = mine.fileno()
            _lifetime.keep_from_forks(self.fd, os.O_RDONLY)
        self._nameless: Deque[Link] = deque()
        self._deaths: Dict[int, Death] = {}
        self._told = bytearray()

    def start(self) -> Link:
        with _lifetime.creation:
            mine, its = socket.socketpair()
            try:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [its.fileno()]))]
                self._control.sendmsg([b"F"], rights)
            except BaseException:
                mine.close()
                raise
            finally:
                its.close()
            link = Link(mine)
        self._nameless.append(link)
        return link

    def look(self) -> None:
        try:
            data = self._control.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            # `death` took it, since poll(2) announced it.
            return
        if not data:
            raise EOFError
        self._told += data
        size = _pmap_worker.TOLD.size
        while len(self._told) >= size:
            what, pid, status, memory = _pmap_worker.TOLD.unpack_from(self._told)
            del self._told[:size]
            if what == b"S":
                self._nameless.popleft().pid = pid
            else:
                self._deaths[pid] = Death(_returncode(status), memory)

    def death(self, link: Link) -> Death:
        until = time.monotonic() + _PATIENCE
        while link.pid not in self._deaths:
            if not wait_readable(self.fd, until - time.monotonic()):
                break
            try:
                self.look()
            except (EOFError, OSError):
                break
        return self._deaths.pop(link.pid, Death(-9, 0))

    def close(self, at_once: bool) -> None:
        if self._control.fileno() < 0:
            return
        if not at_once:
            self._finish()
        _lifetime.release(self.fd)
        self._control.close()
        # The server kills and reaps what is left, and ends.
        if self._process.wait(_PATIENCE) is None:
            _pmap_worker.end_group(self._process.pid)
            self._process.wait(_PATIENCE)

    def _finish(self) -> None:
        """Lets workers end by themselves, so that what they printed is not lost."""
        try:
            self._control.sendall(b"Q")
        except OSError:
            return
        self._process.wait(_PATIENCE)


def _start_server(its: socket.socket) -> int:
    if not sys.executable:
        raise RuntimeError("pelton: pmap: cannot start workers: sys.executable is not set; try start='fork'")
    package = os.path.dirname(os.path.abspath(__file__))
    # The package itself is not imported: a worker that needs it does so.
    code = (
        "import sys; package = type(sys)('pelton'); sys.modules['pelton'] = package; "
        f"package.__path__ = [{package!r}]; "
        f"from pelton._pmap_worker import serve; serve({its.fileno()})"
    )
    starter = subprocess.Popen(
        [sys.executable, *_flags(), "-c", code],
        stdin=subprocess.DEVNULL,
        pass_fds=(its.fileno(),),
        # An interrupt from the terminal is the caller's to handle.
        start_new_session=True,
    )
    # The process is waited for by its ChildProcess.
    starter.returncode = 0
    return starter.pid


def _flags() -> List[str]:
    """Returns the options of this interpreter that change what code does."""
    flags = []
    if sys.flags.optimize:
        flags.append("-" + "O" * sys.flags.optimize)
    if sys.flags.dev_mode:
        flags += ["-X", "dev"]
    if sys.flags.utf8_mode:
        flags += ["-X", "utf8"]
    if sys.flags.no_site:
        flags.append("-S")
    if sys.flags.isolated:
        flags.append("-I")
    elif sys.flags.ignore_environment:
        flags.append("-E")
    return flags


class Forker(Starter):
    """Starts workers by forking the caller: fn and what it refers to need not be pickled."""

    name = "fork"

    def __init__(self, fn: Any) -> None:
        self._fn = fn
        self._processes: Dict[int, ChildProcess] = {}
        self._links: List[Link] = []

    def start(self) -> Link:
        with _lifetime.DeferredInterrupt():
            mine, its = socket.socketpair()
            _lifetime.keep_from_forks(mine.fileno(), os.O_RDONLY)
            sys.stdout.flush()
            sys.stderr.flush()
            pid = os.fork()
            if pid == 0:
                try:
                    _pmap_worker.run_worker(its.detach(), (self._fn,))
                finally:
                    os._exit(1)
            its.close()
            link = Link(mine)
            link.pid = pid
            self._processes[pid] = ChildProcess(pid)
        return link

    def death(self, link: Link) -> Death:
        process = self._processes.pop(link.pid)
        if process.wait(_PATIENCE) is None:
            _pmap_worker.end_group(link.pid)
        return Death(process.wait(_PATIENCE) or 0, 0)

    def close(self, at_once: bool) -> None:
        for pid, process in self._processes.items():
            if at_once or process.wait(_PATIENCE) is None:
                if process.poll() is None:
                    _pmap_worker.end_group(pid)
                process.wait(_PATIENCE)
        self._processes.clear()


def _returncode(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def set_up(link: Link, setup: bytes, shared_fd: int) -> None:
    """Sends a new worker its function, and the file that it reads."""
    fd = os.dup(shared_fd) if shared_fd >= 0 else -1
    link.writer.put(SETUP, Encoded(NOTHING, setup), fd=fd)


