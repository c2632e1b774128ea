"""Runs, times and explains shell pipelines with pelton.

>>> import pelton
>>> pelton.run("printf '%s\\n' b a b | sort | uniq -c | sort -rn | head -n 1", text=True).stdout
'      2 b\\n'
"""

from __future__ import annotations

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False

__version__ = "0.2.0"

# Where each name is defined. Modules are imported at the first use of one of their names, so that
# `import pelton` costs next to nothing. A new name needs a line here and one below, for type checkers.
_HOMES = {
    "PeltonError": "_errors",
    "PeltonNotFound": "_errors",
    "PeltonRefused": "_errors",
    "PipelineFailed": "_errors",
    "PipelineTimeout": "_errors",
    "RecordVersionError": "_errors",
    "UnsupportedPlatform": "_errors",
    "Pipe": "_pipe",
    "pipe": "_pipe",
    "CompletedPipeline": "_run",
    "DEVNULL": "_run",
    "Lines": "_run",
    "PIPE": "_run",
    "STDOUT": "_run",
    "compare": "_run",
    "doctor": "_run",
    "explain": "_run",
    "lines": "_run",
    "run": "_run",
    "time": "_run",
    "ComparisonRecord": "records",
    "DiagnosisRecord": "records",
    "ExplainRecord": "records",
    "TimeRecord": "records",
    "load_ipython_extension": "_magics",
    "Popen": "_popen",
    "PopenStats": "_popen",
    "StreamStats": "_buffer",
    "ItemError": "_pmap_errors",
    "PmapStats": "_pmap_stats",
    "WorkerDied": "_pmap_errors",
    "Map": "_pmap",
    "pfilter": "_pmap",
    "pfold": "_pmap",
    "pmap": "_pmap",
}

if TYPE_CHECKING:
    from typing import Any

    from . import aio, records
    from ._binary import path as binary_path
    from ._errors import (
        PeltonError,
        PeltonNotFound,
        PeltonRefused,
        PipelineFailed,
        PipelineTimeout,
        RecordVersionError,
        UnsupportedPlatform,
    )
    from ._pipe import (
        Pipe,
        pipe,
    )
    from ._run import (
        CompletedPipeline,
        DEVNULL,
        Lines,
        PIPE,
        STDOUT,
        compare,
        doctor,
        explain,
        lines,
        run,
        time,
    )
    from .records import (
        ComparisonRecord,
        DiagnosisRecord,
        ExplainRecord,
        TimeRecord,
    )
    from ._magics import (
        load_ipython_extension,
    )
    from ._popen import (
        Popen,
        PopenStats,
    )
    from ._buffer import (
        StreamStats,
    )
    from ._pmap_errors import (
        ItemError,
        WorkerDied,
    )
    from ._pmap_stats import (
        PmapStats,
    )
    from ._pmap import (
        Map,
        pfilter,
        pfold,
        pmap,
    )


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "binary_path":
        from ._binary import path

        value: Any = path
    elif name in ("aio", "records"):
        value = import_module("." + name, __name__)
    elif name in _HOMES:
        value = getattr(import_module("." + _HOMES[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "ComparisonRecord",
    "CompletedPipeline",
    "DEVNULL",
    "DiagnosisRecord",
    "ExplainRecord",
    "ItemError",
    "Lines",
    "Map",
    "PIPE",
    "PeltonError",
    "PeltonNotFound",
    "PeltonRefused",
    "Pipe",
    "PipelineFailed",
    "PipelineTimeout",
    "PmapStats",
    "Popen",
    "PopenStats",
    "RecordVersionError",
    "STDOUT",
    "StreamStats",
    "TimeRecord",
    "UnsupportedPlatform",
    "WorkerDied",
    "binary_path",
    "compare",
    "doctor",
    "explain",
    "lines",
    "pfilter",
    "pfold",
    "pipe",
    "pmap",
    "records",
    "run",
    "time",
]
