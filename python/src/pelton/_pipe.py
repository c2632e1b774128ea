"""Pipelines given as lists of words, which no shell parses."""

from __future__ import annotations

import os
import re
import secrets
import shlex
from collections.abc import Sequence
from typing import Union

__all__ = ["Pipe", "Pipeline", "Word", "pipe"]

Word = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_RESERVED = frozenset(
    "if then else elif fi do done case esac while until for in select function time coproc { } ! [[ ]]".split()
)


class Pipe:
    """Is a pipeline of commands, each a tuple of words. Made by `pipe`; `|` joins two.

    `str(pipeline)` is shell text that means the same.
    """

    __slots__ = ("stages",)

    stages: tuple[tuple[str, ...], ...]

    def __init__(self, *stages: Sequence[Word]) -> None:
        if not stages:
            raise ValueError("cannot make a pipeline of no commands: give each as a list of words")
        object.__setattr__(self, "stages", tuple(_words(stage) for stage in stages))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot change {name!r}: a pipeline does not change; make another")

    def __or__(self, other: Pipe | Sequence[Word]) -> Pipe:
        if isinstance(other, Pipe):
            return Pipe(*self.stages, *other.stages)
        if isinstance(other, (list, tuple)):
            return Pipe(*self.stages, other)
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipe) and self.stages == other.stages

    def __hash__(self) -> int:
        return hash(self.stages)

    def __reduce__(self) -> tuple[type[Pipe], tuple[tuple[str, ...], ...]]:
        return (Pipe, self.stages)

    def __str__(self) -> str:
        return " | ".join(" ".join(_quoted(stage)) for stage in self.stages)

    def __repr__(self) -> str:
        return f"pipe({', '.join(repr(list(stage)) for stage in self.stages)})"

    def arguments(self) -> list[str]:
        """Returns the arguments of `pelton pipe`: a separator that is none of the words, then all."""
        separator = ":::"
        while any(separator in stage for stage in self.stages):
            separator = ":::" + secrets.token_hex(8)
        arguments = []
        for stage in self.stages:
            arguments += [separator, *stage]
        return arguments


# What `run`, `time` and the others take: shell text, or commands as lists.
Pipeline = Union[str, Pipe]


def pipe(*stages: Sequence[Word]) -> Pipe:
    """Makes a pipeline of commands given as lists of words. No shell parses the words.

    Args:
        stages: For each command its name and its arguments: str, bytes or paths.

    Raises:
        ValueError: If there is no command, or one of them has no name, a word has a null byte, or a
            name looks like an assignment (`A=b`), which pelton would take for one.
        TypeError: If a command is not a list or tuple of words.

    >>> import pelton
    >>> pattern = "$(rm -rf ~); a*"
    >>> pelton.pipe(["grep", "-F", "--", pattern], ["sort"])
    pipe(['grep', '-F', '--', '$(rm -rf ~); a*'], ['sort'])
    >>> pelton.run(pelton.pipe(["printf", "%s\\n", "b;", "a*"], ["sort"]), text=True).stdout
    'a*\\nb;\\n'
    """
    return Pipe(*stages)


def _words(stage: Sequence[Word]) -> tuple[str, ...]:
    if not isinstance(stage, (list, tuple)):
        raise TypeError(
            f"cannot use {stage!r} as a command: give a list of words, such as ['grep', pattern, path]; "
            "shell text goes to `run` without `pipe`"
        )
    words = tuple(os.fsdecode(word) for word in stage)
    if not words or not words[0]:
        raise ValueError(f"cannot use {list(stage)!r} as a command: it has no name")
    for word in words:
        if "\0" in word:
            raise ValueError(f"cannot use the word {word!r}: no argument can have a null byte")
    if _ASSIGNMENT.match(words[0]):
        raise ValueError(
            f"cannot use {words[0]!r} as the name of a command: it would be an assignment; "
            f"try ['env', {words[0]!r}, …], or `env=` for the whole pipeline"
        )
    return words


def _quoted(stage: tuple[str, ...]) -> list[str]:
    quoted = [shlex.quote(word) for word in stage]
    if stage[0] in _RESERVED:
        quoted[0] = f"'{stage[0]}'"
    return quoted
