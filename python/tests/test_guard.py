"""Tests of the pytest plugin: each runs pytest on a file that hangs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Tuple

import pytest

SECONDS = "1"


def run_pytest(directory: Path, code: str, *options: str) -> "Tuple[int, str]":
    (directory / "test_it.py").write_text(code)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(directory)]
    if not is_installed():
        command += ["-p", "pelton.pytest_plugin"]
    done = subprocess.run(
        [*command, *options],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        env=environment,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def is_installed() -> bool:
    """Whether pytest finds the plugin by its entry point."""
    from importlib.metadata import distributions

    names = {
        point.value
        for distribution in distributions()
        for point in distribution.entry_points
        if point.group == "pytest11"
    }
    return "pelton.pytest_plugin" in names


def test_names_the_hang(tmp_path: Path) -> None:
    code = (
        "import subprocess\n"
        "def test_hangs():\n"
        "    child = subprocess.Popen(['yes', 'no'], stdout=subprocess.PIPE)\n"
        "    child.wait()  # the line\n"
        "def test_next():\n"
        "    pass\n"
    )
    status, text = run_pytest(tmp_path, code, "--pelton-guard", SECONDS)
    assert status == 1, text
    assert "1 failed, 1 passed" in text
    assert "test_it.py::test_hangs has not ended after 1 s" in text
    assert "child.wait()  # the line" in text
    assert "yes no" in text
    assert "blocked on write" in text or "could not tell" in text


def test_lock_is_named(tmp_path: Path) -> None:
    code = (
        "import threading\n"
        "def worker(lock):\n"
        "    with lock:\n"
        "        pass\n"
        "def test_hangs():\n"
        "    lock = threading.Lock()\n"
        "    lock.acquire()\n"
        "    thread = threading.Thread(target=worker, args=(lock,), name='stuck', daemon=True)\n"
        "    thread.start()\n"
        "    thread.join()\n"
    )
    status, text = run_pytest(tmp_path, code, "--pelton-guard", SECONDS)
    assert status == 1, text
    assert "thread stuck is at:" in text
    assert "it started no process that still runs" in text


def test_with_block_that_waits_is_ended(tmp_path: Path) -> None:
    code = (
        "import subprocess\n"
        "def test_hangs():\n"
        "    with subprocess.Popen(['sleep', '1000']) as child:\n"
        "        child.wait()\n"
    )
    status, text = run_pytest(tmp_path, code, "--pelton-guard", SECONDS)
    assert status == 1, text
    assert "sleep 1000" in text


def test_fixture_that_hangs(tmp_path: Path) -> None:
    code = (
        "import time, pytest\n"
        "@pytest.fixture\n"
        "def slow():\n"
        "    time.sleep(1000)\n"
        "def test_hangs(slow):\n"
        "    pass\n"
    )
    status, text = run_pytest(tmp_path, code, "--pelton-guard", SECONDS)
    assert status in (1, 2), text
    assert "time.sleep(1000)" in text


def test_broad_except_does_not_hide_it(tmp_path: Path) -> None:
    code = (
        "import time\n"
        "def test_hangs():\n"
        "    try:\n"
        "        time.sleep(1000)\n"
        "    except Exception:\n"
        "        time.sleep(1000)\n"
    )
    status, text = run_pytest(tmp_path, code, "--pelton-guard", SECONDS)
    assert status == 1, text
    assert "has not ended after 1 s" in text


def test_marker_sets_the_time(tmp_path: Path) -> None:
    code = (
        "import time, pytest\n"
        "@pytest.mark.pelton_guard(0.5)\n"
        "def test_hangs():\n"
        "    time.sleep(1000)\n"
    )
    status, text = run_pytest(tmp_path, code)
    assert status == 1, text
    assert "after 0.5 s" in text


def test_quick_tests_are_left_alone(tmp_path: Path) -> None:
    code = "def test_quick():\n    assert True\ndef test_fails():\n    assert 1 == 2\n"
    status, text = run_pytest(tmp_path, code, "--pelton-guard", "30")
    assert status == 1, text
    assert "1 failed, 1 passed" in text
    assert "pelton:" not in text


def test_time_must_be_positive(tmp_path: Path) -> None:
    status, text = run_pytest(tmp_path, "", "--pelton-guard", "0")
    assert status == 4, text
    assert "above 0" in text


@pytest.mark.parametrize("way", ["reads", "writes"])
def test_pipes_are_named(tmp_path: Path, way: str) -> None:
    body = {
        "reads": "    child.stdout.read()\n",
        "writes": "    child.stdin.write(b'x' * 1000000)\n",
    }[way]
    code = (
        "import subprocess\n"
        "def test_hangs():\n"
        "    PIPE = subprocess.PIPE\n"
        "    child = subprocess.Popen(['cat'], stdin=PIPE, stdout=PIPE)\n" + body
    )
    status, text = run_pytest(tmp_path, code, "--pelton-guard", SECONDS)
    assert status == 1, text
    assert "sleeps: cat" in text
    assert body.strip() in text
