"""Compares `pelton.pmap` with other ways to use all cores from Python.

    python bench/pmap.py [lines] [loop] [--runs N] [--megabytes N] [--python OTHER]

Input: `megabytes` MB of lines of `line-bytes` bytes in a temporary file; line N is N in decimal digits,
padded with zeros to that width.
Prints tables. With --output FILE it writes them as well.
"""

import argparse
import itertools
import json
import os
import platform
import sys
import sysconfig
import tempfile
import time
from typing import Any, Callable, Dict, Iterable, List

import measure

JOBS = 2
# What T1 and T2 count: a loop that the GIL does not let run in parallel.
LOOP_COUNT = 20_000_000
LOOP_TASKS = 4


def microsecond(line: bytes) -> int:
    """Takes about 1 µs."""
    return sum(line) + len(line.split())


def hundred_microseconds(line: bytes) -> int:
    """Uses 100 µs of CPU, however busy the machine is."""
    until = time.thread_time_ns() + 100_000
    while time.thread_time_ns() < until:
        pass
    return len(line)


FUNCTIONS: Dict[str, Callable[[bytes], int]] = {"1": microsecond, "100": hundred_microseconds}


def count_down(count: int) -> int:
    while count:
        count -= 1
    return count


# Lines.


def lines_loop(path: str, fn: Callable[[bytes], int], chunk: int) -> int:
    with open(path, "rb") as file:
        return sum(map(fn, file))


def lines_halves(path: str, fn: Callable[[bytes], int], chunk: int) -> int:
    """Maps one half in a process of its own, the other one here, and joins nothing but the two sums.

    This is what work on two cores costs at least. The same instructions take more CPU time there
    than on one core while the other one is idle, where two cores share caches or a physical core.
    """
    with open(path, "rb") as file:
        file.seek(os.path.getsize(path) // 2)
        file.readline()
        middle = file.tell()
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write_end, str(sum(map(fn, file))).encode())
            os._exit(0)
        os.close(write_end)
    total = 0
    with open(path, "rb") as file:
        at = 0
        for line in file:
            total += fn(line)
            at += len(line)
            if at == middle:
                break
    with open(read_end, "rb") as answer:
        total += int(answer.read())
    os.waitpid(child, 0)
    return total


def lines_pool(path: str, fn: Callable[[bytes], int], chunk: int) -> int:
    import multiprocessing

    with open(path, "rb") as file, multiprocessing.Pool(JOBS) as pool:
        total = sum(pool.imap(fn, file, chunksize=chunk))
        pool.close()
        pool.join()
    return total


def lines_pmap(path: str, fn: Callable[[bytes], int], chunk: int) -> int:
    import pelton

    with open(path, "rb") as file:
        results = pelton.pmap(fn, file, jobs=JOBS)
        total = sum(results)
    return total


def lines_pmap_pipe(path: str, fn: Callable[[bytes], int], chunk: int) -> int:
    import pelton

    with pelton.Popen(["cat", path], stdout=-1) as child:
        assert child.stdout is not None
        return sum(pelton.pmap(fn, child.stdout, jobs=JOBS))


def lines_pmap_list(path: str, fn: Callable[[bytes], int], chunk: int) -> int:
    import pelton

    with open(path, "rb") as file:
        return sum(pelton.pmap(fn, iter(file.readline, b""), jobs=JOBS))


def lines_pfold(path: str, fn: Callable[[bytes], int], chunk: int) -> int:
    import pelton

    def add(total: int, line: bytes) -> int:
        return total + fn(line)

    with open(path, "rb") as file:
        return pelton.pfold(add, file, 0, lambda a, b: a + b, jobs=JOBS)


LINES = {
    "loop": lines_loop,
    "halves": lines_halves,
    "pool": lines_pool,
    "pmap": lines_pmap,
    "pmap-pipe": lines_pmap_pipe,
    "pmap-iterable": lines_pmap_list,
    "pfold": lines_pfold,
}


def cost_of(path: str, fn: Callable[[bytes], int]) -> float:
    """Returns the CPU time of fn for a line, in seconds."""
    with open(path, "rb") as file:
        some = list(itertools.islice(file, 100_000 if fn is microsecond else 5_000))
    best = 1e9
    for _ in range(5):
        started = time.process_time()
        sum(map(fn, some))
        best = min(best, time.process_time() - started)
    return best / len(some)


# The counting loop.


def loop_alone(counts: List[int]) -> Iterable[int]:
    return map(count_down, counts)


def loop_threads(counts: List[int]) -> Iterable[int]:
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(LOOP_TASKS) as pool:
        return list(pool.map(count_down, counts))


def loop_multiprocessing(counts: List[int]) -> Iterable[int]:
    import multiprocessing

    with multiprocessing.Pool(JOBS) as pool:
        return pool.map(count_down, counts)


def loop_futures(counts: List[int]) -> Iterable[int]:
    import concurrent.futures

    with concurrent.futures.ProcessPoolExecutor(JOBS) as pool:
        return list(pool.map(count_down, counts))


def loop_joblib(counts: List[int]) -> Iterable[int]:
    import joblib  # type: ignore[import-untyped,import-not-found,unused-ignore]

    done: List[int] = joblib.Parallel(n_jobs=JOBS)(joblib.delayed(count_down)(count) for count in counts)
    return done


def loop_ray(counts: List[int]) -> Iterable[int]:
    import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]

    ray.init(num_cpus=JOBS, logging_level="ERROR", include_dashboard=False, log_to_driver=False)
    remote = ray.remote(count_down)
    done: List[int] = ray.get([remote.remote(count) for count in counts])
    ray.shutdown()
    return done


def loop_pmap(counts: List[int]) -> Iterable[int]:
    import pelton

    return list(pelton.pmap(count_down, counts))


LOOPS = {
    "one after the other": loop_alone,
    "threads": loop_threads,
    "multiprocessing.Pool": loop_multiprocessing,
    "concurrent.futures": loop_futures,
    "joblib": loop_joblib,
    "ray": loop_ray,
    "pelton.pmap": loop_pmap,
}
NEEDS = {"joblib": "joblib", "ray": "ray"}


def case(arguments: argparse.Namespace) -> None:
    """Runs one case and prints its result as JSON."""
    kind, name = arguments.case.split(":")
    if kind == "loop":
        counts = [LOOP_COUNT] * LOOP_TASKS
        print(json.dumps(list(LOOPS[name](counts))))
        return
    fn = FUNCTIONS[arguments.cost]
    if kind == "bare":
        print(json.dumps(cost_of(arguments.path, fn)))
    elif kind == "endless":
        print(json.dumps(endless()))
    else:
        print(json.dumps(LINES[name](arguments.path, fn, arguments.chunk)))


def endless() -> int:
    """Takes two million results of an endless input, and returns how far that was read."""
    import pelton

    taken = 0

    def numbers() -> Iterable[int]:
        nonlocal taken
        for number in itertools.count():
            taken = number
            yield number

    with pelton.pmap(abs, numbers(), jobs=JOBS) as results:
        for _ in itertools.islice(results, 2_000_000):
            pass
    return taken - 2_000_000


# The tables.


def make_input(path: str, megabytes: int, line_bytes: int = 100) -> int:
    count = megabytes * 1_000_000 // line_bytes
    form = b"%%0%dd\n" % (line_bytes - 1)
    with open(path, "wb") as file:
        for start in range(0, count, 10_000):
            file.write(b"".join(form % number for number in range(start, min(start + 10_000, count))))
    return count


def lines_table(runs: int, megabytes: int, line_bytes: int, cost: str, only: str) -> str:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "lines")
        count = make_input(path, megabytes, line_bytes)
        cases = [("loop", 0), ("halves", 0), *(("pool", chunk) for chunk in POOL_CHUNKS[cost])]
        cases += [(name, 0) for name in ("pmap", "pmap-pipe", "pmap-iterable", "pfold")]
        cases = [(name, chunk) for name, chunk in cases if not only or name in ("loop", "halves", *only.split(","))]
        each = measure.run_case(__file__, ["--case", "bare:", "--cost", cost, "--path", path])["out"]
        found: Dict[Any, List[Dict[str, Any]]] = {key: [] for key in cases}
        for _ in range(runs):
            for name, chunk in cases:
                words = ["--case", f"lines:{name}", "--cost", cost, "--path", path, "--chunk", str(chunk)]
                found[name, chunk].append(measure.run_case(__file__, words))
    command = f"lines --cost {cost} --megabytes {megabytes} --line-bytes {line_bytes} --runs {runs}"
    command += f" --only {only}" if only else ""
    return (
        f"### {megabytes} MB of lines, a function of {each * 1e6:.3g} µs\n\n"
        f"`python bench/pmap.py {command}`: {count:,} lines. Overhead: user+sys of all processes, less that "
        "of two plain loops over a half each at the same time, for each line.\n\n"
    ) + lines_rows(found, count)


NAMES = {
    "loop": "plain loop, one process",
    "halves": "plain loops, two processes",
    "pmap": "`pelton.pmap(fn, file)`",
    "pmap-pipe": "`pelton.pmap(fn, child.stdout)`",
    "pmap-iterable": "`pelton.pmap(fn, iterable)`",
    "pfold": "`pelton.pfold(add, file, 0)`",
}


# What no way of sharing the work adds to.
BARE = ("loop", "halves")
POOL_CHUNKS = {"1": (100, 1000, 5000, 20000), "100": (100, 1000, 5000)}


def lines_rows(found: Dict[Any, List[Dict[str, Any]]], count: int) -> str:
    assert len({run["out"] for some in found.values() for run in some}) == 1, "results differ"
    bare = measure.median(found["halves", 0], "cpu")
    overhead = {key: (measure.median(some, "cpu") - bare) / count for key, some in found.items()}
    best = min(value for (name, _), value in overhead.items() if name == "pool")
    rows = []
    for (name, chunk), some in found.items():
        value = overhead[name, chunk]
        rows.append(
            [
                NAMES.get(name, f"`Pool.imap(fn, file, chunksize={chunk})`"),
                f"{measure.median(some, 'real'):.2f}",
                f"{measure.median(some, 'cpu'):.2f}",
                f"{value * 1e6:.3f}" if name not in BARE else "",
                f"{best / value:.1f}" if name not in BARE and value > 0 else "",
                f"{measure.median(some, 'peak_mb'):.0f}",
            ]
        )
    heads = ["", "real s", "user+sys s", "overhead µs a line", "best Pool / this", "peak MB"]
    return measure.table(heads, rows)


def loop_table(runs: int, python: str) -> str:
    names = [name for name in LOOPS if name not in NEEDS or can_import(python, NEEDS[name])]
    found: Dict[str, List[Dict[str, Any]]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            found[name].append(measure.run_case(__file__, ["--case", f"loop:{name}"], python))
    alone = measure.median(found["one after the other"], "real")
    rows = [
        [
            name,
            f"{measure.median(some, 'real'):.2f}",
            f"{measure.median(some, 'cpu'):.2f}",
            f"{alone / measure.median(some, 'real'):.2f}",
        ]
        for name, some in found.items()
    ]
    version = platform.python_version() if python == sys.executable else os.path.basename(python)
    if python == sys.executable and sysconfig.get_config_var("Py_GIL_DISABLED"):
        version += ", free-threaded"
    missing = [name for name in LOOPS if name not in names]
    note = f" Not installed: {', '.join(missing)}." if missing else ""
    return (
        f"### The counting loop: {LOOP_TASKS} times from {LOOP_COUNT:,} to 0, Python {version}\n\n"
        f"`python bench/pmap.py loop --runs {runs}`.{note}\n\n"
    ) + measure.table(["", "real s", "user+sys s", "times as fast"], rows)


def can_import(python: str, module: str) -> bool:
    import subprocess

    command = [python, "-c", f"import {module}"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def endless_table() -> str:
    run = measure.run_case(__file__, ["--case", "endless:"])
    return (
        "### An endless input\n\n"
        f"`python bench/pmap.py endless`: after 2,000,000 results of `pmap(abs, numbers())`, {run['out']:,} items "
        f"were read ahead, and the caller's peak memory is {run['peak_mb']:.0f} MB.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["loop", "lines", "endless"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--only", default="", help="of the ways over lines: pool,pmap")
    parser.add_argument("--line-bytes", type=int, default=100)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--output")
    parser.add_argument("--case")
    parser.add_argument("--cost", default="1", choices=sorted(FUNCTIONS))
    parser.add_argument("--path", default="")
    parser.add_argument("--chunk", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.case:
        case(arguments)
        return
    parts = []
    for name in arguments.tables:
        if name == "loop":
            parts.append(loop_table(arguments.runs, arguments.python))
        elif name == "lines":
            parts.append(lines_table(arguments.runs, arguments.megabytes, arguments.line_bytes, arguments.cost, arguments.only))
        else:
            parts.append(endless_table())
        print(parts[-1], flush=True)
    if arguments.output:
        head = f"Machine: {measure.MACHINE}; Python {platform.python_version()}; medians of {arguments.runs}.\n\n"
        with open(arguments.output, "a") as file:
            file.write(head + "\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
