"""Writes `src/pelton/_schema.py`: dataclasses for the JSON schemas that `pelton` prints.

Run with `python tools/generate_records.py [--check]`. `--check` compares and changes nothing.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from pelton._binary import path as pelton_path  # noqa: E402

TARGET = ROOT / "src" / "pelton" / "_schema.py"
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


def schema(verb: str) -> "dict[str, Any]":
    printed = subprocess.run([pelton_path(), verb, "--schema"], check=True, stdout=subprocess.PIPE).stdout
    loaded: dict[str, Any] = json.loads(printed)
    return loaded


def sentence(description: str) -> str:
    """Returns a description without the marks of Rust's documentation."""
    text = re.sub(r"\[`([^`\]]+)`\]", r"`\1`", description).replace("::", ".")
    text = text.replace("`None`", "None").replace("\\", "\\\\")
    return " ".join(text.split())


def wrap(text: str, indent: str) -> str:
    # Not `initial_indent`: what follows continues a list or a quote.
    return ("\n" + indent).join(textwrap.wrap(text, 100 - len(indent), break_on_hyphens=False, break_long_words=False))


class Classes:
    def __init__(self) -> None:
        self.written: dict[str, str] = {}
        self.literals: dict[str, str] = {}

    def type_of(self, field: "dict[str, Any]", defs: "dict[str, Any]") -> "tuple[str, tuple[str, str] | None]":
        """Returns a field's type, and its decoder: how a class is nested in it, and which."""
        if "$ref" in field:
            name = field["$ref"].rsplit("/", 1)[1]
            target = defs[name]
            if self.is_literal(target):
                self.add(name, target, defs)
                return name, None
            self.add(name, target, defs)
            return name, ("one", name)
        if "anyOf" in field:
            inner, decoder = self.type_of(field["anyOf"][0], defs)
            return f"{inner} | None", decoder
        kind = field["type"]
        if isinstance(kind, list):
            inner, decoder = self.type_of({**field, "type": kind[0]}, defs)
            return f"{inner} | None", decoder
        if kind == "array":
            inner, decoder = self.type_of(field["items"], defs)
            assert decoder is None or decoder[0] == "one"
            return f"tuple[{inner}, ...]", ("many", decoder[1] if decoder else "")
        if kind == "object":
            inner, decoder = self.type_of(field["additionalProperties"], defs)
            assert decoder is None
            return f"Mapping[str, {inner}]", None
        return SCALARS[kind], None

    @staticmethod
    def is_literal(target: "dict[str, Any]") -> bool:
        return all("const" in choice for choice in target.get("oneOf", [{}])) or "enum" in target

    def add(self, name: str, target: "dict[str, Any]", defs: "dict[str, Any]") -> None:
        named = name
        if named in self.written or named in self.literals:
            return
        if self.is_literal(target):
            choices = [choice["const"] for choice in target["oneOf"]] if "oneOf" in target else target["enum"]
            values = ",\n    ".join(f'"{value}"' for value in choices)
            text = sentence(target.get("description", ""))
            comment = "\n".join(f"# {line}" for line in textwrap.wrap(text, 98))
            self.literals[named] = f"{comment}\n{named} = Literal[\n    {values},\n]\n" if comment else f"{named} = Literal[\n    {values},\n]\n"
            return
        self.written[named] = ""  # Reserved: types may contain themselves.
        if "oneOf" in target:
            target = self.flattened(name, target, defs)
        required = set(target.get("required", []))
        lines = ["@dataclass(frozen=True)", f"class {named}(Record):"]
        words = sentence(target["description"])
        lines.append(f'    """{wrap("Describes " + words[:1].lower() + words[1:], "    ")}')
        documents: list[str] = []
        fields: list[str] = []
        decoders: list[str] = []
        for name_in_json, field in target["properties"].items():
            key = name_in_json + "_" * keyword.iskeyword(name_in_json)
            spelled, decoder = self.type_of(field, defs)
            if name_in_json not in required and not spelled.endswith("| None"):
                spelled += " | None"
            words = "\n".join(textwrap.wrap(f"{key}: " + sentence(field.get("description", "")), 88, break_on_hyphens=False, break_long_words=False))
            documents.append("        " + words.replace("\n", "\n            "))
            fields.append(f"    {key}: {spelled} = field(default=None)" if name_in_json not in required else f"    {key}: {spelled}")
            if decoder:
                decoders.append(f'        "{key}": ("{decoder[0]}", "{decoder[1]}"),')
        fields.sort(key=lambda line: "= field(" in line)
        if documents:
            lines += ["", "    Attributes:", *documents]
        lines += ['    """', "", *[line.replace(" = field(default=None)", " = None") for line in fields]]
        lines.append("    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)")
        lines += ["", "    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {", *decoders, "    }" if decoders else ""]
        if not decoders:
            lines[-2:] = ["    _nested: ClassVar[Mapping[str, tuple[str, str]]] = {}"]
        self.written[named] = "\n".join(lines) + "\n"

    def flattened(self, name: str, target: "dict[str, Any]", defs: "dict[str, Any]") -> "dict[str, Any]":
        """Returns one object with the fields of all alternatives. Those that not all have may be missing."""
        properties: dict[str, Any] = {}
        tags: dict[str, list[str]] = {}
        for choice in target["oneOf"]:
            for key, field in choice["properties"].items():
                if "const" in field:
                    tags.setdefault(key, []).append(field["const"])
                    continue
                if "properties" in field:
                    title = key.capitalize()
                    defs[title] = {"description": choice.get("description", ""), **field}
                    field = {"$ref": f"#/$defs/{title}"}
                properties[key] = {"description": choice.get("description", ""), **field}
        for key, values in tags.items():
            defs[f"{name}{key.capitalize()}"] = {"enum": values, "description": target["description"]}
            properties = {key: {"$ref": f"#/$defs/{name}{key.capitalize()}", "description": "Which alternative it is."}, **properties}
        return {"description": target["description"], "properties": properties, "required": list(tags)}

    def text(self) -> str:
        parts = [HEADER, *self.literals.values()]
        names = [*self.written]
        body = "\n".join(parts)
        for text in self.written.values():
            body += "\n\n" + text
        table = "".join(f'    "{name}": {name},\n' for name in sorted(names))
        return body + "\n\nCLASSES: Mapping[str, type[Record]] = {\n" + table + "}\n"


HEADER = '''\
"""Dataclasses of the records that `pelton time` and `pelton doctor` write.

Generated by `tools/generate_records.py` from `pelton time --schema` and `pelton doctor --schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ._record import Record
'''


def generate() -> str:
    classes = Classes()
    for verb in ("time", "doctor"):
        loaded = schema(verb)
        classes.add(loaded["title"], loaded, loaded["$defs"])
    return classes.text()


def main() -> int:
    text = generate()
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET.name} is not what the schemas say: run `python tools/generate_records.py`")
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
