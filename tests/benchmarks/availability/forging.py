"""Scripts that write the answer of their run themselves, as a hostile one can: into the pipe of its process."""

from __future__ import annotations

import msgspec

from app.sandbox.child import OUTPUT

_PRELUDE = f"""\
import os
import struct
import time

import msgspec
from app.artifacts import *
from app.artifacts import drawing_key, listing_key

def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write({OUTPUT}, view):]

def send(message):
    body = message if isinstance(message, bytes) else msgspec.json.encode(message)
    write(struct.pack("<I", len(body)) + body)

def listing(lines, language="llvm", name="main", level="llvm"):
    made = Listing(key="", level=level, name=name, language=language, lines=lines)
    return msgspec.structs.replace(made, key=listing_key(made))

def answer(listings=(), drawings=(), group="llvm", **fields):
    steps = [Step(group=group, name=f"step {{n}}", listing=one.key) for n, one in enumerate(listings)]
    steps += [Step(group="graph", name=f"pass {{n}}", drawing=one.key) for n, one in enumerate(drawings)]
    unit = Unit(name="main", kind="graph" if drawings else "function", steps=steps, built=True)
    by_key = lambda values: {{value.key: value for value in values}}
    return Answer(units=[unit], listings=by_key(listings), drawings=by_key(drawings), **fields)
"""
_END = "os._exit(0)\n"


def forge(body: str, number: object = 0) -> str:
    """Return a script that runs ``body`` with the names of the prelude and then ends its process at once.

    Parameters
    ----------
    body : str
        Calls ``send`` or ``write``.
    number : object
        Is ``number`` in the script; makes the script differ from others that do the same, so that no cache answers it.
    """
    return f"number = {number!r}\n{_PRELUDE}{body}\n{_END}"


def forged_here(body: str) -> list[bytes]:
    """Return the messages that a forging script sends, by running its body in this process."""
    sent: list[bytes] = []

    def send(message: object) -> None:
        sent.append(message if isinstance(message, bytes) else msgspec.json.encode(message))

    names: dict[str, object] = {"number": 0}
    exec(_PRELUDE, names)
    names["send"] = send
    exec(body, names)
    return sent
