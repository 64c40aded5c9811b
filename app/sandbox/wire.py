"""The protocol between server, zygote and child.

A job is sent as a memory file: a length, a JSON header, the request, the attached files.  Stored files are sent as open
descriptors, from which the child copies them.  The child sends messages as frames of a length and a body through a
pipe; they are untrusted.  Its status is sent through a separate socket, which the child closes before the script
starts, so that what arrives there is trustworthy.
"""

from __future__ import annotations

import os
import struct

import msgspec

from app.sandbox.files import Files, StoredFile
from app.sandbox.limits import Limits
from app.sandbox.tier import Mechanism, Tier

_LENGTH = struct.Struct("<I")
FRAME_BYTES = _LENGTH.size
"""Size of the length before each message."""


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
    """Settings of a zygote, passed on its command line."""

    handler: str
    preload: list[str]
    readable: list[str]
    """Additional directories that children may read."""
    mechanisms: frozenset[Mechanism] | None
    """None for those that this host has."""
    scratch: str
    """Its scratch directory."""
    members: list[int]
    """Descriptors for joining the control group of all scripts."""
    first_uid: int


class Start(msgspec.Struct, frozen=True):
    """Server to zygote, with the job's file descriptors: fork a child."""

    wall_seconds: float


class Interrupt(msgspec.Struct, frozen=True, tag="interrupt"):
    """Server to zygote, on a job's status socket: ask the child to finish early, and kill it if it does not."""


class Tried(msgspec.Struct, frozen=True, tag="tried"):
    """Zygote to server, first if the settings leave the mechanisms open: those that it uses."""

    tier: Tier


class ZygoteReady(msgspec.Struct, frozen=True, tag="booted"):
    """Zygote to server: ready for jobs."""


class ZygoteWarm(msgspec.Struct, frozen=True, tag="warm"):
    """Zygote to server, last: no child will import what others have imported."""


class BootFailed(msgspec.Struct, frozen=True, tag="boot failed"):
    """Zygote to server: startup failed."""

    detail: str


class ChildReady(msgspec.Struct, frozen=True, tag="ready"):
    """Child to server: isolation is complete, the script starts."""


class SetupFailed(msgspec.Struct, frozen=True, tag="setup failed"):
    """Child to server: a mechanism could not be enabled; the script was not run."""

    detail: str


class ChildExited(msgspec.Struct, frozen=True, tag="exited", kw_only=True):
    """Zygote to server: the child has exited."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    interrupted: bool
    """Whether the process was asked to finish early."""
    cpu_seconds: float
    peak_bytes: int


BootMessage = Tried | ZygoteReady | ZygoteWarm | BootFailed
StatusMessage = ChildReady | SetupFailed | ChildExited

encode = msgspec.json.encode
decode_settings = msgspec.json.Decoder(Settings).decode
decode_start = msgspec.json.Decoder(Start).decode
decode_interrupt = msgspec.json.Decoder(Interrupt).decode
decode_boot = msgspec.json.Decoder[BootMessage](BootMessage).decode
decode_status = msgspec.json.Decoder[StatusMessage](StatusMessage).decode
_decode_header = msgspec.json.Decoder(Header).decode

MAX_STATUS = 4096
"""Maximum length of a status message."""
MAX_BOOT = 1 << 14
"""Maximum length of a message of a zygote that starts."""


def write_job(fd: int, request: bytes, files: Files, limits: Limits) -> list[StoredFile]:
    """Write a job to an empty file; return the stored files, whose descriptors must be sent with it in this order."""
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
    """Read exactly ``size`` bytes.

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
    """Write all bytes, with as many calls as necessary."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def frame(message: bytes) -> bytes:
    """Return the frame of a message."""
    return _LENGTH.pack(len(message)) + message


_UNTIL_END = 0xFFFF_FFFF
UNTIL_END = _LENGTH.pack(_UNTIL_END)
"""Length of a message that extends to the end of the stream, for senders that do not know its length."""


class OutputLimit(Exception):
    """A child exceeded its output limit."""


class FrameReader:
    """Splits an untrusted stream into messages, buffering no more than the limits allow."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._total = 0
        self.ended = False

    def feed(self, data: bytes) -> None:
        """Add data read from the pipe."""
        self._buffer += data

    def end(self) -> None:
        """Mark the end of the stream, which completes a message without length."""
        self.ended = True

    def clear(self) -> None:
        """Discard buffered data."""
        self._buffer = bytearray()

    def next(self) -> bytes | None:
        """Return the next complete message; None if more data is needed.

        Raises
        ------
        OutputLimit
            If the announced length of the message, or the total length, exceeds its limit.
        """
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        last = length == _UNTIL_END and bool(self._limits.program)  # scripts send lengths
        if last:
            length = len(self._buffer) - _LENGTH.size
        if length > self._limits.message_bytes:
            raise OutputLimit(f"a message of {length} bytes; at most {self._limits.message_bytes} are allowed")
        end = _LENGTH.size + length
        if self._total + end > self._limits.output_bytes:  # headers count, as messages may be empty
            raise OutputLimit(f"more than {self._limits.output_bytes} bytes of output")
        if len(self._buffer) < end or (last and not self.ended):
            return None
        message = bytes(memoryview(self._buffer)[_LENGTH.size : end])
        del self._buffer[:end]
        self._total += end
        return message
