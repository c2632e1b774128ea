"""Starts the workers of `pelton run --on dask://…` on a cluster of Dask distributed.

pelton runs this module as a process of its own (`python -m pelton.dask_driver`) and decides
everything: which part runs when, again, or a second time. This module carries it out.

Standard input, a line each: `start ATTEMPT PART`, `cancel ATTEMPT`. Its end cancels all.
Standard output, a JSON object each: `{"workers": N}` once and whenever that changes,
`{"ended": ATTEMPT, "how": TEXT}` (empty: it succeeded), `{"not_taken": ATTEMPT}` (no worker is free),
`{"fatal": TEXT}`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import threading
import time
from typing import Any

# How often a task looks whether it was cancelled, and this process at the cluster, in seconds.
_TICK = 0.1
# A cluster without a connection for this long, or without a worker, is given up.
_PATIENCE_SECONDS = 15.0


def run_part(pelton: str, plan: str, part: int, attempt: int) -> str:
    """Runs one part of a plan on the worker that calls this; returns how it failed, or "".

    The process is killed once the plan's directory holds a file `stop` or `stop-ATTEMPT`.
    """
    # Dask sends this function to the workers as it is: they need not have this package.
    import os
    import select
    import shutil
    import subprocess
    import tempfile
    import time

    from distributed import get_worker

    program = pelton if os.access(pelton, os.X_OK) else shutil.which("pelton")
    if program is None:
        return f"there is no pelton at {pelton}, and none in PATH"
    folder = os.path.dirname(plan)
    stops = [os.path.join(folder, name) for name in ("stop", f"stop-{attempt}")]
    command = [program, "worker", "--tied", "--plan", plan]
    worker: Any = get_worker()
    if getattr(worker, "_pelton_plan", None) != plan:
        checked = subprocess.run(command + ["--check"], stdin=subprocess.DEVNULL, capture_output=True)
        if checked.returncode != 0:
            said = (checked.stdout + checked.stderr).decode(errors="replace").strip()
            return f"{worker.address} differs from the plan: " + said.replace("\n", "; ")
        worker._pelton_plan = plan
    with tempfile.TemporaryFile() as said_file:
        process = subprocess.Popen(
            command + ["--part", str(part), "--name", str(worker.name)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said_file,
        )
        ended = os.pidfd_open(process.pid)
        try:
            asked = 0
            while not select.select([ended], [], [], 0.1)[0]:
                if any(os.path.exists(stop) for stop in stops):
                    # It ends its stages; if it does not, it is ended.
                    process.terminate() if asked < 10 else process.kill()
                    asked += 1
        finally:
            os.close(ended)
        status = process.wait()
        if status < 0:
            # Whoever ended it may end this worker as well, which must not be given the part again first.
            time.sleep(1)
        said_file.seek(0)
        said = said_file.read(4096).decode(errors="replace").strip()
    return "" if status == 0 else said or f"status {status}"


def _tell(what: "dict[str, Any]") -> None:
    # One write a line: several threads tell.
    os.write(1, (json.dumps(what) + "\n").encode())


class _Driver:
    """Gives each attempt a free thread of a worker.

    Dask itself would send the second copy of a part to the worker that is frozen, which for it lives
    for minutes: here a thread is free again only when its task has really ended.
    """

    def __init__(self, client: Any, pelton: str, plan: str) -> None:
        self.client = client
        self.pelton = pelton
        self.plan = plan
        self.folder = os.path.dirname(plan)
        self.lock = threading.RLock()
        # Threads of each worker, and of each running attempt its worker and its future.
        self.threads: "dict[str, int]" = {}
        self.running: "dict[int, tuple[str, Any]]" = {}
        self.cancelled: "set[int]" = set()
        self.told = -1

    def start(self, attempt: int, part: int) -> None:
        with self.lock:
            free = {address: count - self._busy(address) for address, count in self.threads.items()}
            address = max(free, key=lambda address: free[address], default=None)
            if address is None or free[address] < 1:
                _tell({"not_taken": attempt})
                return
            future = self.client.submit(
                run_part,
                self.pelton,
                self.plan,
                part,
                attempt,
                pure=False,
                retries=0,
                key=f"pelton-{part}-{attempt}",
                workers=[address],
            )
            self.running[attempt] = (address, future)
        future.add_done_callback(lambda done: self._ended(attempt, done))

    def _busy(self, address: str) -> int:
        return sum(1 for where, _ in self.running.values() if where == address)

    def _ended(self, attempt: int, future: Any) -> None:
        with self.lock:
            if self.running.pop(attempt, None) is None:
                return
            was_cancelled = attempt in self.cancelled
            self.cancelled.discard(attempt)
        try:
            if future.status == "cancelled":
                how = "the scheduler has lost its worker"
            else:
                how = str(future.result())
        except Exception as error:
            how = str(error) or type(error).__name__
        if was_cancelled:
            self._tell_room()
        else:
            _tell({"ended": attempt, "how": how})

    def cancel(self, attempt: int) -> None:
        with self.lock:
            if attempt in self.running:
                self.cancelled.add(attempt)
                self._stop(f"stop-{attempt}")
        self._tell_room()

    def cancel_all(self) -> None:
        self._stop("stop")
        with self.lock:
            futures = [future for _, future in self.running.values()]
        for future in futures:
            future.cancel()
        # Until the tasks have seen the file, their processes run.
        time.sleep(3 * _TICK)

    def _stop(self, name: str) -> None:
        with open(os.path.join(self.folder, name), "w"):
            pass

    def _tell_room(self) -> None:
        with self.lock:
            room = sum(self.threads.values()) - len(self.cancelled)
            if room != self.told:
                self.told = room
                _tell({"workers": max(room, 0)})

    def _look(self) -> bool:
        """Takes over which workers there are; returns whether there is one."""
        try:
            threads = dict(self.client.nthreads()) if self.client.status == "running" else {}
        except Exception:
            threads = {}
        with self.lock:
            self.threads = threads
            lost = [(n, future) for n, (where, future) in self.running.items() if where not in threads]
            for attempt, _ in lost:
                self.running.pop(attempt)
                if attempt in self.cancelled:
                    self.cancelled.discard(attempt)
                else:
                    _tell({"ended": attempt, "how": "its worker is gone"})
        for _, future in lost:
            future.cancel()
        self._tell_room()
        return bool(threads)

    def watch(self) -> None:
        """Tells how many workers there are, and that the cluster is lost."""
        last = time.monotonic()
        while time.monotonic() - last < _PATIENCE_SECONDS:
            if self._look():
                last = time.monotonic()
            time.sleep(0.5)
        seconds = int(_PATIENCE_SECONDS)
        _tell({"fatal": f"no worker, or no connection to the scheduler, for {seconds} s"})


def _connected(distributed: Any, address: str) -> Any:
    if address.startswith("file:"):
        return distributed.Client(scheduler_file=address[len("file:") :], timeout="15s")
    if address.startswith("tls://"):
        # Certificates come from Dask's own configuration (distributed.comm.tls).
        return distributed.Client(
            address, security=distributed.Security(require_encryption=True), timeout="15s"
        )
    return distributed.Client(address, timeout="15s")


def main(arguments: "list[str] | None" = None) -> int:
    """Connects to a scheduler, and carries out what standard input asks for, until it ends."""
    parser = argparse.ArgumentParser(prog="python -m pelton.dask_driver", description=__doc__)
    parser.add_argument("--plan", required=True, help="the plan, which pelton wrote")
    parser.add_argument("--address", required=True, help="tcp://…, tls://…, or file:SCHEDULER.json")
    parser.add_argument("--pelton", required=True, help="the program on the workers")
    given = parser.parse_args(arguments)
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        _tell({"fatal": "the Python package distributed is not installed: pip install 'pelton[dask]'"})
        return 1
    try:
        client = _connected(distributed, given.address)
    except Exception as error:
        _tell({"fatal": f"cannot connect to {given.address}: {error or type(error).__name__}"})
        return 1
    driver = _Driver(client, given.pelton, os.path.abspath(given.plan))
    threading.Thread(target=driver.watch, daemon=True).start()
    for line in sys.stdin:
        words = line.split()
        if words[0] == "start":
            driver.start(int(words[1]), int(words[2]))
        elif words[0] == "cancel":
            driver.cancel(int(words[1]))
    driver.cancel_all()
    # Dask's own threads may still wait for a scheduler that is gone.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
