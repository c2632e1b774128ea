"""`pelton run --on dask://…` with a scheduler and workers on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

import pelton

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    # They share one cluster.
    pytest.mark.xdist_group("dask"),
]

TEXT = "grep ERROR log | cut -d' ' -f1 | sort | uniq -c"


def start_scheduler(folder: Path, *options: str) -> "subprocess.Popen[bytes]":
    code = "from distributed.cli.dask_scheduler import main; main()"
    (folder / "scheduler.json").unlink(missing_ok=True)
    scheduler = subprocess.Popen(
        [sys.executable, "-c", code, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        + ["--scheduler-file", str(folder / "scheduler.json"), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (folder / "scheduler.json").exists())
    return scheduler


def start_worker(folder: Path, *options: str) -> "subprocess.Popen[bytes]":
    code = "from distributed.cli.dask_worker import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "--scheduler-file", str(folder / "scheduler.json")]
        + ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
        + list(options),
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_until(is_so: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scheduler = start_scheduler(folder)
        self.workers = [start_worker(folder) for _ in range(3)]

    def target(self) -> str:
        return f"dask-file:{self.folder / 'scheduler.json'}"

    def end(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    yield cluster
    cluster.end()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    lines = [f"host{n % 7} {'ERROR' if n % 5 == 0 else 'ok'} {n}\n" for n in range(30000)]
    (tmp_path / "log").write_text("".join(lines))
    return tmp_path


def start(place: Path, target: str, text: str, *options: str, **more: str) -> "subprocess.Popen[bytes]":
    source = str(Path(pelton.__file__).parent.parent)
    environment = {**os.environ, "LC_ALL": "C", "PELTON_PYTHON": sys.executable, "PYTHONPATH": source, **more}
    environment["PATH"] = f"{place / 'cluster'}:{os.environ['PATH']}"
    return subprocess.Popen(
        [pelton.binary_path(), "run", "--on", target, "--part-size", "20000", *options, "--", text],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wanted(place: Path, text: str) -> bytes:
    return subprocess.run(
        ["bash", "-c", text], cwd=place, env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=True
    ).stdout


def start_slowly(cluster: Cluster, place: Path) -> "subprocess.Popen[bytes]":
    """Starts a text whose parts take a while, so that something can happen meanwhile."""
    slow = cluster.folder / "slow"
    slow.write_text("#!/bin/sh\nsleep 0.3\nexec grep ERROR\n")
    slow.chmod(0o755)
    text = "cat log | slow | cut -d' ' -f1 | sort | uniq -c"
    return start(place, cluster.target(), text, "--work-dir", "w", "--stateless", "slow")


def parts_done(place: Path) -> int:
    return len(list((place / "w").glob("part-??????.json")))


def test_a_cluster_prints_what_one_machine_prints(cluster: Cluster, place: Path) -> None:
    for number, text in enumerate([TEXT, "sort -k3,3n log | tail -n 3", "wc -l < log", "grep -v host log"]):
        run = start(place, cluster.target(), text, "--work-dir", f"w{number}")
        out, said = run.communicate(timeout=120)
        code = 1 if text.startswith("grep -v") else 0
        assert (out, run.returncode, said) == (wanted(place, f"{text} || true"), code, b"")
    results = [json.loads(part.read_text()) for part in place.glob("w0/part-??????.json")]
    assert 1 < len({result["worker"] for result in results}) <= len(cluster.workers), "they are named as Dask names them"
    assert len({result["output"].split(".")[1] for result in results}) > 3, "each part has a process of its own"


def test_a_worker_that_is_killed_or_frozen_is_replaced(cluster: Cluster, place: Path) -> None:
    run = start_slowly(cluster, place)
    wait_until(lambda: parts_done(place) >= 2)
    cluster.workers[0].kill()
    cluster.workers[1].send_signal(signal.SIGSTOP)
    out, _ = run.communicate(timeout=120)
    assert (out, run.returncode) == (wanted(place, TEXT), 0)
    cluster.workers[1].send_signal(signal.SIGCONT)


def test_a_run_whose_scheduler_died_goes_on_with_another(cluster: Cluster, place: Path) -> None:
    run = start_slowly(cluster, place)
    wait_until(lambda: parts_done(place) >= 2)
    cluster.end()
    out, said = run.communicate(timeout=120)
    assert (out, run.returncode) == (b"", 2)
    assert b"it goes on from the parts in w" in said
    done = {part.name: part.read_text() for part in (place / "w").glob("part-??????.json")}
    cluster.__init__(cluster.folder)  # type: ignore[misc]
    run = start_slowly(cluster, place)
    out, _ = run.communicate(timeout=120)
    assert (out, run.returncode) == (wanted(place, TEXT), 0)
    assert all((place / "w" / name).read_text() == text for name, text in done.items())


def test_an_interrupt_ends_what_runs_on_the_workers(cluster: Cluster, place: Path) -> None:
    slow = cluster.folder / "slow"
    slow.write_text("#!/bin/sh\necho $$ >> pids\nexec sleep 300\n")
    slow.chmod(0o755)
    run = start(place, cluster.target(), "cat log | slow", "--work-dir", "w", "--stateless", "slow")
    pids = place / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) >= 3)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == -signal.SIGINT
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids.read_text().split()), 20)


def test_tls_with_certificates_and_not_without(place: Path) -> None:
    folder = place / "cluster"
    folder.mkdir()
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
    try:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    options = ["--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key]
    processes = [start_scheduler(folder, "--protocol", "tls", *options), start_worker(folder, *options)]
    try:
        address = json.loads((folder / "scheduler.json").read_text())["address"]
        target = address.replace("tls://", "dasks://")
        out, said = start(place, target, TEXT, "--work-dir", "w").communicate(timeout=60)
        assert (out, b"cannot connect" in said) == (b"", True)
        tls = "DASK_DISTRIBUTED__COMM__TLS__"
        names = {f"{tls}CA_FILE": cert, f"{tls}CLIENT__CERT": cert, f"{tls}CLIENT__KEY": key}
        run = start(place, target, TEXT, "--work-dir", "w", **names)
        out, said = run.communicate(timeout=120)
        assert (out, run.returncode, said) == (wanted(place, TEXT), 0, b"")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_what_a_cluster_must_not_be_given_is_refused(place: Path) -> None:
    for target, options, words in [
        ("dask://10.0.0.1:8786", ["--work-dir", "w"], b"neither encryption nor authentication"),
        ("dask://127.0.0.1:8786", [], b"a directory that all see"),
    ]:
        run = start(place, target, TEXT, *options)
        out, said = run.communicate(timeout=60)
        assert (out, run.returncode) == (b"", 2)
        assert words in said
