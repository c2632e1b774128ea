"""Writes `docs/python-reference.md` from the docstrings of the public names.

Run with `python tools/generate_reference.py [--check]`. `--check` compares and changes nothing.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT.parent / "docs" / "python-reference.md"
SECTIONS = ("Args:", "Attributes:", "Returns:", "Raises:", "Yields:")

HEADER = """\
# The Python package: reference

<!-- Written by python/tools/generate_reference.py from the docstrings. -->

[The Python package](python.md) shows how to begin. Times are in nanoseconds in fields that end with `_ns` and in seconds in
arguments; sizes are in bytes. None means unknown, or not given.
"""


def generate() -> str:
    import pelton
    from pelton import records

    parts = [HEADER]
    named = {name: getattr(pelton, name) for name in pelton.__all__}
    functions = {name: value for name, value in named.items() if inspect.isroutine(value)}
    classes = {name: value for name, value in named.items() if inspect.isclass(value)}
    errors = {name: value for name, value in classes.items() if issubclass(value, BaseException)}
    own_records = {name: value for name, value in classes.items() if issubclass(value, records.Record)}
    others = {name: classes[name] for name in classes if name not in errors and name not in own_records}
    constants = [name for name in ("PIPE", "DEVNULL", "STDOUT") if name in named]
    parts.append("## Functions\n")
    parts += [entry(f"pelton.{name}", value) for name, value in sorted(functions.items())]
    parts.append("## Classes\n")
    parts += [entry(f"pelton.{name}", value) for name, value in sorted(others.items())]
    parts.append("`" + "`, `".join(f"pelton.{name}" for name in constants) + "` are those of `subprocess`.\n")
    modules = {name: value for name, value in named.items() if inspect.ismodule(value) and name != "records"}
    for name, value in sorted(modules.items()):
        parts.append(module(f"pelton.{name}", value))
    parts.append("## Errors\n")
    parts += [entry(f"pelton.{name}", value) for name, value in sorted(errors.items())]
    parts.append(f"## Records: `pelton.records`\n\n{markdown(records)}")
    parts += [entry(f"records.{name}", value) for name, value in record_classes(records)]
    parts.append(entry("records.load", records.load))
    return "\n".join(parts).rstrip("\n") + "\n"


def record_classes(records: ModuleType) -> list[tuple[str, Any]]:
    found = [
        (name, value)
        for name, value in vars(records).items()
        if inspect.isclass(value) and issubclass(value, records.Record) and value is not records.Record
    ]
    return sorted(found, key=lambda item: (not item[0].endswith("Record"), item[0]))


def module(name: str, value: ModuleType) -> str:
    parts = [f"## `{name}`\n\n{markdown(value)}"]
    parts += [entry(f"{name}.{one}", getattr(value, one)) for one in getattr(value, "__all__", [])]
    return "\n".join(parts)


def entry(name: str, value: Any) -> str:
    """Returns the section of a function or a class."""
    lines = [f"### `{name}`\n"]
    if inspect.isroutine(value):
        lines.append(f"```python\n{signature(name.split('.')[-1], value)}\n```\n")
    elif inspect.isclass(value):
        bases = [base.__name__ for base in value.__bases__ if base.__name__ not in ("object", "Generic", "Record")]
        if bases:
            lines.append(f"Bases: {', '.join(f'`{base}`' for base in bases)}.\n")
    lines.append(markdown(value))
    if inspect.isclass(value):
        lines += members(value)
    return "\n".join(lines)


def members(value: Any) -> list[str]:
    """Returns a line for each public method and property that the class itself defines."""
    fields = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    lines = []
    for name, member in vars(value).items():
        if name.startswith("_") or name in fields:
            continue
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not inspect.isfunction(function) or not function.__doc__:
            continue
        first = " ".join(inspect.getdoc(function).split("\n\n")[0].split())  # type: ignore[union-attr]
        arguments = "" if isinstance(member, property) else str(short_signature(function))
        lines.append(f"- `{name}{arguments}`: {first}")
    return [*lines, ""] if lines else []


def short_signature(function: Any) -> inspect.Signature:
    found = inspect.signature(function)
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in found.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    return inspect.Signature(kept)


def signature(name: str, function: Any) -> str:
    """Returns a signature with a line for each argument, if it is long."""
    found = inspect.signature(function)
    lines: list[str] = []
    seen_star = False
    for parameter in found.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            seen_star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            lines.append("*")
            seen_star = True
        # Annotations are strings: they read as they are written.
        lines.append(str(parameter).replace("'", "") if "Literal" not in str(parameter) else str(parameter))
    returned = "" if found.return_annotation is found.empty else f" -> {str(found.return_annotation).strip(chr(39))}"
    line = f"{name}({', '.join(lines)}){returned}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {line},\n" for line in lines) + f"){returned}"


def markdown(value: Any) -> str:
    """Returns a docstring as Markdown: sections become lists, and examples code."""
    text = inspect.getdoc(value) or ""
    lines: list[str] = []
    in_section = in_example = False
    for line in text.split("\n"):
        if in_example:
            if not line.strip():
                lines += ["```", ""]
                in_example = False
            else:
                lines.append(line)
            continue
        if line.startswith(">>>"):
            lines += ["```python", line]
            in_example = True
            in_section = False
            continue
        if line in SECTIONS:
            lines += [f"{line[:-1]}:", ""]
            in_section = True
            continue
        if in_section and line.startswith("    "):
            item = re.match(r"    (\*?[\w, ]+): (.*)", line) if not line.startswith("     ") else None
            if item:
                lines.append(f"- `{item[1]}`: {item[2]}")
            elif lines[-1]:
                lines[-1] += " " + line.strip()
            else:
                lines.append(line.strip())
            continue
        lines.append(line)
    if in_example:
        lines.append("```")
    return "\n".join(lines).strip("\n") + "\n"


def main() -> int:
    text = generate()
    if "--check" in sys.argv[1:]:
        if not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
            print(f"docs/{TARGET.name} is not what the docstrings say: run `python tools/generate_reference.py`")
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
