"""Keeps processes and descriptors from outliving the object that owns them.

Three things can go wrong around a process that Python starts. A signal arrives after the process
exists and before anything remembers it. Another thread forks at that moment, and its child holds a
pipe open for ever. A forked child believes that it owns its parent's processes.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from types import FrameType

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

__all__ = ["ChildProcess", "DeferredInterrupt", "creation", "keep_from_forks", "release"]

# Held while pipes and processes are made, so that no other thread forks in between.
creation = threading.RLock()

# Descriptors that a forked child must not keep: holding one would withhold an end of file.
_private: Dict[int, int] = {}


def keep_from_forks(fd: int, mode: int = os.O_RDONLY) -> None:
    """Makes `fd` unusable in every process that `os.fork` makes from now on.

    There, the number refers to /dev/null opened with `mode`. Choose the mode that the owner of the
    descriptor never uses, so that a use in the child is an error and not a silent loss.
    """
    _private[fd] = mode


def release(fd: int) -> None:
    """Forgets what `keep_from_forks` was told. Call it before the descriptor is closed."""
    _private.pop(fd, None)


def _before_fork() -> None:
    creation.acquire()


def _after_fork_in_parent() -> None:
    creation.release()


def _after_fork_in_child() -> None:
    global creation
    creation = threading.RLock()
    for fd, mode in list(_private.items()):
        try:
            null = os.open(os.devnull, mode)
            os.dup2(null, fd, inheritable=False)
            os.close(null)
        except OSError:
            pass
    _private.clear()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)


class DeferredInterrupt:
    """Holds back KeyboardInterrupt for the length of a `with` block, in the main thread.

    The signal is not blocked: a mask would be inherited by the processes that the block starts.
    """

    def __enter__(self) -> "DeferredInterrupt":
        self._handler: Any = None
        self._caught: Optional[Tuple[int, Optional[FrameType]]] = None
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Optional[FrameType]) -> None:
        self._caught = (number, frame)

    def __exit__(self, *exc: object) -> None:
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        if self._caught is not None:
            handler(*self._caught)


class ChildProcess:
    """A child process of this one, from its start until it is reaped.

    Uses a pidfd where the kernel has them (Linux 5.3): waiting needs no polling, and a signal can
    not reach another process that was given the same number.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.owner = os.getpid()
        self.returncode: Optional[int] = None
        self.reaped = False
        self._lock = threading.RLock()
        self._waiting = 0
        self.pidfd = -1
        try:
            self.pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):
            pass

    def poll(self) -> Optional[int]:
        """Returns the exit status, or the negative signal number; None while the process runs."""
        if not self.reaped and self.owner == os.getpid():
            with self._lock:
                self._look()
        return self.returncode

    def _look(self) -> None:
        if self.reaped:
            return
        try:
            # The status is read first and the process reaped afterwards: an exception that arrives
            # in between (KeyboardInterrupt) then loses nothing.
            info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if info is None:
                return
            exited = info.si_code == os.CLD_EXITED
            self.returncode = info.si_status if exited else -info.si_status
            os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            # Somebody else reaped it, or SIGCHLD is ignored. `subprocess` says 0, too.
            if self.returncode is None:
                self.returncode = 0
        self.reaped = True
        self._close_if_unused()

    def wait(self, timeout: Optional[float] = None) -> Optional[int]:
        """Waits for the end, for `timeout` seconds at most. Returns what `poll` returns."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.0005
        while self.poll() is None:
            left = None if end is None else end - time.monotonic()
            if self.owner != os.getpid() or (left is not None and left <= 0):
                return None
            if self.pidfd >= 0:
                self._wait_for_pidfd(left)
            else:
                time.sleep(pause if left is None else min(pause, left))
                pause = min(pause * 2, 0.05)
        return self.returncode

    def _wait_for_pidfd(self, timeout: Optional[float]) -> None:
        with self._lock:
            if self.reaped:
                return
            self._waiting += 1
        try:
            wait_readable(self.pidfd, timeout)
        finally:
            with self._lock:
                self._waiting -= 1
                self._close_if_unused()

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the process has ended."""
        if self.owner != os.getpid():
            return
        with self._lock:
            self._look()
            if self.returncode is not None:
                return
            try:
                if self.pidfd >= 0:
                    signal.pidfd_send_signal(self.pidfd, number)
                else:
                    os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def end(self, grace: float) -> None:
        """Asks the process to end, makes it end after `grace` seconds, and reaps it."""
        if self.poll() is None:
            self.send_signal(signal.SIGTERM)
            # A stopped process acts on the signal only when it goes on.
            self.send_signal(signal.SIGCONT)
        if self.wait(grace) is None:
            self.send_signal(signal.SIGKILL)
            self.wait(grace + 1)

    def _close_if_unused(self) -> None:
        # A number that another thread waits on must not come to mean another file.
        if self.reaped and self._waiting == 0:
            self._close()

    def _close(self) -> None:
        fd, self.pidfd = self.pidfd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        try:
            self._close()
        except Exception:  # At interpreter exit, or in a process that closed everything.
            pass


def wait_readable(fd: int, timeout: Optional[float]) -> bool:
    """Waits until `fd` can be read or is at its end. Returns whether that is so.

    `timeout` is in seconds; None waits without limit.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    # Rounded up, or the last millisecond would be spent in a busy loop.
    limit = None if timeout is None else int(timeout * 1000) + 1 if timeout > 0 else 0
    events: List[Tuple[int, int]] = poll.poll(limit)
    return bool(events)


def wait_writable(fd: int) -> None:
    """Waits until `fd` takes more, or has no reader."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    poll.poll()
