"""A bound on the number of values in JSON, checked before it is decoded."""

from __future__ import annotations

import msgspec

from app.errors import TooLarge

MAX_VALUES = 20_000
"""Values of a request beside those that its script writes down; an honest one has a few thousand at most."""


class _Scripted(msgspec.Struct):
    """What holds a script, which may contain any number of commas."""

    script: msgspec.Raw = msgspec.Raw(b"")


class _Outline(_Scripted):
    """A workspace, or what holds one; everything else is passed over without being kept."""

    workspace: _Scripted = msgspec.field(default_factory=_Scripted)


_outline = msgspec.json.Decoder(_Outline)


def check_values(text: bytes) -> None:
    """Reject a JSON text of too many values, by its commas: encoded files contain none, and names few.

    Parameters
    ----------
    text : bytes
        JSON that a client sent.

    Raises
    ------
    TooLarge
        There are more than :data:`MAX_VALUES`.
    msgspec.MsgspecError, RecursionError
        It is not the JSON of an object.
    """
    if text.count(b",") <= MAX_VALUES:
        return
    outline = _outline.decode(text)
    scripts = bytes(outline.script).count(b",") + bytes(outline.workspace.script).count(b",")
    count = text.count(b",") - scripts
    if count > MAX_VALUES:
        raise TooLarge(f"the request holds about {count:,} values", expected=f"at most {MAX_VALUES:,}")
