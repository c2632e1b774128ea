"""Measures `pelton.run` beside `subprocess`, and writes `bench/results/python-run.md`.

Run with `python bench/run.py [--size MB] [--runs N] [--no-write]` where pelton is installed.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

import pelton

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results" / "python-run.md"


class Sample(NamedTuple):
    real: float
    cpu: float
    # The tenth part of the runs was at least as fast: what other programs disturb least.
    fast: float = 0.0


def cpu() -> float:
    """Returns the CPU time of this process and of its children that have ended, in seconds."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def measure(work: Callable[[], Any]) -> Sample:
    before, start = cpu(), time.perf_counter()
    result = work()
    sample = Sample(time.perf_counter() - start, cpu() - before)
    del result
    return sample


def in_turns(works: dict[str, Callable[[], Any]], runs: int) -> dict[str, Sample]:
    """Returns the medians of runs that take turns, in an order that changes."""
    samples: dict[str, list[Sample]] = {name: [] for name in works}
    names = list(works)
    for work in works.values():
        work()
    for number in range(runs):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            samples[name].append(measure(works[name]))
    return {
        name: Sample(
            statistics.median(s.real for s in taken),
            statistics.median(s.cpu for s in taken),
            sorted(s.real for s in taken)[len(taken) // 10],
        )
        for name, taken in samples.items()
    }


def fed_by_a_thread(argv: list[str], data: bytes) -> bytes:
    """Does what a careful user of `subprocess` does: writes in a thread, and reads at once."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin = process.stdin

        def write() -> None:
            stdin.write(data)
            stdin.close()

        thread = threading.Thread(target=write)
        thread.start()
        out = process.stdout.read()
        thread.join()
    return out


def through_files(argv: list[str], data: bytes, directory: str) -> bytes:
    """Does what `subprocess` recommends for large data: files, here in memory."""
    source, target = os.path.join(directory, "in"), os.path.join(directory, "out")
    with open(source, "wb") as file:
        file.write(data)
    with open(source, "rb") as stdin, open(target, "w+b") as stdout:
        subprocess.run(argv, stdin=stdin, stdout=stdout, check=True)
        stdout.seek(0)
        return stdout.read()


def table(title: str, measured: dict[str, Sample], unit: str, scale: float) -> list[str]:
    lines = [f"## {title}", ""]
    lines.append(f"| | real, {unit} | fastest tenth, {unit} | user+sys, {unit} |")
    lines.append("| --- | ---: | ---: | ---: |")
    for name, sample in measured.items():
        lines.append(f"| {name} | {sample.real * scale:.2f} | {sample.fast * scale:.2f} | {sample.cpu * scale:.2f} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="MB")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    megabytes = options.size
    data = (b"x" * 63 + b"\n") * (megabytes * 10**6 // 64)
    size = len(data)
    pipeline = pelton.pipe(["true"])
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    calls = in_turns(
        {
            "`subprocess.run(['sh', '-c', 'true'])`": lambda: subprocess.run(["sh", "-c", "true"], check=True),
            "the same, with `stdout=PIPE`": lambda: subprocess.run(["sh", "-c", "true"], stdout=subprocess.PIPE, check=True),
            "`pelton.run('true')`": lambda: pelton.run("true"),
            "`pelton.run('true', stdout=None)`": lambda: pelton.run("true", stdout=None),
            "`pelton.run(pelton.pipe(['true']))`": lambda: pelton.run(pipeline),
        },
        options.calls,
    )
    with tempfile.TemporaryDirectory(dir=shm) as directory:
        both = in_turns(
            {
                "`subprocess.run(['cat'], input=data, stdout=PIPE)`": lambda: subprocess.run(
                    ["cat"], input=data, stdout=subprocess.PIPE, check=True
                ).stdout,
                "`subprocess.Popen(['cat'])`, fed by a thread": lambda: fed_by_a_thread(["cat"], data),
                "`subprocess.run(['cat'])` through files in memory": lambda: through_files(["cat"], data, directory),
                "`pelton.run('cat', input=data)`": lambda: pelton.run("cat", input=data).stdout,
            },
            options.runs,
        )
    only_in = in_turns(
        {
            "`subprocess.run(['wc', '-l'], input=data)`": lambda: subprocess.run(
                ["wc", "-l"], input=data, stdout=subprocess.PIPE, check=True
            ),
            "`subprocess.Popen(['wc', '-l'])`, fed by a thread": lambda: fed_by_a_thread(["wc", "-l"], data),
            "`pelton.run('wc -l', input=data)`": lambda: pelton.run("wc -l", input=data),
        },
        options.runs,
    )
    only_out = in_turns(
        {
            "`subprocess.run(['head', '-c', …], stdout=PIPE)`": lambda: subprocess.run(
                ["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE, check=True
            ).stdout,
            "`pelton.run('head -c …')`": lambda: pelton.run(f"head -c {size} /dev/zero").stdout,
        },
        options.runs,
    )
    cores = len(os.sched_getaffinity(0))
    lines = [
        "# `pelton.run` beside `subprocess`",
        "",
        f"Medians of {options.calls} calls and of {options.runs} runs over {megabytes} MB, taking turns. Python "
        f"{platform.python_version()} on {platform.node()}, {cores} cores; load {os.getloadavg()[0]:.1f} at the end "
        "(more than the measured processes make is other work on the machine).",
        "`python python/bench/run.py` measures again.",
        "",
        *table("A call that does nothing", calls, "ms", 1000),
        *table(f"{megabytes} MB in and out", both, "s", 1),
        *table(f"{megabytes} MB in", only_in, "s", 1),
        *table(f"{megabytes} MB out", only_out, "s", 1),
    ]
    text = "\n".join(lines).rstrip("\n") + "\n"
    if not options.no_write:
        RESULTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
