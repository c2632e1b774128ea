"""Compares `pelton.Popen` with `subprocess.Popen`.

    python bench/popen.py [deadlocks] [memory] [cost] [--gigabytes N]

deadlocks: runs each way of tests/deadlocks.py with both, for 3 s at most.
memory: a child writes N GB (5) to a caller that reads nothing; then the caller reads it all.
cost: what starting a child and reading its output costs more.
Prints tables. With --output FILE it writes them as well.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, List

import measure

TESTS = Path(__file__).parent.parent / "tests"
HANG_SECONDS = 3.0


def deadlocks_table() -> str:
    sys.path.insert(0, str(TESTS))
    import deadlocks

    rows = []
    for name in deadlocks.WAYS:
        rows.append([name.replace("_", " "), one_way("subprocess", name), one_way("pelton", name)])
    return (
        f"### {len(rows)} ways to hang\n\n"
        f"`python bench/popen.py deadlocks`: `hangs` means that the caller was ended after {HANG_SECONDS:.0f} s; "
        "else the time that the program took, the start of Python included.\n\n"
    ) + measure.table(["what the caller does", "subprocess", "pelton"], rows)


def one_way(module: str, name: str) -> str:
    started = time.perf_counter()
    command = [sys.executable, str(TESTS / "deadlocks.py"), module, name]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        program.communicate(timeout=HANG_SECONDS if module == "subprocess" else 60)
        return f"{time.perf_counter() - started:.2f} s" if program.returncode == 0 else "fails"
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        program.wait()


def status_figure(pid: int, name: str) -> int:
    """Returns a figure of /proc/PID/status in bytes, 0 if the process has gone."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def memory_case(gigabytes: float) -> None:
    """Lets a child write to a caller that reads nothing, then reads it."""
    import pelton

    size = int(gigabytes * 1e9)
    own_before = status_figure(os.getpid(), "VmHWM")
    started = time.perf_counter()
    with pelton.Popen(["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE) as child:
        # `head` ends only when all was taken from it.
        assert child.wait() == 0
        written = time.perf_counter() - started
        buffer = status_figure(child._owner.buffers["stdout"].process.pid, "VmHWM")
        started = time.perf_counter()
        assert child.stdout is not None
        read = 0
        block = bytearray(1 << 20)
        while True:
            count = child.stdout.readinto1(block)  # type: ignore[attr-defined]
            if not count:
                break
            read += count
        assert read == size
        reading = time.perf_counter() - started
        stats = child.stats
    assert stats is not None and stats.stdout is not None
    own = status_figure(os.getpid(), "VmHWM") - own_before
    print(
        json.dumps(
            {
                "buffer": buffer,
                "caller": own,
                "written": written,
                "reading": reading,
                "disk": stats.stdout.bytes_on_disk,
                "saved": stats.seconds_saved,
            }
        )
    )


def memory_table(gigabytes: float) -> str:
    found = measure.run_case(__file__, ["--case", "memory", "--gigabytes", str(gigabytes)])["out"]
    rows = [
        ["peak memory of the buffer process", f"{found['buffer'] / 1e6:.1f} MB"],
        ["growth of the caller's peak memory", f"{found['caller'] / 1e6:.1f} MB"],
        ["both", f"{(found['buffer'] + found['caller']) / 1e6:.1f} MB"],
        ["held on disk", f"{found['disk'] / 1e9:.2f} GB"],
        ["child's life, nobody reading", f"{found['written']:.1f} s"],
        ["reading it afterwards", f"{found['reading']:.1f} s"],
        ["time the child would have stood still (`stats.seconds_saved`)", f"{found['saved']:.1f} s"],
    ]
    return (
        f"### A child writes {gigabytes:g} GB to a caller that reads nothing\n\n"
        f"`python bench/popen.py memory --gigabytes {gigabytes:g}`: `head -c {gigabytes * 1e9:.0f} /dev/zero`, "
        "`wait()`, then all of it is read and counted.\n\n"
    ) + measure.table(["", ""], rows)


def cost_case(module: str, what: str) -> None:
    popen: Any
    if module == "pelton":
        from pelton import Popen as popen
    else:
        from subprocess import Popen as popen
    for _ in range(100 if what == "start" else 1):
        command = ["true"] if what == "start" else ["head", "-c", "1000000000", "/dev/zero"]
        with popen(command, stdout=subprocess.PIPE) as child:
            while child.stdout.read1(1 << 20):
                pass
    print("0")


def cost_table(runs: int) -> str:
    rows = []
    for what, title in (("start", "100 times `true`"), ("stream", "1 GB from `head`, read as it comes")):
        for module in ("subprocess", "pelton"):
            found = [measure.run_case(__file__, ["--case", f"{what}:{module}"]) for _ in range(runs)]
            rows.append(
                [
                    f"{title}, {module}",
                    f"{measure.median(found, 'real'):.2f}",
                    f"{measure.median(found, 'cpu'):.2f}",
                ]
            )
    return f"### What it costs\n\n`python bench/popen.py cost --runs {runs}`\n\n" + measure.table(
        ["", "real s", "user+sys s"], rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=["deadlocks", "memory", "cost"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=5)
    parser.add_argument("--output")
    parser.add_argument("--case")
    arguments = parser.parse_args()
    if arguments.case:
        what, _, module = arguments.case.partition(":")
        memory_case(arguments.gigabytes) if what == "memory" else cost_case(module, what)
        return
    parts: List[str] = []
    for name in arguments.tables:
        if name == "deadlocks":
            parts.append(deadlocks_table())
        elif name == "memory":
            parts.append(memory_table(arguments.gigabytes))
        else:
            parts.append(cost_table(arguments.runs))
        print(parts[-1], flush=True)
    if arguments.output:
        head = f"# pelton.Popen beside subprocess.Popen\n\nMachine: {measure.MACHINE}; Python {platform.python_version()}.\n\n"
        Path(arguments.output).write_text(head + "\n".join(parts))


if __name__ == "__main__":
    main()
