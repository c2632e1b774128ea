"""Tests of `pelton.Popen`."""

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE
from typing import Any, Iterator, List, Set, Tuple

import pytest

import deadlocks
from pelton._popen import Popen

HERE = Path(__file__).parent
# Longer than any of the ways takes when it does not hang, by a factor of 10.
HANG_SECONDS = 1.0


def children(pid: "int | None" = None) -> Set[int]:
    """Returns the processes whose parent is `pid`, zombies included."""
    wanted = os.getpid() if pid is None else pid
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as stat:
                if int(stat.read().rpartition(b")")[2].split()[1]) == wanted:
                    found.add(int(entry))
    return found


def descriptors() -> Set[str]:
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.add(f"{fd}:{os.readlink('/proc/self/fd/' + fd)}")
    return found


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    gc.collect()
    before = children(), descriptors()
    yield
    gc.collect()
    left = children() - before[0]
    assert not left, f"processes left: {left}"
    assert not descriptors() - before[1], "descriptors left"


def dice_and_rounds(rounds: int) -> Tuple[random.Random, int]:
    """Returns the dice and the number of rounds of a random test.

    `PELTON_ROUNDS` sets the number (a campaign: some hundreds), `PELTON_SEED` the seed. pytest shows
    the seed if the test fails.
    """
    seed = int(os.environ.get("PELTON_SEED", "23"))
    print(f"PELTON_SEED={seed}")
    return random.Random(seed), int(os.environ.get("PELTON_ROUNDS", rounds))


# Streams that nobody closes are reported by Python, as with `subprocess`.
leaves_streams_open = pytest.mark.filterwarnings("ignore")


def run_way(module: str, name: str, seconds: float) -> bytes:
    """Runs a way to deadlock in a process group of its own. Returns what it printed in time."""
    command = [sys.executable, str(HERE / "deadlocks.py"), module, name]
    program = subprocess.Popen(command, stdout=PIPE, start_new_session=True)
    try:
        return program.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        return b"hangs"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        assert program.stdout is not None
        program.stdout.close()


@pytest.mark.parametrize("name", sorted(deadlocks.WAYS))
def test_subprocess_hangs(name: str) -> None:
    assert run_way("subprocess", name, HANG_SECONDS) == b"hangs"


@pytest.mark.parametrize("name", sorted(deadlocks.WAYS))
def test_pelton_does_not_hang(name: str) -> None:
    assert run_way("pelton", name, 60) == b"started\ndone\n"


def test_there_are_fourteen_ways() -> None:
    assert len(deadlocks.WAYS) == 14


def test_output_is_whole_and_in_order() -> None:
    with Popen(["seq", "200000"], stdout=PIPE, memory="64K") as child:
        assert child.wait() == 0
        assert child.stdout is not None
        assert child.stdout.read() == b"".join(b"%d\n" % number for number in range(1, 200001))


def test_pid_and_status_are_those_of_the_child() -> None:
    with Popen(["sh", "-c", "echo $$; exit 7"], stdout=PIPE, text=True) as child:
        out, err = child.communicate()
    assert int(out) == child.pid
    assert err is None
    assert child.returncode == 7


def test_signals_reach_the_child() -> None:
    with Popen(["sleep", "100"], stdout=PIPE) as child:
        child.send_signal(signal.SIGUSR1)
        assert child.wait() == -signal.SIGUSR1


def test_streams_are_apart() -> None:
    with Popen("cat; echo err >&2", shell=True, stdin=PIPE, stdout=PIPE, stderr=PIPE) as child:
        assert child.communicate(b"in") == (b"in", b"err\n")


def test_stderr_to_stdout() -> None:
    with Popen("echo a >&2; echo b", shell=True, stdout=PIPE, stderr=subprocess.STDOUT) as child:
        assert child.communicate() == (b"a\nb\n", None)


def test_timeout_of_communicate_loses_nothing() -> None:
    gate_read, gate_write = os.pipe()
    with Popen("echo a; read x; echo b", shell=True, stdin=gate_read, stdout=PIPE) as child:
        os.close(gate_read)
        with pytest.raises(subprocess.TimeoutExpired):
            child.communicate(timeout=0.1)
        os.write(gate_write, b"go\n")
        os.close(gate_write)
        assert child.communicate()[0] == b"a\nb\n"


def test_timeout_of_wait() -> None:
    with Popen(["sleep", "100"], stdout=PIPE) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.01)
        child.kill()
        assert child.wait() == -signal.SIGKILL


@pytest.mark.parametrize("bufsize", [0, 1, -1, 100])
def test_buffer_sizes(bufsize: int) -> None:
    text = bufsize == 1
    keywords: Any = {"text": True} if text else {}
    with Popen(["cat"], bufsize=bufsize, stdin=PIPE, stdout=PIPE, **keywords) as child:
        line: Any = "a\n" if text else b"a\n"
        child.stdin.write(line)
        if bufsize not in (0, 1):
            child.stdin.flush()
        assert child.stdout.readline() == line


def test_what_was_saved_is_a_figure() -> None:
    with Popen(["seq", "1000000"], stdout=PIPE) as child:
        child.wait()
        assert child.stats is None
        assert child.stdout is not None
        size = len(child.stdout.read())
        stats = child.stats
    assert stats is not None and stats.stdout is not None
    assert stats.stdout.bytes_in == stats.stdout.bytes_out == size
    assert stats.bytes_held_max > 1 << 20
    assert stats.seconds_saved > 0


def test_memory_is_bounded_and_the_rest_is_on_disk() -> None:
    with Popen(["head", "-c", "100M", "/dev/zero"], stdout=PIPE, memory="4M") as child:
        child.wait()
        assert child.stdout is not None
        assert len(child.stdout.read()) == 100 << 20
        stats = child.stats
    assert stats is not None and stats.stdout is not None
    assert stats.stdout.bytes_memory_max <= 4 << 20
    assert stats.stdout.bytes_on_disk > 90 << 20


def test_command_that_does_not_exist() -> None:
    with pytest.raises(FileNotFoundError):
        Popen(["/no/such/program"], stdin=PIPE, stdout=PIPE, stderr=PIPE)


def test_exception_ends_the_child() -> None:
    with contextlib.suppress(ValueError):
        with Popen(["sleep", "100"], stdout=PIPE) as child:
            raise ValueError
    assert child.returncode == -signal.SIGTERM


def test_child_that_ignores_sigterm_is_killed() -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(99)"
    child = Popen([sys.executable, "-c", code], stdout=PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.close()
    assert child.returncode == -signal.SIGKILL


@leaves_streams_open
def test_garbage_is_reaped() -> None:
    child = Popen(["sleep", "100"], stdout=PIPE)
    pid = child.pid
    del child
    gc.collect()
    assert pid not in children()


@leaves_streams_open
def test_stream_keeps_the_child() -> None:
    stream: Any = Popen(["seq", "3"], stdout=PIPE).stdout
    gc.collect()
    assert list(stream) == [b"1\n", b"2\n", b"3\n"]


def test_child_may_run_on() -> None:
    gate_read, gate_write = os.pipe()
    child = Popen(["cat"], stdin=gate_read, stdout=subprocess.DEVNULL, keep_running=True)
    os.close(gate_read)
    pid = child.pid
    del child
    gc.collect()
    assert pid in children()
    os.close(gate_write)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with Popen(["true"]):
        assert pid not in children()


def test_interpreter_exit_ends_the_child(tmp_path: Path) -> None:
    code = (
        "from pelton._popen import Popen\n"
        "import subprocess\n"
        "child = Popen(['sleep', '100'], stdout=subprocess.PIPE)\n"
        "print(child.pid)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], stdout=PIPE, check=True, timeout=30).stdout
    assert not Path(f"/proc/{int(out)}").exists()


def test_forked_process_cannot_write() -> None:
    with Popen(["cat"], bufsize=0, stdin=PIPE, stdout=PIPE) as child:
        assert child.stdin is not None
        forked = os.fork()
        if forked == 0:
            status = 1
            try:
                child.stdin.write(b"x")
            except OSError:
                status = 0
            os._exit(status)
        assert os.waitpid(forked, 0)[1] == 0
        assert child.communicate(b"y")[0] == b"y"


def test_forks_in_other_threads_hold_nothing() -> None:
    stop = threading.Event()
    forked: List[int] = []

    def fork() -> None:
        gate_read, gate_write = os.pipe()
        while not stop.is_set():
            pid = os.fork()
            if pid == 0:
                os.close(gate_write)
                os.read(gate_read, 1)
                os._exit(0)
            forked.append(pid)
            if len(forked) > 40:
                break
        os.close(gate_read)
        os.close(gate_write)

    thread = threading.Thread(target=fork)
    thread.start()
    try:
        for _ in range(20):
            with Popen(["cat"], stdin=PIPE, stdout=PIPE) as child:
                assert child.communicate(b"x", timeout=20)[0] == b"x"
    finally:
        stop.set()
        thread.join()
        for pid in forked:
            os.waitpid(pid, 0)


class Stop(BaseException):
    """What the signal handler of the test below raises."""


def one_random_end(dice: random.Random, at: Any) -> None:
    kind = dice.choice(["signal", "kill", "exception", "kill buffer"])
    command = dice.choice([["yes"], ["cat"], ["seq", "100000"], ["sleep", "100"]])
    signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.0001, 0.02) if kind == "signal" else 0)
    try:
        with Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as child:
            if kind == "kill":
                child.kill()
            elif kind == "kill buffer":
                at(child)
                child.kill()
            elif kind == "exception":
                raise Stop
            child.stdin.write(b"x" * 100_000)
            child.stdin.close()
            child.stdout.read(dice.choice([1, 10_000]))
            child.wait(10)
    except (Stop, KeyboardInterrupt, OSError, subprocess.TimeoutExpired):
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@leaves_streams_open
def test_random_ends_leave_nothing() -> None:
    """Interrupts, kills and exceptions; the fixture looks for processes and descriptors."""
    dice, rounds = dice_and_rounds(60)

    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    def kill_buffer(child: "Popen[bytes]") -> None:
        os.kill(child._owner.buffers["stdout"].process.pid, signal.SIGKILL)

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(rounds):
            try:
                one_random_end(dice, kill_buffer)
            except KeyboardInterrupt:  # It came in the `finally`, after the with block.
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_lost_output_is_an_error() -> None:
    with Popen(["sleep", "100"], stdout=PIPE) as child:
        os.kill(child._owner.buffers["stdout"].process.pid, signal.SIGKILL)
        assert child.stdout is not None
        with pytest.raises(OSError, match="output is missing: killed by signal 9"):
            child.stdout.read()
        child.kill()


def test_bad_size_is_an_error() -> None:
    with Popen(["true"], stdout=PIPE, memory="plenty") as child:
        with pytest.raises(OSError, match="plenty"):
            child.communicate()


def test_with_block_in_a_forked_process() -> None:
    with Popen(["cat"], stdin=PIPE, stdout=PIPE) as child:
        forked = os.fork()
        if forked == 0:
            status = 1
            with contextlib.suppress(BaseException):
                child.__exit__(None, None, None)
                status = 0
            os._exit(status)
        assert os.waitpid(forked, 0)[1] == 0
        assert child.communicate(b"y")[0] == b"y"


def test_waiting_does_not_spin() -> None:
    with Popen(["sleep", "0.3"], stdout=PIPE) as child:
        before = time.process_time()
        child.wait()
        assert time.process_time() - before < 0.1
