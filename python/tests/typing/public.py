"""What type checkers must see of the public names. Checked by mypy and pyright, never run."""

from __future__ import annotations

import subprocess
from typing_extensions import assert_type

import pelton
from pelton import records

assert_type(pelton.run("true"), pelton.CompletedPipeline[bytes])
assert_type(pelton.run("true").stdout, bytes)
assert_type(pelton.run("true", text=True), pelton.CompletedPipeline[str])
assert_type(pelton.run("true", encoding="utf-8"), pelton.CompletedPipeline[str])
assert_type(pelton.run("true", errors="replace"), pelton.CompletedPipeline[str])
assert_type(pelton.run(pelton.pipe(["a", b"b"]), input=[b"x"]), pelton.CompletedPipeline[bytes])
assert_type(next(pelton.lines("true")), str)
assert_type(next(pelton.lines("true", text=False)), bytes)
assert_type(pelton.time("true"), pelton.TimeRecord)
assert_type(pelton.time("true").stages[0].cost.user_ns, int)
assert_type(pelton.explain("true").pipelines[0].plan.estimate, "records.Estimate | None")
assert_type(pelton.doctor(1, "name").is_dead, bool)
assert_type(pelton.compare("a", "b").real.ratio, "float | None")
assert_type(pelton.binary_path(), str)

as_completed: subprocess.CompletedProcess[bytes] = pelton.run("true")
as_error: subprocess.CalledProcessError = pelton.PipelineFailed(1, "true")
