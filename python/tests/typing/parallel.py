"""What type checkers must see of Popen, aio and pmap. Checked by mypy and pyright, never run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing_extensions import assert_type

import pelton

assert_type(pelton.Popen(["true"]), "pelton.Popen[bytes]")
assert_type(pelton.Popen(["true"], stdout=subprocess.PIPE, memory="1M"), "pelton.Popen[bytes]")
assert_type(pelton.Popen(["true"], text=True), "pelton.Popen[str]")
assert_type(pelton.Popen(["true"], encoding="utf-8"), "pelton.Popen[str]")
assert_type(pelton.Popen(["true"]).wait(), int)
as_popen: subprocess.Popen[str] = pelton.Popen(["true"], text=True)


def shout(word: str) -> str:
    return word.upper()


def size(line: bytes) -> int:
    return len(line)


assert_type(pelton.pmap(shout, ["a"]), "pelton.Map[str]")
assert_type(pelton.pmap(size, Path("lines")), "pelton.Map[int]")
assert_type(list(pelton.pmap(size, open("lines", "rb"))), "list[int]")
assert_type(pelton.pfilter(str.isdigit, ["a"]), "pelton.Map[str]")
assert_type(pelton.pfilter(size, Path("lines")), "pelton.Map[bytes]")
assert_type(pelton.pmap(shout, ["a"]).stats.verdict, str)


async def collect() -> None:
    async with pelton.aio.Popen(["true"], stdout=subprocess.PIPE) as child:
        assert_type(await child.wait(), int)
        assert_type(await child.communicate(), "tuple[bytes | None, bytes | None]")
