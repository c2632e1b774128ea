"""Cuts the input of `pmap` into chunks."""

from __future__ import annotations

import io
import itertools
import os
import stat
import sys
import time

from . import _lifetime
from ._lifetime import wait_readable
from ._pmap_wire import BLOCK, ITEMS, NOTHING, PICKLED, RANGE, Encoded, encode
from ._pmap_worker import EXTENT

# `typing` would take a good part of the time to import this. Annotations are text that only type checkers read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator, List, Optional

__all__ = ["Chunk", "Source", "open_source"]

# A chunk takes this long to compute: much longer than to send, and short enough to share the work
# evenly and to show progress.
CHUNK_SECONDS = 0.05
# How long the caller may take items before it looks after its workers.
_PULL_SECONDS = 0.02
# A chunk's items, packed, and its results.
_BYTES_MAX = 4 << 20
# Sizes grow by this factor at most from one chunk to the next, as the cost is not known at first.
_GROWTH = 8
_FIRST_BYTES = 4096
_FIRST_ITEMS = 1
_ITEMS_MAX = 1 << 17
# What is read from a pipe at once: as much as it holds.
_READ_BYTES = 256 << 10


class Chunk:
    """A part of the input, kept until its results are there."""

    __slots__ = ("number", "kind", "encoded", "size", "position", "first", "items", "deaths")

    def __init__(self, number: int, kind: int, encoded: Encoded, size: int, position: str) -> None:
        self.number, self.kind, self.encoded, self.position = number, kind, encoded, position
        # How much it is, in the units in which the source counts: items or bytes.
        self.size = size
        self.first: Optional[int] = None
        self.items: Optional[List[Any]] = None
        self.deaths = 0


class Sizes:
    """Chooses how large the next chunk is, by what the last ones cost."""

    def __init__(self, first: int, most: int, fixed: Optional[int]) -> None:
        self.size = fixed or first
        self._most = most
        self._is_fixed = fixed is not None

    def learn(self, size: int, seconds: float, size_bytes: int) -> None:
        """Notes that a chunk of `size` took `seconds`, and was `size_bytes` long where longest."""
        if self._is_fixed or not size:
            return
        by_time = size * CHUNK_SECONDS / max(seconds, 1e-6)
        by_bytes = size * _BYTES_MAX / max(size_bytes, 1)
        wanted = min(by_time, by_bytes, size * _GROWTH, self._most)
        # Half of the way: costs differ from chunk to chunk. Downwards at once.
        if wanted > self.size:
            wanted = max(self.size, min(wanted, self.size * _GROWTH))
        self.size = max(1, int(wanted))


class Source:
    """Is the base of the three kinds of input."""

    # Bytes or items in all, if that is known.
    total: Optional[int] = None
    # A descriptor to wait for before `next_chunk` is called, or -1.
    waits_for = -1
    # A descriptor that workers read from, or -1.
    shared_fd = -1

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.count = 0
        self.is_at_end = False
        # What the iterable raised. It is raised again after the results of what came before.
        self.error: Optional[BaseException] = None

    def next_chunk(self) -> Optional[Chunk]:
        """Returns the next part of the input, or None if there is none now (see `is_at_end`)."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes what the source opened."""

    def _chunk(self, kind: int, encoded: Encoded, size: int, position: str) -> Chunk:
        self.count += 1
        return Chunk(self.count - 1, kind, encoded, size, position)


class Items(Source):
    """Any iterable."""

    def __init__(self, items: Iterable[Any], fixed: Optional[int]) -> None:
        super().__init__(Sizes(_FIRST_ITEMS, _ITEMS_MAX, fixed))
        try:
            self.total = len(items)  # type: ignore[arg-type]
        except TypeError:
            pass
        self._items: Iterator[Any] = iter(items)
        self._taken = 0
        self.dumps: Optional[Callable[..., bytes]] = None

    def next_chunk(self) -> Optional[Chunk]:
        items = self._take()
        if not items:
            return None
        first, self._taken = self._taken, self._taken + len(items)
        position = f"items {first} to {self._taken - 1}" if len(items) > 1 else f"item {first}"
        chunk = self._chunk(ITEMS, encode(items, self.dumps), len(items), position)
        chunk.first = first
        # Only what was pickled may have to be sent in another way.
        chunk.items = items if chunk.encoded.encoding == PICKLED else None
        return chunk

    def _take(self) -> List[Any]:
        """Takes items until they are enough, or have taken long to come."""
        items: List[Any] = []
        until = time.perf_counter() + _PULL_SECONDS
        at_once = 1
        try:
            while len(items) < self.sizes.size:
                missing = min(at_once, self.sizes.size - len(items))
                before = len(items)
                items.extend(itertools.islice(self._items, missing))
                if len(items) - before < missing:
                    self.is_at_end = True
                    break
                at_once *= 4
                if time.perf_counter() > until:
                    break
        except Exception as error:
            self.error, self.is_at_end = error, True
        return items


class FileLines(Source):
    """The lines of a regular file from `start`. The workers read it; only offsets are sent."""

    def __init__(self, fd: int, start: int, fixed: Optional[int]) -> None:
        super().__init__(Sizes(_FIRST_BYTES, _BYTES_MAX, fixed))
        self.shared_fd = fd
        self._at = start
        self._end = os.fstat(fd).st_size
        self.total = max(self._end - start, 0)
        self._start = start

    def next_chunk(self) -> Optional[Chunk]:
        if self._at >= self._end:
            self.is_at_end = True
            return None
        start, self._at = self._at, min(self._at + self.sizes.size, self._end)
        # The first line begins at the start, whatever is before it.
        encoded = Encoded(NOTHING, EXTENT.pack(start, self._at, start == self._start))
        position = f"the lines that begin in bytes {start} to {self._at - 1}"
        return self._chunk(RANGE, encoded, self._at - start, position)

    def close(self) -> None:
        fd, self.shared_fd = self.shared_fd, -1
        if fd >= 0:
            _lifetime.release(fd)
            os.close(fd)


class StreamLines(Source):
    """The lines of a pipe, a socket or a terminal. The caller passes them on in blocks."""

    def __init__(self, file: Any, fixed: Optional[int], is_borrowed: bool) -> None:
        super().__init__(Sizes(_READ_BYTES, _BYTES_MAX, fixed))
        self._file = file
        self._is_borrowed = is_borrowed
        # The beginning of a line, and how many of its pieces are known to have no newline.
        self._rest: List[bytes] = []
        self._searched = 0
        self._sent = 0
        # Python's buffer may hold something already, for which poll(2) would wait in vain.
        self._buffer_is_empty = False

    @property
    def waits_for(self) -> int:  # type: ignore[override]
        return int(self._file.fileno()) if self._buffer_is_empty and not self.is_at_end else -1

    def next_chunk(self) -> Optional[Chunk]:
        """Takes what is there, up to the size of a chunk, and waits only for its first byte."""
        read = getattr(self._file, "read1", self._file.read)
        taken = 0
        while taken < self.sizes.size:
            # The first read may block: no worker has anything to do yet.
            if taken and not wait_readable(self._file.fileno(), 0):
                break
            data = read(_READ_BYTES)
            # Later ones find nothing in Python's buffer, so poll(2) tells whether they block.
            self._buffer_is_empty = True
            if not data:
                self.is_at_end = True
                data, self._rest = b"".join(self._rest), []
                return self._block(data)
            self._rest.append(data)
            taken += len(data)
        return self._cut()

    def _cut(self) -> Optional[Chunk]:
        """Returns the whole lines, and keeps the beginning of the next."""
        at = len(self._rest) - 1
        while at >= self._searched and b"\n" not in self._rest[at]:
            at -= 1
        if at < self._searched:
            self._searched = len(self._rest)
            return None
        newline = self._rest[at].rfind(b"\n")
        data = b"".join([*self._rest[:at], self._rest[at][: newline + 1]])
        self._rest = [piece for piece in (self._rest[at][newline + 1 :], *self._rest[at + 1 :]) if piece]
        self._searched = len(self._rest)
        return self._block(data)

    def _block(self, data: bytes) -> Optional[Chunk]:
        if not data:
            return None
        start, self._sent = self._sent, self._sent + len(data)
        position = f"the lines in bytes {start} to {self._sent - 1} of the stream"
        return self._chunk(BLOCK, Encoded(NOTHING, data), len(data), position)

    def close(self) -> None:
        if not self._is_borrowed:
            self._file.close()


def open_source(items: Any, chunk: "int | str") -> Source:
    """Returns the source for what `pmap` was given."""
    fixed = None if chunk == "auto" else _checked(chunk)
    if isinstance(items, os.PathLike):
        with open(items, "rb") as file:
            return _open_file(file, fixed, is_borrowed=False)
    if _is_plain_file(items):
        return _open_file(items, fixed, is_borrowed=True)
    return Items(items, fixed)


def _checked(chunk: Any) -> int:
    if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
        raise ValueError(f"pelton: pmap: chunk must be 'auto' or a number from 1, not {chunk!r}")
    return chunk


def _is_plain_file(items: Any) -> bool:
    """Whether the bytes of `items` are those of its descriptor: not so for a GzipFile."""
    raw = items.raw if type(items) is io.BufferedReader else items
    # Nobody has a file of a `Popen` before its module is imported, which takes time.
    buffer = sys.modules.get("pelton._buffer")
    return type(raw) in (io.FileIO, buffer and buffer.OwnedFile) and raw.readable()


def _open_file(file: Any, fixed: Optional[int], is_borrowed: bool) -> Source:
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        start = file.tell()
        fd = os.dup(file.fileno())
        _lifetime.keep_from_forks(fd, os.O_WRONLY)
        if is_borrowed:
            file.seek(0, os.SEEK_END)
        return FileLines(fd, start, fixed)
    if not is_borrowed:
        # `open_source` closes the file: keep another one.
        file = open(os.dup(file.fileno()), "rb")
    return StreamLines(file, fixed, is_borrowed)
