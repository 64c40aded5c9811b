"""The messages between a server and the machines of a cluster: validated MessagePack."""

from __future__ import annotations

import msgspec

from app.sandbox import Limits, Machine, Outcome, Tier

COMPILE, MEASURE = "COMPILE", "MEASURE"
"""Dask worker resources: a machine has several slots for compilation, and one for measurement."""
FACTS = "strata"
"""Key of the :class:`Facts` in the scheduler's worker info."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Description that a machine registers with when it joins."""

    machine: Machine
    version: str
    """Version of the compiler."""
    tier: Tier
    """Isolation tier of its sandbox."""
    compiling: int
    """Number of compilation slots."""


class Started(msgspec.Struct, frozen=True, tag="started"):
    """Machine to server: a slot is available; send the job to this queue."""

    machine: Machine
    worker: str
    """Address of the Dask worker."""
    orders: str


class Said(msgspec.Struct, frozen=True, tag="said"):
    """Machine to server: a message of the child, which is untrusted."""

    message: bytes


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """Machine to server: the job ended."""

    outcome: Outcome


class Lost(msgspec.Struct, frozen=True, tag="lost"):
    """Server to itself: the job is lost."""

    detail: str


class Cancelled(msgspec.Struct, frozen=True, tag="cancelled"):
    """Server to itself: the job was cancelled while it was queued."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True, tag="assignment"):
    """Server to machine: the job."""

    request: bytes
    files: dict[str, bytes]
    stored: dict[str, str]
    """Hash of each stored file; the machine fetches them from the shared store."""
    limits: Limits


class Interrupt(msgspec.Struct, frozen=True, tag="interrupt"):
    """Server to machine: ask the child to finish early with partial results."""


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Server to machine: kill the child."""


class Over(msgspec.Struct, frozen=True, tag="over"):
    """Machine to itself: stop waiting for orders."""


Report = Started | Said | Ended | Lost | Cancelled
Order = Assignment | Interrupt | Cancel | Over

encode = msgspec.msgpack.encode
decode_report = msgspec.msgpack.Decoder[Report](Report).decode
decode_facts = msgspec.msgpack.Decoder(Facts).decode
decode_order = msgspec.msgpack.Decoder[Order](Order).decode
