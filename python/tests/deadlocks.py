"""Fourteen ways to hang with `subprocess`, each written for either class of Popen.

    python deadlocks.py subprocess NAME
    python deadlocks.py pelton NAME

runs one of them. It hangs with the first and prints `done` with the second. Each way is a program of
its own because a caller that hangs must be ended from outside.
"""

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
from subprocess import PIPE
from typing import Any, Callable, Dict

BIG = 1 << 20
TALKER = [sys.executable, "-c", f"import os; os.write(1, b'o' * {BIG})"]
COMPLAINER = [
    sys.executable,
    "-c",
    f"import os; os.write(2, b'e' * {BIG}); os.write(1, b'o' * {BIG})",
]

WAYS: Dict[str, Callable[[Any], None]] = {}


def way(function: Callable[[Any], None]) -> Callable[[Any], None]:
    WAYS[function.__name__] = function
    return function


@way
def waits_before_reading(popen: Any) -> None:
    child = popen(TALKER, stdout=PIPE)
    child.wait()
    assert len(child.stdout.read()) == BIG


@way
def polls_until_the_end(popen: Any) -> None:
    child = popen(TALKER, stdout=PIPE)
    while child.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.05)
    assert len(child.stdout.read()) == BIG


@way
def reads_stdout_before_stderr(popen: Any) -> None:
    child = popen(COMPLAINER, stdout=PIPE, stderr=PIPE)
    assert len(child.stdout.read()) == BIG
    assert len(child.stderr.read()) == BIG


@way
def ignores_stderr(popen: Any) -> None:
    child = popen(COMPLAINER, stdout=PIPE, stderr=PIPE)
    assert sum(len(chunk) for chunk in child.stdout) == BIG
    assert child.wait() == 0


@way
def reads_one_line_then_waits(popen: Any) -> None:
    child = popen(["seq", "300000"], stdout=PIPE)
    assert child.stdout.readline() == b"1\n"
    assert child.wait() == 0


@way
def abandons_the_iterator(popen: Any) -> None:
    child = popen(["seq", "300000"], stdout=PIPE, text=True)
    for line in child.stdout:
        if line == "3\n":
            break
    assert child.wait() == 0


@way
def writes_all_before_reading(popen: Any) -> None:
    child = popen(["cat"], stdin=PIPE, stdout=PIPE)
    child.stdin.write(b"x" * BIG)
    child.stdin.close()
    assert len(child.stdout.read()) == BIG


@way
def writes_lines_before_reading(popen: Any) -> None:
    child = popen(["cat"], stdin=PIPE, stdout=PIPE, text=True)
    for number in range(200_000):
        child.stdin.write(f"{number}\n")
    child.stdin.close()
    assert sum(1 for _ in child.stdout) == 200_000


@way
def writes_to_a_child_that_reads_later(popen: Any) -> None:
    # The child reads its input only after the caller has seen its end of output.
    code = "import os, sys; os.close(1); sys.stdin.read()"
    gate_read, gate_write = os.pipe()
    waits = f"import os; os.read({gate_read}, 1); {code}"
    child = popen([sys.executable, "-c", waits], stdin=PIPE, pass_fds=(gate_read,))
    child.stdin.write(b"x" * BIG)
    os.write(gate_write, b"!")
    child.stdin.close()
    assert child.wait() == 0


@way
def raises_in_the_middle(popen: Any) -> None:
    # The child ignores that its reader has gone, as a server does. `with` waits for it.
    code = (
        "import os, time\n"
        "os.write(1, b'ready\\n')\n"
        "while True:\n"
        "    time.sleep(1)\n"
    )
    with contextlib.suppress(ValueError), popen([sys.executable, "-c", code], stdout=PIPE) as child:
        child.stdout.readline()
        raise ValueError("in the middle")


@way
def is_interrupted(popen: Any) -> None:
    # The caller is asked to end (by CI, by docker stop) and does so by an exception. `with` waits.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(SystemExit), popen(["sleep", "1000"], stdout=PIPE):
        signal.raise_signal(signal.SIGTERM)


@way
def forks(popen: Any) -> None:
    # A forked process holds the write end of the child's input: the child never sees its end.
    child = popen(["cat"], stdin=PIPE, stdout=PIPE)
    gate_read, gate_write = os.pipe()
    forked = os.fork()
    if forked == 0:
        os.close(gate_write)
        os.read(gate_read, 1)
        os._exit(0)
    os.close(gate_read)
    child.stdin.write(b"x")
    child.stdin.close()
    assert child.stdout.read() == b"x"
    os.close(gate_write)
    os.waitpid(forked, 0)


@way
def kills_and_collects(popen: Any) -> None:
    # What the manual says to do after a timeout, with a child that has a child.
    child = popen("sleep 1000 & echo $!; wait", shell=True, stdout=PIPE)
    pid = int(child.stdout.readline())
    try:
        child.communicate(timeout=0.2)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    finally:
        os.kill(pid, signal.SIGKILL)


@way
def joins_the_thread_that_feeds(popen: Any) -> None:
    child = popen(["cat"], stdin=PIPE, stdout=PIPE)

    def feed() -> None:
        child.stdin.write(b"x" * BIG)
        child.stdin.close()

    feeder = threading.Thread(target=feed)
    feeder.start()
    feeder.join()
    assert len(child.stdout.read()) == BIG


def main() -> None:
    module, name = sys.argv[1:]
    popen = importlib.import_module(module).Popen
    print("started", flush=True)
    WAYS[name](popen)
    print("done", flush=True)


if __name__ == "__main__":
    main()
