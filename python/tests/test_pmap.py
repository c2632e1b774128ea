"""Tests of `pmap`, `pfilter` and `pfold`."""

import contextlib
import gc
import gzip
import io
import itertools
import operator
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List

import pytest

import pelton
from pelton import _pmap_worker
from pelton._pmap import pfilter, pfold, pmap
from pelton._pmap_engine import Jobs
from pelton._pmap_errors import ItemError, WorkerDied
from pelton._pmap_source import CHUNK_SECONDS, Sizes
from pelton._pmap_stats import PmapStats
from pelton._pmap_wire import decode, encode
from test_popen import children, descriptors, dice_and_rounds


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    gc.collect()
    before = children(), descriptors()
    yield
    gc.collect()
    assert not children() - before[0], "processes left"
    assert not descriptors() - before[1], "descriptors left"


BOTH = pytest.mark.parametrize("start", ["forkserver", "fork"])


def double(value: Any) -> Any:
    return value * 2


def fail_at_500(value: int) -> int:
    if value == 500:
        raise ValueError("five hundred")
    return value


# Results.


@BOTH
@pytest.mark.parametrize("count", [0, 1, 2, 10_000])
def test_results_are_those_of_map(start: Any, count: int) -> None:
    assert list(pmap(double, range(count), start=start)) == [2 * value for value in range(count)]


def test_order(tmp_path: Path) -> None:
    # The first item waits until the other worker has computed another one.
    def first_is_late(value: int) -> int:
        until = time.monotonic() + 60
        while value == 0 and not marker.exists() and time.monotonic() < until:
            time.sleep(0.01)
        if value >= 10:
            marker.touch()
        return value

    items = list(range(200))
    marker = tmp_path / "ordered"
    assert list(pmap(first_is_late, items, jobs=2, chunk=1)) == items
    marker = tmp_path / "unordered"
    found = list(pmap(first_is_late, items, jobs=2, chunk=1, ordered=False))
    assert sorted(found) == items
    assert found[0] != 0


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3],
        [True, False],
        [1, True],
        [1 << 70, -1],
        [1.5, float("inf")],
        [b"a", b""],
        ["a", "é\udcff"],
        [None, None],
        [None, 1],
        [bytearray(b"x"), memoryview(b"x").tobytes()],
        [{"a": [1, (2, 3)]}],
        [],
    ],
)
def test_types_are_kept(values: List[Any]) -> None:
    encoded = encode(values)
    decoded = list(decode(encoded.encoding, memoryview(encoded.body), encoded.buffers))
    assert decoded == values
    assert [type(value) for value in decoded] == [type(value) for value in values]
    assert list(pmap(double, [1, 2])) == [2, 4]


def test_lambda_and_closure() -> None:
    offset = 10
    assert list(pmap(lambda value: value + offset, [1, 2])) == [11, 12]


def test_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import pelton, xml.etree.ElementTree\n"
        "print('top level')\n"
        "factor = 3\n"
        "def helper(value): return value * factor\n"
        "def fn(value):\n"
        "    xml.etree.ElementTree.Element('x')\n"
        "    return helper(value) if value < 3 else fn(value - 1)\n"
        "print(list(pelton.pmap(fn, range(5))))\n"
    )
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, check=True, timeout=60)
    assert done.stdout.decode() == "top level\n[0, 3, 6, 6, 6]\n"


def test_class_of_main_travels_by_cloudpickle(tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    script = tmp_path / "script.py"
    script.write_text(
        "import pelton\n"
        "class Point:\n"
        "    def __init__(self, x): self.x = x\n"
        "def fn(point): return Point(point.x + 1)\n"
        "found = list(pelton.pmap(fn, [Point(1), Point(2)]))\n"
        "print([point.x for point in found], type(found[0]) is Point)\n"
    )
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, check=True, timeout=60)
    assert done.stdout.decode() == "[2, 3] True\n"


def test_what_a_worker_prints_arrives(tmp_path: Path) -> None:
    code = "import pelton\nlist(pelton.pmap(print, ['a', 'b'], jobs=1))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, timeout=60)
    assert done.stdout == b"a\nb\n"


def test_arrays_are_whole_and_writable() -> None:
    numpy = pytest.importorskip("numpy")
    arrays = [numpy.full((300, 400), float(number)) for number in range(5)]
    for number, result in enumerate(pmap(double, arrays)):
        assert (result == 2.0 * number).all()
        result[0, 0] = -1
    assert arrays[1][0, 0] == 1.0


@BOTH
def test_filter(start: Any) -> None:
    assert list(pfilter(lambda value: value % 3 == 0, range(1000), start=start)) == list(range(0, 1000, 3))


@BOTH
def test_fold(start: Any) -> None:
    stats: List[PmapStats] = []
    assert pfold(operator.add, range(100_000), 0, start=start, on_stats=stats.append) == 4999950000
    assert stats[0].items == 100_000


def test_fold_with_combine_is_in_order() -> None:
    def append(words: List[int], item: int) -> List[int]:
        words.append(item)
        return words

    initial: List[int] = []
    assert pfold(append, range(5000), initial, operator.add, chunk=7) == list(range(5000))
    assert initial == []


# Lines.


LINES = [b"a\n", b"\n", b"b\rc\n", b"x" * 300_000 + b"\n", b"\r\n", b"last"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_bytes(b"".join(LINES * 3))
    return path


def same(line: bytes) -> bytes:
    return line


@pytest.mark.parametrize("chunk", ["auto", 300, 1 << 20])
def test_lines_of_a_path(path: Path, chunk: Any) -> None:
    with open(path, "rb") as file:
        assert list(pmap(same, path, chunk=chunk)) == file.readlines()


def test_lines_of_an_open_file_from_where_it_is(path: Path) -> None:
    with open(path, "rb") as file:
        file.read(5)
        rest = list(pmap(same, file))
        assert file.read() == b""
        file.seek(5)
        assert rest == file.readlines()


def test_lines_of_a_pipe(path: Path) -> None:
    with pelton.Popen(["cat", str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        rest = list(pmap(same, child.stdout))
    with open(path, "rb") as file:
        assert [first, *rest] == file.readlines()


def test_lines_of_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.gz"
    with gzip.open(path, "wb") as file:
        file.writelines(LINES)
    with gzip.open(path, "rb") as file:
        assert list(pmap(same, file)) == io.BytesIO(b"".join(LINES)).readlines()


def test_filter_and_fold_of_lines(path: Path) -> None:
    with open(path, "rb") as file:
        lines = file.readlines()
    assert list(pfilter(lambda line: len(line) > 2, path)) == [line for line in lines if len(line) > 2]
    assert pfold(lambda total, line: total + len(line), path, 0, operator.add) == path.stat().st_size


def test_ranges_cover_each_line_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(5)
    path = tmp_path / "lines"
    for _ in range(300):
        monkeypatch.setattr(_pmap_worker, "PIECE_BYTES", dice.choice([1, 3, 10, 1000]))
        monkeypatch.setattr(_pmap_worker, "MORE_BYTES", dice.choice([1, 2, 7, 1000]))
        path.write_bytes(bytes(dice.choice(b"ab\n") for _ in range(dice.randint(0, 90))))
        with open(path, "rb") as file:
            start = at = dice.randint(0, path.stat().st_size)
            found: List[Any] = []
            while at < path.stat().st_size:
                end = min(path.stat().st_size, at + dice.randint(1, 20))
                found += _pmap_worker.RangeChunk(file.fileno(), at, end, at == start).items()
                at = end
            file.seek(start)
            assert found == file.readlines()


# Back-pressure.


def test_endless_input_is_read_no_further_than_needed() -> None:
    taken = 0

    def numbers() -> Iterator[int]:
        nonlocal taken
        for number in itertools.count():
            taken = number
            yield number

    with pmap(double, numbers(), jobs=2, chunk=10) as results:
        assert list(itertools.islice(results, 1000)) == [2 * value for value in range(1000)]
    assert taken < 1000 + 10 * 40


def test_nothing_starts_before_it_is_asked_for() -> None:
    before = children()
    results = pmap(double, [1])
    assert children() == before
    results.close()
    assert list(results) == []


def test_abandoned_loop_ends_the_workers() -> None:
    before = children()
    for value in pmap(double, itertools.count()):
        if value > 1000:
            break
    assert children() == before


def test_slow_source_does_not_delay_results() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(12):
            taken += 1
            yield number
            time.sleep(0.1)

    arrived = 0
    waiting = []
    for _ in pmap(double, items()):
        arrived += 1
        waiting.append(taken - arrived)
    # A result arrives before the iterable is asked for the next item; at least once of ten times,
    # however busy the machine is.
    assert 0 in waiting[1:-1]


# Errors.


@BOTH
def test_error_names_the_item(start: Any) -> None:
    done = []
    with pytest.raises(ValueError, match="five hundred") as error:
        for value in pmap(fail_at_500, range(1000), start=start):
            done.append(value)
    assert done == list(range(500))
    cause = error.value.__cause__
    assert isinstance(cause, ItemError)
    assert (cause.index, cause.item, cause.done) == (500, "500", 500)
    assert "fail_at_500" in cause.traceback


def test_error_in_a_line_names_it(path: Path) -> None:
    def fail(line: bytes) -> None:
        if line.startswith(b"b"):
            raise KeyError(line)

    with pytest.raises(KeyError) as error:
        list(pmap(fail, path, jobs=1, chunk=1 << 20))
    cause = error.value.__cause__
    assert isinstance(cause, ItemError)
    assert cause.item == repr(b"b\rc\n")
    assert "line 2 (from 0)" in cause.position


class Unpicklable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("only one argument")


def test_error_that_cannot_be_sent() -> None:
    def fail(value: int) -> None:
        raise Unpicklable(1, 2)

    with pytest.raises(ItemError, match="only one argument"):
        list(pmap(fail, [1]))


def test_result_that_cannot_be_sent() -> None:
    with pytest.raises((TypeError, AttributeError, ItemError)) as error:
        list(pmap(lambda value: threading.Lock() if value == 3 else value, range(5), jobs=1, chunk=5))
    cause = error.value if isinstance(error.value, ItemError) else error.value.__cause__
    assert isinstance(cause, ItemError) and cause.index == 3


def test_stop_iteration_is_an_error() -> None:
    def stop(value: int) -> int:
        if value == 7:
            raise StopIteration
        return value

    done: List[int] = []
    with pytest.raises(RuntimeError, match="StopIteration"):
        for value in pmap(stop, range(8)):
            done.append(value)
    assert done == list(range(7))


def test_error_of_the_source_comes_after_its_items() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise OSError("no more")

    done: List[int] = []
    with pytest.raises(OSError, match="no more"):
        for value in pmap(double, items()):
            done.append(value)
    assert done == [0, 2, 4, 6, 8]


def test_function_that_cannot_be_sent() -> None:
    lock = threading.Lock()
    with pytest.raises(TypeError, match="start='fork'"):
        pmap(lambda value: lock.locked(), [1])
    assert list(pmap(lambda value: lock.locked(), [1], start="fork")) == [False]


@pytest.mark.parametrize("words", [{"jobs": 0}, {"jobs": "many"}, {"chunk": 0}, {"start": "spawn"}])
def test_arguments_are_checked(words: Dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        pmap(double, [1], **words)


# Workers that die.


@BOTH
def test_worker_that_dies_once_is_replaced(start: Any, tmp_path: Path) -> None:
    marker = tmp_path / "died"

    def die_once(value: int) -> int:
        if value == 50 and not marker.exists():
            marker.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    results = pmap(die_once, range(1000), start=start)
    assert list(results) == list(range(1000))
    assert results.stats.chunks_retried == 1


@BOTH
def test_worker_that_dies_twice_is_an_error(start: Any) -> None:
    def die(value: int) -> int:
        if value == 50:
            os.kill(os.getpid(), signal.SIGTERM)
        return value

    with pytest.raises(WorkerDied) as error:
        list(pmap(die, range(100), jobs=2, chunk=20, start=start))
    assert error.value.returncode == -signal.SIGTERM
    assert error.value.position == "items 40 to 59"
    assert error.value.index == 10
    assert error.value.done == 40


def test_processes_of_the_items_end_too(tmp_path: Path) -> None:
    def start_sleep(value: int) -> int:
        pid = subprocess.Popen(["sleep", "1000"]).pid
        (tmp_path / "pid").write_text(str(pid))
        time.sleep(100)
        return value

    results = pmap(start_sleep, [1])
    thread = threading.Timer(0, lambda: None)
    thread.start()
    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(results)
    finally:
        signal.signal(signal.SIGALRM, old)
        thread.join()
    pid = int((tmp_path / "pid").read_text())
    assert is_gone_within(pid, 5)


def is_gone_within(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_caller_that_is_killed_leaves_no_worker(tmp_path: Path) -> None:
    code = (
        "import os, pelton, time\n"
        "def fn(value):\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "    os.kill(caller, 9)\n"
        "    time.sleep(1000)\n"
        "caller = os.getpid()\n"
        "list(pelton.pmap(fn, [1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == -9
    assert is_gone_within(int((tmp_path / "pid").read_text()), 10)


# Random ends: the fixture looks for processes and descriptors.


def busy(value: int) -> int:
    if value % 7 == 0:
        time.sleep(0.001)
    return value


def one_random_end(dice: random.Random) -> None:
    kind = dice.choice(["interrupt", "kill", "exception", "break", "error"])
    fn: Any = fail_at_500 if kind == "error" else busy
    if kind == "interrupt":
        signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.001, 0.15))
    before = children()
    try:
        start: Any = dice.choice(["forkserver", "fork"])
        for value in pmap(fn, itertools.count(), jobs=2, start=start):
            if value == 300 and kind == "kill":
                for pid in children() - before:
                    os.kill(pid, signal.SIGKILL)
            if value == 700 and kind == "exception":
                raise RuntimeError
            if value > 1500:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


# An interrupt may come before anything refers to the object that closes a socket.
@pytest.mark.filterwarnings("ignore")
def test_random_ends_leave_nothing() -> None:
    dice, rounds = dice_and_rounds(8)
    old = signal.signal(signal.SIGALRM, interrupt_once)
    try:
        for _ in range(rounds):
            with contextlib.suppress(KeyboardInterrupt, RuntimeError, ValueError, WorkerDied):
                one_random_end(dice)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def interrupt_once(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


# Decisions.


def test_chunks_follow_the_cost() -> None:
    sizes = Sizes(1, 1 << 20, None)
    for _ in range(20):
        sizes.learn(sizes.size, sizes.size * 1e-6, 100)
    assert 0.5 * CHUNK_SECONDS < sizes.size * 1e-6 <= CHUNK_SECONDS
    sizes.learn(sizes.size, 1.0, 100)
    assert sizes.size < 0.1 * CHUNK_SECONDS / 1e-6
    for _ in range(20):
        sizes.learn(sizes.size, 1e-6, sizes.size << 20)
    assert sizes.size <= 8


def test_jobs_grow_where_fn_waits() -> None:
    jobs = Jobs("auto")
    least = jobs.most
    jobs.learn(PmapStats(seconds_fn=1.0, seconds_fn_blocked=0.0))
    assert jobs.most == least
    jobs.learn(PmapStats(seconds_fn=1.0, seconds_fn_blocked=0.99))
    assert jobs.most == 4 * least
    fixed = Jobs(3)
    fixed.learn(PmapStats(seconds_fn=1.0, seconds_fn_blocked=0.99))
    assert fixed.most == 3


def test_waiting_function_gets_more_workers() -> None:
    results = pmap(sleep_a_little, range(200), chunk=2)
    assert list(results) == list(range(200))
    assert results.stats.jobs > Jobs("auto")._cpus


def sleep_a_little(value: int) -> int:
    time.sleep(0.01)
    return value


@pytest.mark.parametrize(
    ("stats", "words"),
    [
        (PmapStats(), "no items"),
        (PmapStats(items=10**6, seconds=4, seconds_fn=2, jobs=2), "fn costs 2 µs an item: processes cannot help"),
        (PmapStats(items=10, seconds=0.1, seconds_fn=0.01, jobs=2), "starting processes takes longer"),
        (PmapStats(items=10, seconds=1, seconds_fn=1.9, seconds_fn_cpu=1.9, jobs=2), "1.9 times as fast"),
        (PmapStats(items=10, seconds=1, seconds_fn=8, seconds_fn_blocked=7.9, jobs=8), "threads would do as well"),
        (PmapStats(items=10, seconds=1, seconds_fn=0.5, seconds_consumer=0.9, jobs=2), "takes the results"),
    ],
)
def test_verdicts(stats: PmapStats, words: str) -> None:
    assert words in stats.verdict


def test_shares_add_up() -> None:
    results = pmap(double, range(50_000))
    list(results)
    stats = results.stats
    assert stats.items == 50_000
    assert stats.share_fn + stats.share_pickling + stats.share_waiting == pytest.approx(1)
    assert stats.bytes_received > 0


def test_no_bar_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    list(pmap(sleep_a_little, range(150), jobs=1))
    assert capsys.readouterr().err == ""


def test_bar_is_drawn_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    list(pmap(sleep_a_little, range(150), jobs=1, chunk=10, progress=True))
    shown = capsys.readouterr().err
    assert "1 jobs" in shown
    assert shown.endswith("\r\x1b[K")


def test_pmap_in_a_worker() -> None:
    def outer(value: int) -> int:
        from pelton._pmap import pmap

        return sum(pmap(double, range(value)))

    assert list(pmap(outer, [3, 4])) == [6, 12]


def test_iterables_of_any_kind() -> None:
    items: Iterable[Any]
    for items in ("abc", {"a": 1}, (1, 2), iter([1]), b"ab", {5}):
        expected = [double(item) for item in list(items)] if not isinstance(items, Iterator) else [2]
        assert list(pmap(double, items)) == expected
