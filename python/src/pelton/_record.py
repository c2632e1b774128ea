"""The base of all records, and how they are made from JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, cast


__all__ = ["Record"]

_R = TypeVar("_R", bound="Record")


class Record:
    """Is the base of all records.

    `raw` is the JSON object that a record was made from. It has all fields, also those that this
    version of the package does not know.
    """

    raw: Mapping[str, Any]
    _nested: ClassVar[Mapping[str, tuple[str, str]]]

    @classmethod
    def from_dict(cls: type[_R], raw: Mapping[str, Any]) -> _R:
        """Returns the record that a JSON object describes.

        Unknown fields stay in `raw`. A field that an older pelton did not write is None.

        >>> from pelton.records import Span
        >>> Span.from_dict({"start": 0, "end": 4})
        Span(end=4, start=0)
        """
        values: dict[str, Any] = {}
        dataclass: Any = cls
        for name in [field.name for field in dataclasses.fields(dataclass)]:
            if name == "raw":
                continue
            # `pass_` is the field `pass`, which is a word of Python.
            value = raw.get(name.rstrip("_"))
            nested = cls._nested.get(name)
            if nested is not None and value is not None:
                value = _decode(cls, nested, value)
            values[name] = value
        return cls(raw=raw, **values)  # type: ignore[call-arg]

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as plain dicts, lists, strings and numbers, as the JSON has them."""
        return cast("dict[str, Any]", _copied(self.raw))


def _decode(cls: type[Record], nested: tuple[str, str], value: Any) -> Any:
    kind, name = nested
    if not name:
        return tuple(value)
    from . import records

    target: type[Record] = getattr(records, name)
    if kind == "many":
        return tuple(target.from_dict(item) for item in value)
    return target.from_dict(value)


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item) for item in value]
    return value
