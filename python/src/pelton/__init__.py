"""Runs, times and explains shell pipelines with pelton.

>>> import pelton
>>> pelton.run("printf '%s\\n' b a b | sort | uniq -c | sort -rn | head -n 1", text=True).stdout
'      2 b\\n'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

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
}

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "binary_path":
        from ._binary import path

        value: Any = path
    elif name in _HOMES:
        value = getattr(import_module("." + _HOMES[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "PeltonError",
    "PeltonNotFound",
    "PeltonRefused",
    "PipelineFailed",
    "PipelineTimeout",
    "RecordVersionError",
    "UnsupportedPlatform",
    "binary_path",
]
