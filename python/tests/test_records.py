"""Records of `time`, `explain`, `doctor` and `compare`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pelton
from pelton import records

ROOT = Path(__file__).resolve().parent.parent


def test_time() -> None:
    record = pelton.time("seq 100000 | sort -rn | tail -n 1")
    assert record.stdout == b"1\n"
    assert [stage.name for stage in record.stages] == ["seq", "sort", "tail"]
    assert record.exit_status == 0
    assert record.stages[0].end.exited == 0
    assert record.stages[0].how.by == "process"
    assert record.total.user_ns + record.total.sys_ns > 0
    assert record.pipelines[0].pipes[0].capacity_bytes > 0
    assert record.raw["pelton_version"] == record.pelton_version


def test_times_of_several_runs() -> None:
    record = pelton.time("seq 10", runs=3, warmup=1)
    assert record.repeats is not None
    assert (record.repeats.runs, len(record.repeats.wall_ns)) == (3, 3)
    assert "<svg" in record._repr_html_()


def test_time_keeps_the_messages_apart() -> None:
    record = pelton.time("echo out; echo err >&2; exit 3", stderr=pelton.PIPE)
    assert (record.exit_status, record.stdout, record.stderr) == (3, b"out\n", b"err\n")
    with pytest.raises(pelton.PipelineFailed):
        pelton.time("exit 3", check=True)
    with pytest.raises(pelton.PipelineTimeout):
        pelton.time("sleep 1000", timeout=0.3)


def test_time_of_a_signal() -> None:
    record = pelton.time("sh -c 'kill -9 $$'")
    assert record.stages[0].end.killed is not None
    assert record.stages[0].end.killed.name == "SIGKILL"


def test_what_pelton_refuses() -> None:
    for verb in (pelton.time, pelton.explain):
        with pytest.raises(pelton.PeltonRefused, match="unexpected"):
            verb("echo (")
    with pytest.raises(pelton.PeltonRefused, match="no process"):
        pelton.doctor(2**22 + 1)


def test_dicts_and_unknown_fields() -> None:
    record = pelton.time("true")
    as_dict = record.to_dict()
    assert records.TimeRecord.from_dict(json.loads(json.dumps(as_dict))) == record
    as_dict["total"]["new_ns"] = 5
    newer = records.TimeRecord.from_dict(as_dict)
    assert newer.total.raw["new_ns"] == 5
    assert newer.to_dict() == as_dict
    assert newer.to_dict() is not as_dict


def test_a_newer_record(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    raw = {**pelton.time("true").to_dict(), "record_version": 2}
    path.write_text(json.dumps(raw))
    with pytest.raises(pelton.RecordVersionError, match="record_version is 2"):
        records.load(path)
    path.write_text(json.dumps({**raw, "record_version": 1}))
    assert records.load(path).text == "true"


def test_html_is_well_formed_and_quoted() -> None:
    from xml.etree import ElementTree

    html = pelton.time("seq 100000 | grep '<&>' | wc -l")._repr_html_()
    root = ElementTree.fromstring(html.replace("&nbsp;", " "))
    assert len(root.findall(".//svg")) == 3
    assert any(code.text == "grep '<&>'" for code in root.iter("code"))


def test_frames() -> None:
    record = pelton.time("seq 3 | wc -l")
    pandas = pytest.importorskip("pandas")
    frame = record.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["name"]) == ["seq", "wc"]
    pytest.importorskip("polars")
    assert record.to_polars()["written_bytes"].to_list() == [6, 2]


def test_explain() -> None:
    record = pelton.explain("seq 9 | sort | uniq -c")
    assert record.is_native
    assert "sort the distinct lines" in str(record)
    decisions = record.pipelines[0].plan.decisions
    assert any(decision.name == "sort-uniq" and decision.outcome.fired for decision in decisions)
    assert not any(
        decision.outcome.fired
        for decision in pelton.explain("sort | uniq -c", without="sort-uniq").pipelines[0].plan.decisions
        if decision.name == "sort-uniq"
    )
    script = pelton.explain("for i in 1 2; do seq $i | sort | uniq; done")
    assert script.script or script.shell_runs_all_because_of


def test_explain_of_lists() -> None:
    record = pelton.explain(pelton.pipe(["grep", "-F", "$(x)"], ["sort"]))
    assert [stage.name for stage in record.pipelines[0].plan.stages] == ["grep", "sort"]


def test_doctor_finds_a_deadlock() -> None:
    """A parent that waits for a child, and the child for room in a pipe that only the parent could empty."""
    program = (
        "import subprocess\n"
        "child = subprocess.Popen(['head', '-c', '1000000', '/dev/zero'], stdout=subprocess.PIPE)\n"
        "print('begun', flush=True)\n"
        "child.wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            parent.stdout.readline()
            for _ in range(200):
                diagnosis = pelton.doctor(parent)
                if diagnosis.is_dead:
                    break
            assert diagnosis.is_dead
            assert diagnosis.findings[0].kind == "waits_without_reading"
            assert "head" in str(diagnosis)
        finally:
            parent.kill()


def test_compare() -> None:
    same = pelton.compare("seq 100", "seq 100", runs=2)
    assert same.same_output is True
    assert same.before.repeats is not None
    assert same.real.before_ns > 0
    other = pelton.compare("seq 10", "seq 11", runs=2)
    assert other.same_output is False
    assert other.judgement.kind == "not_the_same"
    with pytest.raises(pelton.PeltonRefused):
        pelton.compare("echo (", "true", runs=2)


def test_compare_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("b\na\n")
    with open(path) as file:
        assert pelton.compare("sort", "sort -u", runs=2, stdin=file).same_output
    assert pelton.compare("sort", "cat", runs=2, stdin=path).same_output is False


def generate(*options: str) -> subprocess.CompletedProcess[str]:
    program = ROOT / "tools" / "generate_records.py"
    return subprocess.run([sys.executable, str(program), *options], stdout=subprocess.PIPE, text=True, check=False)


def test_dataclasses_are_those_of_the_schemas() -> None:
    done = generate("--check")
    assert done.returncode == 0, done.stdout


def test_every_field_of_a_record_is_known() -> None:
    """All that a run writes is in a dataclass, not only in `raw`."""

    def unknown(record: Any) -> list[str]:
        names = {name.rstrip("_") for name in record.__dataclass_fields__}
        found = [f"{type(record).__name__}.{key}" for key in record.raw if key not in names]
        for name, (kind, target) in record._nested.items():
            value = getattr(record, name)
            if target and value is not None:
                for item in value if kind == "many" else [value]:
                    found += unknown(item)
        return found

    for options in ({}, {"threads": True}, {"syscalls": True}, {"exact": True}, {"arrivals": True}):
        assert unknown(pelton.time("seq 30000 | sort | wc -l", **options)) == []
    with pytest.raises(ValueError, match="threads and exact"):
        pelton.time("true", threads=True, exact=True)
    assert unknown(pelton.explain("seq 9 | sort | uniq -c")) == []
    assert unknown(pelton.doctor(os.getpid())) == []
    assert unknown(pelton.compare("seq 9", "seq 9", runs=2)) == []
