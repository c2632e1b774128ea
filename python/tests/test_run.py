"""`pelton.run`, `pelton.lines` and `pelton.pipe`."""

from __future__ import annotations

import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pelton

LARGE = 8_000_000
"""Bytes: more than any pipe holds."""


def marked() -> str:
    """Returns a number of seconds for `sleep` that no other process of the machine uses."""
    return f"{100000 + uuid.uuid4().int % 10**9}"


def running(word: str) -> list[int]:
    """Returns the processes that have a word among their arguments, but for zombies."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            state = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if word.encode() in words and state not in "ZX":
            found.append(int(name))
    return found


def eventually(condition: Any, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def test_status_and_output() -> None:
    done = pelton.run("echo out; echo err >&2; exit 3", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
    assert isinstance(done, subprocess.CompletedProcess)
    assert done.args == "echo out; echo err >&2; exit 3"


@pytest.mark.parametrize("timeout", [None, 60.0])
@pytest.mark.parametrize("stderr", [None, pelton.PIPE])
def test_much_in_and_out_does_not_deadlock(timeout: float | None, stderr: int | None) -> None:
    data = os.urandom(LARGE)
    done = pelton.run("cat", input=data, timeout=timeout, stderr=stderr)
    assert done.stdout == data


def test_much_on_both_outputs_does_not_deadlock() -> None:
    done = pelton.run(f"head -c {LARGE} /dev/zero >&2; head -c {LARGE} /dev/zero", capture_output=True)
    assert (len(done.stdout), len(done.stderr)) == (LARGE, LARGE)


def test_input_that_is_not_read_is_no_error() -> None:
    assert pelton.run("true", input=bytes(LARGE)).returncode == 0
    assert pelton.run("head -n 1", input=(b"line\n" for _ in iter(int, 1))).stdout == b"line\n"


def test_text() -> None:
    assert pelton.run("printf 'ä\\r\\nb\\r'", text=True).stdout == "ä\nb\n"
    assert pelton.run("cat", input="ä", encoding="latin-1").stdout == "ä"
    assert pelton.run("cat", input="ä", encoding="latin-1", text=None).stdout == "ä"
    assert pelton.run("wc -c", input="ä", encoding="latin-1").stdout.strip() == "1"
    assert pelton.run("printf '\\377'", errors="replace").stdout == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        pelton.run("printf '\\377'", text=True)


def test_kinds_of_input(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"first\nsecond\n")
    assert pelton.run("cat", input=path).stdout == b"first\nsecond\n"
    assert pelton.run("cat", input=bytearray(b"ab")).stdout == b"ab"
    assert pelton.run("cat", input=memoryview(b"abcd")[::1]).stdout == b"abcd"
    assert pelton.run("cat", input=io.BytesIO(b"ab")).stdout == b"ab"
    assert pelton.run("cat", input=io.StringIO("ab")).stdout == b"ab"
    assert pelton.run("cat", input=["a\n", "b\n"]).stdout == b"a\nb\n"
    assert pelton.run("cat", input=iter([b"a\n", b"b\n"])).stdout == b"a\nb\n"
    assert pelton.run("cat", input=b"").stdout == b""


@pytest.mark.parametrize("mode", ["rb", "r", "r+b"])
def test_a_file_goes_on_from_its_position(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"first\nsecond\nthird\n")
    with open(path, mode) as file:
        assert len(file.readline()) == 6
        assert pelton.run("cat", input=file).stdout == b"second\nthird\n"


def test_a_file_on_disk_is_passed_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"x")
    with open(path, "rb") as file:
        seen = pelton.run("readlink /proc/self/fd/0", input=file, text=True).stdout
    assert seen.strip() == str(path)


def test_a_compressed_file_is_read_through_python(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "in.gz"
    path.write_bytes(gzip.compress(b"plain\n"))
    with gzip.open(path) as file:
        assert pelton.run("cat", input=file).stdout == b"plain\n"


def test_a_pipe_of_python_is_read_on(tmp_path: Path) -> None:
    with subprocess.Popen(["printf", "a\\nb\\nc\\n"], stdout=subprocess.PIPE) as producer:
        assert producer.stdout is not None
        assert producer.stdout.readline() == b"a\n"
        assert pelton.run("cat", input=producer.stdout).stdout == b"b\nc\n"


def test_an_error_of_the_input_ends_the_pipeline() -> None:
    seconds = marked()

    def failing() -> Iterator[bytes]:
        yield b"x\n"
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        pelton.run(f"cat | (sleep {seconds}; cat)", input=failing())
    assert eventually(lambda: not running(seconds))


def test_input_of_a_wrong_type() -> None:
    with pytest.raises(TypeError, match="`input` of type int"):
        pelton.run("cat", input=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="bytes or str"):
        pelton.run("cat", input=[1, 2])  # type: ignore[list-item]


def test_output_to_files(tmp_path: Path) -> None:
    path = tmp_path / "out"
    assert pelton.run("echo a", stdout=path).stdout is None
    assert path.read_bytes() == b"a\n"
    with open(path, "w") as file:
        file.write("before\n")
        pelton.run("echo b; echo c >&2", stdout=file, stderr=pelton.STDOUT)
    assert path.read_bytes() == b"before\nb\nc\n"
    assert pelton.run("echo a", stdout=pelton.DEVNULL).stdout is None


def test_check() -> None:
    with pytest.raises(pelton.PipelineFailed) as caught:
        pelton.run("echo out; echo the reason >&2; exit 4", check=True, capture_output=True)
    error = caught.value
    assert isinstance(error, subprocess.CalledProcessError)
    assert (error.returncode, error.output, error.stderr) == (4, b"out\n", b"the reason\n")
    assert "the reason" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_env_and_cwd(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "NAME": "value"}
    done = pelton.run('echo "$NAME"; pwd', env=env, cwd=tmp_path, text=True)
    assert done.stdout.splitlines() == ["value", str(tmp_path)]


def test_a_timeout_ends_every_process() -> None:
    seconds = marked()
    start = time.monotonic()
    with pytest.raises(pelton.PipelineTimeout) as caught:
        # The shell ignores a polite signal, and the last of it is not a child of pelton's.
        pelton.run(
            f"echo begun; sleep {seconds} | sh -c 'trap \"\" TERM; sleep {seconds}; true' | sleep {seconds}",
            timeout=0.5,
            capture_output=True,
        )
    assert time.monotonic() - start < 20
    assert isinstance(caught.value, subprocess.TimeoutExpired)
    assert caught.value.output == b"begun\n"
    assert eventually(lambda: not running(seconds))


def test_a_timeout_that_is_not_reached() -> None:
    assert pelton.run("echo a", timeout=60).stdout == b"a\n"
    assert pelton.run("echo a >&2", timeout=60, stdout=None, stderr=pelton.DEVNULL).returncode == 0


def test_an_interrupt_leaves_no_process() -> None:
    seconds = marked()
    program = (
        "import pelton, sys\n"
        f"try: pelton.run('sleep {seconds} | sleep {seconds}')\n"
        "except KeyboardInterrupt: sys.exit(7)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as python:
        assert eventually(lambda: len(running(seconds)) >= 2)
        python.send_signal(signal.SIGINT)
        assert python.wait(30) == 7
    assert eventually(lambda: not running(seconds))


def test_from_many_threads() -> None:
    results: list[bytes] = []

    def work(number: int) -> None:
        data = bytes([number]) * 300_000
        if pelton.run("cat", input=data).stdout == data:
            results.append(b"")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    def once() -> None:
        pelton.run("cat", input=bytes(200_000), capture_output=True, timeout=60)
        pelton.run("true", stdout=tmp_path / "out", input=Path(__file__))
        list(pelton.lines("seq 3"))
        next(pelton.lines("yes"))
        with pytest.raises(FileNotFoundError):
            pelton.run("cat", input=b"x", cwd=tmp_path / "none")

    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    once()
    before = descriptors()
    for _ in range(3):
        once()
    assert eventually(lambda: descriptors() == before)


def test_options_of_run() -> None:
    done = pelton.run("seq 9 | sort -rn | head -n 1", without=["sort", "seq"], jobs=1, memory="100M")
    assert done.stdout == b"9\n"
    assert pelton.run("seq 2 | wc -l", faithful=True, text=True).stdout.strip() == "2"
    assert pelton.run("true", without="nonsense", capture_output=True).returncode == 2


def test_words_that_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="capture_output"):
        pelton.run("true", capture_output=True, stderr=pelton.PIPE)
    with pytest.raises(ValueError, match="`stdin` and `input`"):
        pelton.run("true", stdin=pelton.DEVNULL, input=b"")
    with pytest.raises(TypeError, match=r"pelton\.pipe"):
        pelton.run(["ls"])  # type: ignore[call-overload]


HARMFUL = ["$(touch BAD)", "; touch BAD", "`touch BAD`", "*", "a b", "", "-x", "a\nb", "'", '"', "\\", "|", ":::", "~", "ä"]


@pytest.mark.parametrize("how", ["run", "time"])
def test_no_shell_parses_lists(tmp_path: Path, how: str) -> None:
    pipeline = pelton.pipe(["printf", "%s\\0", *HARMFUL], ["cat"])
    done: Any = getattr(pelton, how)(pipeline, cwd=tmp_path)
    assert done.stdout.decode().split("\0")[:-1] == HARMFUL
    assert os.listdir(tmp_path) == []


def test_lists_for_commands_that_pelton_does_not_know(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.write('\\0'.join(sys.argv[1:]))"
    done = pelton.run(pelton.pipe([sys.executable, "-c", program, *HARMFUL]), cwd=tmp_path)
    assert done.stdout.decode().split("\0") == HARMFUL
    assert os.listdir(tmp_path) == []


def test_pipe() -> None:
    pipeline = pelton.pipe(["grep", "a b", Path("f")]) | ["sort"]
    assert pipeline.stages == (("grep", "a b", "f"), ("sort",))
    assert str(pipeline) == "grep 'a b' f | sort"
    assert str(pelton.pipe(["time", "x"])) == "'time' x"
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline
    assert pelton.run(pelton.pipe(["/nowhere/at all"]), capture_output=True).returncode == 127
    for wrong in ([], [""], ["a\0"], ["A=b", "c"]):
        with pytest.raises(ValueError, match="cannot use"):
            pelton.pipe(wrong)
    with pytest.raises(TypeError, match="list of words"):
        pelton.pipe("sort")
    with pytest.raises(ValueError, match="no commands"):
        pelton.pipe()


def test_lines() -> None:
    iterator = pelton.lines("printf 'a\\nä\\nlast'")
    assert list(iterator) == ["a\n", "ä\n", "last"]
    assert iterator.returncode == 0
    assert list(iterator) == []
    assert list(pelton.lines("cat", input=["x\n"] * 3, text=False)) == [b"x\n"] * 3
    with pytest.raises(pelton.PipelineFailed):
        list(pelton.lines("echo a; exit 3", check=True))


def test_lines_come_while_the_pipeline_runs() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb", buffering=0) as sink:
        with pelton.lines("while read -r line; do echo \"$line\"; done", stdin=source) as iterator:
            for number in range(3):
                sink.write(b"%d\n" % number)
                assert next(iterator) == f"{number}\n"


@pytest.mark.parametrize("how", ["close", "with", "collected", "loop"])
def test_abandoned_lines_end_the_pipeline(how: str) -> None:
    seconds = marked()
    iterator = pelton.lines(f"echo a; sleep {seconds} | sleep {seconds}")
    assert next(iterator) == "a\n"
    assert eventually(lambda: len(running(seconds)) >= 2)
    pid = iterator.pid
    if how == "close":
        iterator.close()
        assert iterator.returncode is not None
    elif how == "with":
        with iterator:
            pass
    elif how == "loop":
        with pytest.raises(StopIteration):
            iterator.close()
            next(iterator)
    del iterator
    gc.collect()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    assert eventually(lambda: not running(seconds))


def test_lines_that_are_left_at_exit() -> None:
    seconds = marked()
    program = f"import pelton; kept = pelton.lines('echo a; sleep {seconds}'); next(kept); print('read')"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=60, check=True)
    assert done.stdout == b"read\n"
    assert eventually(lambda: not running(seconds))
