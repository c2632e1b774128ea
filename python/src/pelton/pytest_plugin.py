"""Ends a test that hangs, and names what it waits for: `pytest --pelton-guard=60`.

A thread watches each test. When the time is up it notes where each Python thread is, asks
`pelton doctor` which process waits for which, raises `Stalled` in the main thread and ends the processes
that the test started. If even that does not end the test (C code that never returns), the report is
printed and the run ends with status 3.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Any, Dict, Generator, Iterator, List, Optional, Set, Tuple

import pytest

__all__ = ["Guard", "Stalled"]

# Between raising the exception and ending the test's processes, and between that and giving up.
_RAISE_SECONDS = 1.0
_GIVE_UP_SECONDS = 10.0
_DOCTOR_SECONDS = 20.0
_STATUS_GIVEN_UP = 3
# A real-time signal: no test uses it for something else.
_SIGNAL = signal.SIGRTMIN + 7


class Stalled(BaseException):
    """Is raised in a test that takes too long.

    Not an Exception: `except Exception` in the test must not catch it.
    """


def pytest_addoption(parser: Any) -> None:
    """Adds `--pelton-guard`, and `pelton_guard` of the configuration file."""
    group = parser.getgroup("pelton")
    group.addoption(
        "--pelton-guard",
        type=float,
        metavar="SECONDS",
        help="end a test that takes longer; name the processes it waits for and the lines of Python",
    )
    parser.addini("pelton_guard", "as --pelton-guard: seconds", default="")


def pytest_configure(config: Any) -> None:
    """Registers the guard, if a time is set."""
    config.addinivalue_line("markers", "pelton_guard(seconds): end this test if it takes longer")
    seconds = config.getoption("--pelton-guard")
    if seconds is None and config.getini("pelton_guard"):
        seconds = float(config.getini("pelton_guard"))
    if seconds is not None and seconds <= 0:
        raise pytest.UsageError("--pelton-guard: a number of seconds above 0 is needed")
    config.pluginmanager.register(Guard(seconds), "pelton_guard")


class Guard:
    """Watches one test after the other."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._seconds = seconds

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """Runs a test, its fixtures included, under watch."""
        marker = item.get_closest_marker("pelton_guard")
        seconds = float(marker.args[0]) if marker is not None and marker.args else self._seconds
        if seconds is None or threading.current_thread() is not threading.main_thread():
            yield
            return
        watch = _Watch(item.nodeid, seconds)
        watch.start()
        try:
            yield
        finally:
            watch.stop()


class _Watch:
    """The thread that watches one test."""

    def __init__(self, name: str, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._done = threading.Event()
        self._raised = threading.Event()
        self._report = ""
        self._before = descendants(os.getpid())
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._run, name="pelton-guard", daemon=True)
        self._old: Any = None
        # Standard error as it was before the test: pytest captures it.
        self._stderr = os.dup(2)

    def start(self) -> None:
        self._old = signal.signal(_SIGNAL, self._raise)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()
        signal.signal(_SIGNAL, self._old if self._old is not None else signal.SIG_DFL)
        os.close(self._stderr)

    def _raise(self, number: int, frame: Optional[FrameType]) -> None:
        self._raised.set()
        if not self._done.is_set():
            raise Stalled(self._report)

    def _run(self) -> None:
        if self._done.wait(self._seconds):
            return
        new = sorted(descendants(os.getpid()) - self._before)
        self._report = report(self._name, self._seconds, self._main, new)
        if self._done.is_set():
            return
        signal.pthread_kill(self._main, _SIGNAL)
        # A `finally` or a `with` block may wait for a process: those end next.
        self._raised.wait(_RAISE_SECONDS)
        end_processes(descendants(os.getpid()) - self._before)
        if not self._done.wait(_GIVE_UP_SECONDS):
            self._give_up()

    def _give_up(self) -> None:
        end_processes(descendants(os.getpid()) - self._before)
        text = f"\n{self._report}\nthe test did not end when it was told to: the run ends here\n"
        os.write(self._stderr, text.encode("utf-8", "replace"))
        os._exit(_STATUS_GIVEN_UP)


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> Generator[None, Any, None]:
    """Turns `Stalled` into a failure, whose text is the report."""
    outcome = yield
    error = outcome.excinfo
    if error is not None and isinstance(error[1], Stalled):
        with contextlib.suppress(AttributeError):
            outcome.force_exception(_failure(str(error[1])))


def _failure(text: str) -> BaseException:
    failed: BaseException = pytest.fail.Exception(text, pytrace=False)
    return failed


# What is said.


def report(name: str, seconds: float, main: int, processes: List[int]) -> str:
    """Returns the test, its Python lines, its processes and what they wait for."""
    parts = [f"pelton: {name} has not ended after {seconds:g} s"]
    parts.append(python_lines(main))
    if processes:
        parts.append("processes that it started:\n" + "".join(f"  {line}\n" for line in listing(processes)))
    else:
        parts.append("it started no process that still runs")
    # The watching thread runs, so the doctor cannot call this process dead.
    parts.append("what waits for what ('slow' because pytest still watches):\n" + indented(diagnosis(os.getpid())))
    return "\n".join(part.rstrip("\n") for part in parts)


def python_lines(main: int) -> str:
    """Returns where each thread is, the main thread first, the frames of pytest left out."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sys._current_frames()
    own = threading.get_ident()
    lines = []
    for ident in sorted(frames, key=lambda ident: ident != main):
        if ident == own:
            continue
        stack = traceback.extract_stack(frames[ident])
        shown = [entry for entry in stack if not _is_of_pytest(entry.filename)] or list(stack)
        lines.append(f"thread {names.get(ident, ident)} is at:")
        lines += ["".join(traceback.format_list(shown)).rstrip("\n")]
    return "\n".join(lines)


def _is_of_pytest(path: str) -> bool:
    parts = path.replace(os.sep, "/").split("/")
    return "_pytest" in parts or "pluggy" in parts or parts[-2:-1] == ["pytest"] or path.startswith("<frozen")


def diagnosis(pid: int) -> str:
    """Returns what `pelton doctor` says of a process and its children."""
    from ._binary import path

    try:
        command = [path(), "doctor", "--color", "never", str(pid)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_DOCTOR_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"pelton doctor could not tell: {error}"
    except Exception as error:  # There is no pelton program.
        return str(error)
    return done.stdout.decode("utf-8", "replace").strip()


def indented(text: str) -> str:
    """Returns `text` with each line two columns to the right."""
    return "".join(f"  {line}\n" for line in text.splitlines())


def listing(processes: List[int]) -> Iterator[str]:
    """Yields a line for each process: number, state, command."""
    for pid in processes:
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().rstrip(b"\0").split(b"\0")
            state = _stat(pid)[0]
            command = b" ".join(words).decode("utf-8", "replace") or "(no command)"
            kinds = {"R": "runs", "S": "sleeps", "D": "waits for the disk", "T": "is stopped", "Z": "has ended, not reaped"}
            yield f"{pid} {kinds.get(state, state)}: {command[:150]}"


def _stat(pid: int) -> "Tuple[str, int]":
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return fields[0].decode(), int(fields[1])


def descendants(pid: int) -> Set[int]:
    """Returns the children of a process, their children, and so on."""
    children: Dict[int, List[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError):
                children.setdefault(_stat(int(entry))[1], []).append(int(entry))
    found: Set[int] = set()
    todo = [pid]
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def end_processes(processes: Set[int]) -> None:
    """Ends processes: SIGTERM, and SIGKILL for those that are still there after half a second."""
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)
    until = time.monotonic() + 0.5
    while time.monotonic() < until and any(_runs(pid) for pid in processes):
        time.sleep(0.01)
    for pid in processes:
        if _runs(pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        return _stat(pid)[0] != "Z"
    except (OSError, IndexError):
        return False
