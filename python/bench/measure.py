"""Runs a case of a benchmark in a process of its own and measures it."""

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Dict, List

MACHINE = "vm, 2 cores"


def run_case(script: str, arguments: List[str], python: str = sys.executable) -> Dict[str, Any]:
    """Returns wall time, user and system time of all processes, peak memory, and what was printed."""
    started = time.perf_counter()
    process = subprocess.Popen([python, script, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if status:
        raise RuntimeError(f"{arguments} ended with {process.returncode}")
    return {
        "real": time.perf_counter() - started,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1000,
        "out": json.loads(out.decode().splitlines()[-1]) if out.strip() else None,
    }


def median(runs: List[Dict[str, Any]], key: str) -> float:
    """Returns the median of a figure."""
    return statistics.median(run[key] for run in runs)


def table(heads: List[str], rows: List[List[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [" | ".join(heads), " | ".join("---" if at == 0 else "---:" for at in range(len(heads)))]
    lines += [" | ".join(row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)
