"""Dataclasses of the records that pelton writes.

`pelton.time` returns a `TimeRecord`, `pelton.explain` an `ExplainRecord`, `pelton.doctor` a
`DiagnosisRecord` and `pelton.compare` a `ComparisonRecord`. Units are the last part of a field's
name: `_ns` nanoseconds, `_bytes` bytes, `_ms` milliseconds. Shares lie between 0 and 1. None means
unknown. Every record has `raw`, the JSON object that it was made from, and `to_dict()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from . import _schema
from ._record import Record
from ._schema import *  # noqa: F403

if TYPE_CHECKING:
    import pandas
    import polars

_R = TypeVar("_R", bound=Record)

# The newest versions that this package can read, by the field that has the version.
_VERSIONS = {"record_version": 1, "diagnosis_version": 1, "version": 1}


@dataclass(frozen=True)
class TimeRecord(_schema.Run):
    """Describes a run of a pipeline: what each stage cost and waited for, and the bottleneck.

    `rows()`, `to_pandas()` and `to_polars()` give a row for each stage. A notebook shows the
    timeline.

    Attributes:
        stdout: What the pipeline printed, as bytes; None if it was not captured.
        stderr: Its messages, as bytes; None if they were not captured.
    """

    stdout: bytes | None = field(default=None, repr=False, compare=False)
    stderr: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def stages(self) -> tuple[_schema.Stage, ...]:
        """Returns the stages of all pipelines, in the order in which they ran.

        >>> import pelton
        >>> [stage.name for stage in pelton.time("seq 3 | wc -l").stages]
        ['seq', 'wc']
        """
        return tuple(stage for pipeline in self.pipelines for stage in pipeline.stages)

    @property
    def bottleneck(self) -> _schema.Stage | None:
        """Returns the stage that sets the pace; None if none stands out, or the run was too short."""
        found = self.verdict.bottleneck
        return None if found is None else self.pipelines[found.pipeline].stages[found.stage]

    def rows(self) -> list[dict[str, Any]]:
        """Returns a dict for each stage: figures of its cost and of its waits, in the record's units.

        >>> import pelton
        >>> [(row["name"], row["written_bytes"]) for row in pelton.time("seq 3 | wc -l").rows()]
        [('seq', 6), ('wc', 2)]
        """
        rows = []
        for number, pipeline in enumerate(self.pipelines):
            for stage in pipeline.stages:
                row: dict[str, Any] = {
                    "pipeline": number,
                    "name": stage.name,
                    "text": stage.text,
                    "by": stage.how.by,
                    "start_ns": stage.start_ns,
                    "exit_status": stage.end.exited,
                }
                cost = stage.cost.raw
                row.update((key, value) for key, value in cost.items() if not isinstance(value, Mapping))
                for key in _WAITS:
                    row[key] = None if stage.waits is None else stage.waits.raw.get(key)
                rows.append(row)
        return rows

    def to_pandas(self) -> pandas.DataFrame:
        """Returns `rows()` as a pandas DataFrame.

        Raises:
            ImportError: If pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(self.rows())

    def to_polars(self) -> polars.DataFrame:
        """Returns `rows()` as a polars DataFrame.

        Raises:
            ImportError: If polars is not installed.
        """
        import polars

        return polars.DataFrame(self.rows(), infer_schema_length=None)

    def _repr_html_(self) -> str:
        from ._html import timeline

        return timeline(self)


_WAITS = ("running_ns", "cpu_wait_ns", "starved_ns", "backpressured_ns", "other_ns", "samples")


@dataclass(frozen=True)
class DiagnosisRecord(_schema.Diagnosis):
    """Describes why processes are stuck: who waits for whom, and whether that can end."""

    @property
    def is_dead(self) -> bool:
        """Returns whether something can never go on, unless a signal arrives or somebody interferes."""
        return self.health == "dead"

    def __str__(self) -> str:
        lines = [f"{finding.health}: {finding.headline}" for finding in self.findings]
        return "\n".join(lines) or f"{self.health}: nothing is stuck"


@dataclass(frozen=True)
class StageRange(Record):
    """Describes a range of stages, counted from 0.

    Attributes:
        start: The first.
        end: One past the last.
    """

    start: int
    end: int
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {}


@dataclass(frozen=True)
class PlannedStage(Record):
    """Describes a stage of a plan.

    Attributes:
        name: A short name.
        shown: Its text, shortened in the middle if it is long.
        equals: The tool whose output its kernel equals, with the version; None if it stays a process.
        blocks_until_eof: Whether it prints nothing before its input has ended.
        stops_early: Whether it may end before its input does.
        sharing: Whether threads share the records of an awk program, in words.
    """

    name: str
    shown: str
    equals: str | None
    blocks_until_eof: bool | None
    stops_early: bool | None
    sharing: str | None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {}


@dataclass(frozen=True)
class Kernel(Record):
    """Describes a kernel of a native pass.

    Attributes:
        stages: The stages that it stands for.
        label: What it does.
        rules: The names of the rewrites that made it.
        blocks_until_eof: Whether it prints nothing before its input has ended.
        stops_early: Whether it may end before its input does.
        reads_from_end: Whether only the end of a regular file is read.
    """

    stages: StageRange
    label: str
    rules: tuple[str, ...]
    blocks_until_eof: bool | None
    stops_early: bool | None
    reads_from_end: bool | None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {
        "stages": ("one", "StageRange"),
        "rules": ("many", ""),
    }


@dataclass(frozen=True)
class Segment(Record):
    """Describes neighbouring stages that run in one process.

    Attributes:
        stages: Which stages.
        native: Whether pelton runs them itself.
        reason: Why it does not; None if it does.
        nodes: The kernels, in the order of the data; none for a process.
    """

    stages: StageRange
    native: bool
    reason: str | None
    nodes: tuple[Kernel, ...]
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {
        "stages": ("one", "StageRange"),
        "nodes": ("many", "Kernel"),
    }


@dataclass(frozen=True)
class Outcome(Record):
    """Describes whether a rule or a kernel was used. One of the two fields is None.

    Attributes:
        fired: Why it was.
        declined: Why it was not.
    """

    fired: str | None = None
    declined: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {}


@dataclass(frozen=True)
class Decision(Record):
    """Describes what became of a kernel or of a rewrite.

    Attributes:
        name: Its name, which `without` takes.
        stages: The stages that it is for.
        outcome: Whether it was used, and why.
        saves_ns_per_byte: CPU time saved for each byte of the pipeline's input, estimated, in ns.
    """

    name: str
    stages: StageRange
    outcome: Outcome
    saves_ns_per_byte: float | None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {
        "stages": ("one", "StageRange"),
        "outcome": ("one", "Outcome"),
    }


@dataclass(frozen=True)
class Estimate(Record):
    """Describes the estimated CPU time of a plan.

    Attributes:
        input_bytes: The size of the input that it is for.
        input_is_known: Whether that is the size of the real input.
        shell_cpu_ns: CPU time from the shell, in ns.
        plan_cpu_ns: CPU time as planned, in ns.
        not_counted: Commands whose cost is unknown.
    """

    input_bytes: int
    input_is_known: bool
    shell_cpu_ns: int
    plan_cpu_ns: int
    not_counted: tuple[str, ...]
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {"not_counted": ("many", "")}


@dataclass(frozen=True)
class Plan(Record):
    """Describes how `run` would run a pipeline.

    Attributes:
        stages: The stages, as written.
        segments: The processes, in the order of the data.
        decisions: What became of each kernel and each rewrite, with the reason.
        estimate: The CPU time; None if nothing runs natively, or if it is unknown.
        advice: Changes that are known to help, in words.
    """

    stages: tuple[PlannedStage, ...]
    segments: tuple[Segment, ...]
    decisions: tuple[Decision, ...]
    estimate: Estimate | None
    advice: tuple[str, ...]
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {
        "stages": ("many", "PlannedStage"),
        "segments": ("many", "Segment"),
        "decisions": ("many", "Decision"),
        "estimate": ("one", "Estimate"),
        "advice": ("many", ""),
    }


@dataclass(frozen=True)
class PlannedPipeline(Record):
    """Describes a pipeline of a text, with its plan.

    Attributes:
        text: Its text.
        plan: How it would run.
        input_bytes: The size of its input files, in bytes; None if unknown.
    """

    text: str
    plan: Plan
    input_bytes: int | None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {"plan": ("one", "Plan")}


@dataclass(frozen=True)
class ExplainRecord(Record):
    """Describes the plan that `run` would use, and what it declined.

    Attributes:
        version: The version of this record.
        pipelines: The pipelines of the text; none if the text runs as a script (`script`).
        script: Of a script, each pipeline in it, as JSON objects: `line`, `text`, `stages`,
            `stages_called` (how many run through pelton) and `not_all_because_of`.
        shell_text: Of a script, the text that the shell runs.
        shell_runs_all_because_of: Why the shell runs all of it; None if it does not.
        explanation: The same as a text, for people.
    """

    version: int
    pipelines: tuple[PlannedPipeline, ...]
    script: tuple[Mapping[str, Any], ...]
    shell_text: str | None
    shell_runs_all_because_of: str | None
    explanation: str = field(default="", repr=False, compare=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {
        "pipelines": ("many", "PlannedPipeline"),
        "script": ("many", ""),
    }

    @property
    def is_native(self) -> bool:
        """Returns whether pelton would run every stage itself.

        >>> import pelton
        >>> pelton.explain("sort | uniq -c").is_native
        True
        """
        segments = [segment for pipeline in self.pipelines for segment in pipeline.plan.segments]
        return bool(segments) and all(segment.native for segment in segments)

    def __str__(self) -> str:
        return self.explanation


@dataclass(frozen=True)
class Judgement(Record):
    """Describes whether a change helped.

    Attributes:
        kind: `helped`, `no_difference`, `worse` or another word of this kind.
        headline: The same in a sentence.
    """

    kind: str
    headline: str
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {}


@dataclass(frozen=True)
class Change(Record):
    """Describes how a time changed.

    Attributes:
        before_ns: The median before, in ns.
        after_ns: The median after, in ns.
        ratio: After divided by before.
        low: The lower end of the ratio's confidence interval.
        high: Its upper end.
        confidence: The confidence of that interval, from 0 to 1.
        direction: In which direction it went: `same`, `less` or `more`.
    """

    before_ns: int
    after_ns: int
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float | None
    direction: str
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {}


@dataclass(frozen=True)
class ComparisonRecord(Record):
    """Describes whether a change helped: two pipelines run in turns.

    Attributes:
        record_version: The version of this record.
        judgement: The answer.
        real: How the wall time changed.
        cpu: How user+sys changed.
        before: The medians of the first, with `repeats`.
        after: The medians of the second, with `repeats`.
        outputs: How their outputs compare, as a JSON object; `are` is `same` if they are equal.
        results: Both in the form that hyperfine writes, times in seconds.
        notes: Things the reader should know.
    """

    record_version: int
    judgement: Judgement
    real: Change
    cpu: Change
    before: TimeRecord
    after: TimeRecord
    outputs: Mapping[str, Any] | None
    results: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {
        "judgement": ("one", "Judgement"),
        "real": ("one", "Change"),
        "cpu": ("one", "Change"),
        "before": ("one", "TimeRecord"),
        "after": ("one", "TimeRecord"),
        "results": ("many", ""),
        "notes": ("many", ""),
    }

    @property
    def helped(self) -> bool:
        """Returns whether the change helped."""
        return self.judgement.kind == "helped"

    @property
    def same_output(self) -> bool | None:
        """Returns whether both printed the same; None if that was not compared."""
        return None if not self.outputs or "are" not in self.outputs else self.outputs["are"] == "same"

    def __str__(self) -> str:
        return self.judgement.headline


def read(cls: type[_R], raw: Any, source: str) -> _R:
    """Returns the record in a JSON object, and checks its version.

    Raises:
        RecordVersionError: If it is newer than this package.
    """
    from ._errors import PeltonError, RecordVersionError

    if not isinstance(raw, dict):
        raise PeltonError(f"cannot read the record of {source}: it is not a JSON object")
    for name, newest in _VERSIONS.items():
        found = raw.get(name)
        if isinstance(found, int) and found > newest:
            raise RecordVersionError(
                f"cannot read the record of {source}: its {name} is {found}, and this package reads up "
                f"to {newest}; try `pip install --upgrade pelton`"
            )
    return cls.from_dict(raw)


def load(path: Any) -> TimeRecord:
    """Reads a record that `pelton time --json -o FILE` wrote.

    Raises:
        OSError: If the file cannot be read.
        RecordVersionError: If the record is newer than this package.
    """
    import json

    with open(path, encoding="utf-8") as file:
        return read(TimeRecord, json.load(file), str(path))
