"""The protocol between server, zygote and child.

A job travels in a memory file: a length, a JSON header, the request, the attached files.  Stored files are not copied
into it: each travels as an open descriptor, from which the child copies it.  The child's messages are frames, a length
and a body, in a pipe that it alone writes; they are hostile.  How the job went travels on a socket of its own, which
the child closes before the script starts: what arrives there can be believed.
"""

from __future__ import annotations

import os
import struct

import msgspec

from app.sandbox.files import Files, StoredFile
from app.sandbox.limits import Limits
from app.sandbox.tier import Mechanism

_LENGTH = struct.Struct("<I")
FRAME_BYTES = _LENGTH.size
"""What goes before a message in the pipe."""


class Header(msgspec.Struct, frozen=True):
    """The first part of a job."""

    request: int
    """Length of the request in bytes."""
    files: list[tuple[str, int]]
    """Name and length of each attached file, whose contents follow the request."""
    stored: list[tuple[str, int]]
    """Name and length of each stored file, in the order of their descriptors."""
    limits: Limits


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a zygote is told once, on its command line."""

    handler: str
    preload: list[str]
    readable: list[str]
    """Directories to read beyond those that every child may."""
    mechanisms: frozenset[Mechanism]
    scratch: str
    """A directory of its own."""
    members: list[int]
    """Descriptors that make it a member of the control group of all scripts."""
    first_uid: int


class Start(msgspec.Struct, frozen=True):
    """Server to zygote, with the job's file descriptors: fork a child."""

    wall_seconds: float


class Interrupt(msgspec.Struct, frozen=True, tag="interrupt"):
    """Server to zygote, on a job's status socket: ask the child to end now, and kill it if it does not."""


class Booted(msgspec.Struct, frozen=True, tag="booted"):
    """Zygote to server: ready for jobs."""


class BootFailed(msgspec.Struct, frozen=True, tag="boot failed"):
    """Zygote to server: it cannot work here."""

    detail: str


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """Child to server: the child is isolated, the script starts."""


class SetupFailed(msgspec.Struct, frozen=True, tag="setup failed"):
    """Child to server: a mechanism could not be turned on; the script was not run."""

    detail: str


class Exited(msgspec.Struct, frozen=True, tag="exited", kw_only=True):
    """Zygote to server: the child has ended."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    interrupted: bool
    """Whether it was asked to end before its time."""
    cpu_seconds: float
    peak_bytes: int


BootMessage = Booted | BootFailed
StatusMessage = Ready | SetupFailed | Exited

encode = msgspec.json.encode
decode_settings = msgspec.json.Decoder(Settings).decode
decode_start = msgspec.json.Decoder(Start).decode
decode_interrupt = msgspec.json.Decoder(Interrupt).decode
decode_boot = msgspec.json.Decoder[BootMessage](BootMessage).decode
decode_status = msgspec.json.Decoder[StatusMessage](StatusMessage).decode
_decode_header = msgspec.json.Decoder(Header).decode

MAX_STATUS = 4096
"""Length of the longest status message."""


def write_job(fd: int, request: bytes, files: Files, limits: Limits) -> list[StoredFile]:
    """Write a job into an empty file; returns the stored files, whose descriptors must go with it in this order."""
    attached = {name: content for name, content in files.items() if isinstance(content, bytes)}
    stored = {name: file for name, file in files.items() if isinstance(file, StoredFile)}
    header = Header(
        len(request),
        [(name, len(content)) for name, content in attached.items()],
        [(name, file.size) for name, file in stored.items()],
        limits,
    )
    encoded = encode(header)
    for part in (_LENGTH.pack(len(encoded)), encoded, request, *attached.values()):
        write_all(fd, part)
    return list(stored.values())


def read_header(fd: int) -> Header:
    """Read a job's header, leaving the position at the request."""
    os.lseek(fd, 0, os.SEEK_SET)
    (length,) = _LENGTH.unpack(read_exactly(fd, _LENGTH.size))
    return _decode_header(read_exactly(fd, length))


def read_exactly(fd: int, size: int) -> bytes:
    """Read so many bytes.

    Raises
    ------
    EOFError
        If the file ends early.
    """
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError("job: the file ends early")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def frame(message: bytes) -> bytes:
    """A message as it goes through the pipe."""
    return _LENGTH.pack(len(message)) + message


_UNTIL_END = 0xFFFF_FFFF
UNTIL_END = _LENGTH.pack(_UNTIL_END)
"""Announces a message that ends with the stream, as its sender does not know how long it will be."""


class OutputLimit(Exception):
    """A child sent more than it may."""


class FrameReader:
    """Cuts a hostile stream into messages, never holding more than the limits allow."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._total = 0
        self.ended = False

    def feed(self, data: bytes) -> None:
        """Take what was read from the pipe."""
        self._buffer += data

    def end(self) -> None:
        """Take note that nothing more comes: a message that lasts until then is complete."""
        self.ended = True

    def clear(self) -> None:
        """Drop what was fed and not read."""
        self._buffer = bytearray()

    def next(self) -> bytes | None:
        """The next complete message, or None until more is fed.

        Raises
        ------
        OutputLimit
            As soon as a message announces itself as too long, or all together are.
        """
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        last = length == _UNTIL_END and bool(self._limits.program)  # scripts say how much they send
        if last:
            length = len(self._buffer) - _LENGTH.size
        if length > self._limits.message_bytes:
            raise OutputLimit(f"a message of {length} bytes; at most {self._limits.message_bytes} are allowed")
        end = _LENGTH.size + length
        if self._total + end > self._limits.output_bytes:  # what announces a message counts: it may be empty
            raise OutputLimit(f"more than {self._limits.output_bytes} bytes of output")
        if len(self._buffer) < end or (last and not self.ended):
            return None
        message = bytes(memoryview(self._buffer)[_LENGTH.size : end])
        del self._buffer[:end]
        self._total += end
        return message
