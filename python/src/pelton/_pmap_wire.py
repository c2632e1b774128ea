"""Frames between the caller and its workers, and what is in them.

A frame is a header of 16 bytes and a body. Large buffers (arrays) are not in the body but in a file in
memory whose descriptor travels with the header, so that they are copied once instead of four times,
and nothing with a name is left if a process dies.
"""

from __future__ import annotations

import array
import marshal
import mmap
import os
import pickle
import socket
import struct
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

    class Frame(NamedTuple):
        """One message."""

        kind: int
        encoding: int
        body: memoryview
        buffers: List[memoryview]

else:
    from collections import namedtuple

    Frame = namedtuple("Frame", "kind encoding body buffers")

# From the caller.
SETUP, ITEMS, BLOCK, RANGE, CAREFUL = range(5)
# From a worker.
RESULT, ERROR, AT, UNREADABLE = range(10, 14)

# How the values of a frame are written.
NOTHING, NUMBERS, PLAIN, PICKLED = range(4)

_HEADER = struct.Struct("<BBHIQ")
_SIZE = struct.Struct("<Q")
# Below this, one more copy is cheaper than making and mapping a file.
OUT_OF_BAND_BYTES = 256 << 10
_MAX_BUFFERS = 60_000
# Types that `marshal` writes and reads exactly, at three times the speed of `pickle`.
_PLAIN = frozenset((int, float, bytes, str, bool, type(None)))
# Lists of one of these are written as an array of machine words: less than half of the time again.
_CODES = {int: "q", float: "d"}


class Encoded:
    """Values ready to be sent."""

    __slots__ = ("encoding", "body", "buffers")

    def __init__(self, encoding: int, body: bytes, buffers: "Sequence[memoryview]" = ()) -> None:
        self.encoding = encoding
        self.body = body
        self.buffers = buffers

    def bytes_in_all(self) -> int:
        """Returns the number of bytes to be sent."""
        return len(self.body) + sum(buffer.nbytes for buffer in self.buffers)


def encode(values: "Sequence[Any]", dumps: "Optional[Callable[..., bytes]]" = None) -> Encoded:
    """Returns `values` in the cheapest form that keeps their types."""
    types = set(map(type, values))
    if types <= _PLAIN:
        if len(types) == 1:
            encoded = _encode_alike(next(iter(types)), values)
            if encoded is not None:
                return encoded
        plain: "Any" = values
        return Encoded(PLAIN, marshal.dumps(plain))
    buffers: "List[memoryview]" = []
    body = (dumps or pickle.dumps)(values, protocol=5, buffer_callback=_apart(buffers))
    return Encoded(PICKLED, body, buffers)


def _encode_alike(kind: type, values: "Sequence[Any]") -> "Optional[Encoded]":
    """Returns values of one type in its own form, or None if it has none."""
    if kind is type(None):
        return Encoded(NOTHING, _SIZE.pack(len(values)))
    code = _CODES.get(kind)
    if code is None:
        return None
    try:
        return Encoded(NUMBERS, code.encode() + array.array(code, values).tobytes())
    except OverflowError:  # Integers of more than 64 bits.
        return None


def _apart(buffers: "List[memoryview]") -> "Callable[[pickle.PickleBuffer], bool]":
    """Returns a callback that puts large buffers into `buffers`, and leaves others in the pickle."""

    def choose(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # Not contiguous.
            return True
        if raw.nbytes < OUT_OF_BAND_BYTES or len(buffers) >= _MAX_BUFFERS:
            return True
        buffers.append(raw)
        return False

    return choose


def decode(encoding: int, body: memoryview, buffers: "Sequence[memoryview]") -> "Sequence[Any]":
    """Returns what `encode` was given, as a list or an array."""
    if encoding == NOTHING:
        return [None] * int(_SIZE.unpack(body)[0])
    if encoding == NUMBERS:
        numbers: "array.array[Any]" = array.array(chr(body[0]))
        numbers.frombytes(body[1:])
        return numbers
    values: "Sequence[Any]" = marshal.loads(body) if encoding == PLAIN else pickle.loads(body, buffers=buffers)
    return values


def frame_parts(
    kind: int, encoded: Encoded, prefix: bytes = b""
) -> "Tuple[List[Union[bytes, memoryview]], int]":
    """Returns the bytes of a frame, and the descriptor that goes with its header, or -1."""
    sizes = b"".join(_SIZE.pack(buffer.nbytes) for buffer in encoded.buffers)
    length = len(sizes) + len(prefix) + len(encoded.body)
    header = _HEADER.pack(kind, encoded.encoding, len(encoded.buffers), len(sizes), length)
    fd = _in_memory(encoded.buffers) if encoded.buffers else -1
    return [header + sizes + prefix, encoded.body], fd


def _in_memory(buffers: "Sequence[memoryview]") -> int:
    fd = os.memfd_create("pelton-pmap")
    try:
        for offset, buffer in zip(_offsets(buffer.nbytes for buffer in buffers), buffers):
            while buffer.nbytes:
                written = os.pwrite(fd, buffer, offset)
                buffer, offset = buffer[written:], offset + written
    except BaseException:
        os.close(fd)
        raise
    return fd


def _offsets(sizes: "Iterator[int]") -> "Iterator[int]":
    at = 0
    for size in sizes:
        yield at
        # Arrays expect to be aligned.
        at = (at + size + 63) // 64 * 64


def _map_buffers(fd: int, sizes: "List[int]") -> "List[memoryview]":
    # Private: what a worker writes into its array is not seen by the sender, as with a copy.
    whole = memoryview(mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE))
    return [whole[at : at + size] for at, size in zip(_offsets(iter(sizes)), sizes)]


class Reader:
    """Takes frames from a socket, as many bytes at a time as there are."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._header = bytearray(_HEADER.size)
        self._have = 0
        self._body: "Optional[bytearray]" = None
        self._fd = -1

    def read(self) -> "Optional[Frame]":
        """Returns the next frame; None if the socket is non-blocking and has no more bytes.

        Raises:
            EOFError: If the other side has gone.
        """
        if self._body is None:
            while self._have < _HEADER.size:
                if not self._more_header():
                    return None
            self._have, self._body = 0, bytearray(_HEADER.unpack(self._header)[4])
        while self._have < len(self._body):
            try:
                count = self._sock.recv_into(memoryview(self._body)[self._have :])
            except BlockingIOError:
                return None
            except ConnectionError:
                raise EOFError from None
            if count == 0:
                raise EOFError
            self._have += count
        return self._finish(self._body)

    def _more_header(self) -> bool:
        missing = _HEADER.size - self._have
        try:
            data, control, _, _ = self._sock.recvmsg(missing, socket.CMSG_SPACE(4))
        except BlockingIOError:
            return False
        except ConnectionError:
            raise EOFError from None
        for level, kind, fds in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._fd = array.array("i", fds[:4])[0]
        if not data:
            raise EOFError
        self._header[self._have : self._have + len(data)] = data
        self._have += len(data)
        return True

    def _finish(self, body: bytearray) -> Frame:
        kind, encoding, count, skip, _ = _HEADER.unpack(self._header)
        self._have, self._body = 0, None
        view = memoryview(body)
        buffers: "List[memoryview]" = []
        if count:
            sizes = [_SIZE.unpack_from(view, at * _SIZE.size)[0] for at in range(count)]
            buffers = _map_buffers(self._fd, sizes)
            self.take_fd()
        return Frame(kind, encoding, view[skip:], buffers)

    def take_fd(self, close: bool = True) -> int:
        """Returns the descriptor that came with the last frame, or closes it."""
        fd, self._fd = self._fd, -1
        if close and fd >= 0:
            os.close(fd)
            return -1
        return fd

    def close(self) -> None:
        """Closes what was received and not used."""
        self.take_fd()


class Writer:
    """Puts frames into a socket, as many bytes at a time as it takes."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._queue: "Deque[Tuple[memoryview, int]]" = deque()

    @property
    def is_empty(self) -> bool:
        """Whether everything was sent."""
        return not self._queue

    def put(self, kind: int, encoded: Encoded, prefix: bytes = b"", fd: int = -1) -> None:
        """Appends a frame. `fd` goes with it and is closed afterwards; not with out-of-band buffers."""
        parts, own = frame_parts(kind, encoded, prefix)
        self._queue.append((memoryview(parts[0]), own if own >= 0 else fd))
        if parts[1]:
            self._queue.append((memoryview(parts[1]), -1))

    def flush(self) -> None:
        """Sends what can be sent. Raises EOFError if the other side has gone."""
        try:
            while self._queue:
                self._send_first()
        except BlockingIOError:
            pass
        except ConnectionError:
            raise EOFError from None

    def _send_first(self) -> None:
        data, fd = self._queue[0]
        if fd >= 0:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
            count = self._sock.sendmsg([data], rights)
            os.close(fd)
        else:
            count = self._sock.send(data)
        if count == len(data):
            self._queue.popleft()
        else:
            self._queue[0] = (data[count:], -1)

    def close(self) -> None:
        """Forgets what was not sent."""
        for _, fd in self._queue:
            if fd >= 0:
                os.close(fd)
        self._queue.clear()
