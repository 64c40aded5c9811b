"""The messages between a server and the machines of a cluster: validated MessagePack."""

from __future__ import annotations

import msgspec

from app.sandbox import Limits, Machine, Outcome, Tier

COMPILE, MEASURE = "COMPILE", "MEASURE"
"""Resources of a Dask worker: a machine has many slots for scripts that are compiled, and one for what is measured."""


def processor(cpu: str) -> str:
    """Return the resource of machines with a certain processor, for what is to be measured on one."""
    return f"{MEASURE} on {cpu}"


FACTS = "strata"
"""Name of the :class:`Facts` among what the scheduler knows of a worker."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine says of itself when it joins."""

    machine: Machine
    version: str
    """Of the compiler."""
    tier: Tier
    """The mechanisms that isolate its jobs."""
    compiling: int
    """Scripts that it compiles at one time."""


class JobStarted(msgspec.Struct, frozen=True, tag="started"):
    """Machine to server: it has a slot for the job, and waits for it in this queue."""

    machine: Machine
    worker: str
    """Address of the Dask worker."""
    orders: str


class ChildMessage(msgspec.Struct, frozen=True, tag="said"):
    """Machine to server: a message of the child, hostile."""

    message: bytes


class JobEnded(msgspec.Struct, frozen=True, tag="ended"):
    """Machine to server: the job's end."""

    outcome: Outcome


class JobLost(msgspec.Struct, frozen=True, tag="lost"):
    """Server to itself: nothing more will come of the job."""

    detail: str


class JobCancelled(msgspec.Struct, frozen=True, tag="cancelled"):
    """Server to itself: the job was cancelled before a machine had a slot for it."""


class Assignment(msgspec.Struct, frozen=True, kw_only=True, tag="assignment"):
    """Server to machine: the job."""

    request: bytes
    files: dict[str, bytes]
    stored: dict[str, str]
    """Hash of each stored file, which the machine fetches from the store."""
    limits: Limits


class Interrupt(msgspec.Struct, frozen=True, tag="interrupt"):
    """Server to machine: ask the child to end soon with what it has."""


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Server to machine: kill the child."""


class EndOfOrders(msgspec.Struct, frozen=True, tag="over"):
    """Machine to itself: no more orders are waited for."""


Report = JobStarted | ChildMessage | JobEnded | JobLost | JobCancelled
Order = Assignment | Interrupt | Cancel | EndOfOrders

encode = msgspec.msgpack.encode
decode_report = msgspec.msgpack.Decoder[Report](Report).decode
decode_facts = msgspec.msgpack.Decoder(Facts).decode
decode_order = msgspec.msgpack.Decoder[Order](Order).decode
