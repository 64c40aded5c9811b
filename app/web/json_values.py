"""A limit on the number of values in JSON, checked before decoding."""

from __future__ import annotations

import msgspec

from app.errors import TooLarge

MAX_VALUES = 20_000
"""Maximum number of values of a request, apart from its script; benign ones have a few thousand at most."""


class _ScriptObject(msgspec.Struct):
    """An object with a script, which may contain any number of commas."""

    script: msgspec.Raw = msgspec.Raw(b"")


class _Outline(_ScriptObject):
    """A workspace, or an object with one; decoding skips everything else."""

    workspace: _ScriptObject = msgspec.field(default_factory=_ScriptObject)


_outline = msgspec.json.Decoder(_Outline)


def check_values(text: bytes) -> None:
    """Reject JSON with too many values, by counting commas: encoded files contain none, and names few.

    Parameters
    ----------
    text : bytes
        JSON from a client.

    Raises
    ------
    TooLarge
        If there are more than :data:`MAX_VALUES`.
    msgspec.MsgspecError, RecursionError
        If it is not a JSON object.
    """
    if text.count(b",") <= MAX_VALUES:
        return
    outline = _outline.decode(text)
    scripts = bytes(outline.script).count(b",") + bytes(outline.workspace.script).count(b",")
    count = text.count(b",") - scripts
    if count > MAX_VALUES:
        raise TooLarge(f"the request holds about {count:,} values", expected=f"at most {MAX_VALUES:,}")
