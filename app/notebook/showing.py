"""Scripts in frames, and the cell magic ``%%strata``: a running server compiles."""

from __future__ import annotations

import argparse
import html
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from app.artifacts import Measurement, Workspace
from app.notebook import drawings
from app.protocol import Failed, Measured
from app.shell.commands import measured_events
from app.shell.explorer import Server, ask
from app.shell.failures import Failure, Unreachable
from app.shell.programs import assembly_of
from app.shell.shown import measurement_line

SERVER = "http://127.0.0.1:8000"
"""Default address of ``strata serve``; overridden by ``STRATA_SERVER``."""


@dataclass(frozen=True)
class ShownScript:
    """A script shown by a server, which notebooks display as a frame.

    Attributes
    ----------
    url : str
        Permalink of the script.
    height : int
        Height of the frame in pixels.
    """

    url: str
    height: int

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks."""
        source = html.escape(f"{self.url}?view=embed")
        return (
            f'<iframe src="{source}" width="100%" height="{self.height}" style="border: 0" title="Strata"></iframe>'
            f'<p><a href="{html.escape(self.url)}" target="_blank" rel="noopener">Open in Strata</a></p>'
        )


def show(
    script: str,
    *,
    server: str | None = None,
    height: int = 640,
    options: dict[str, object] | None = None,
    view: dict[str, str | int] | None = None,
) -> ShownScript:
    """Show a script with its loops, LLVM IR and assembly.

    Parameters
    ----------
    script : str
        Python code that imports ``tvm``.
    server : str, optional
        Address of a running server; by default that of ``STRATA_SERVER``, else ``http://127.0.0.1:8000``.
    height : int
        Height of the frame in pixels.
    options : dict, optional
        Options for compiling, e.g. ``{"target": "llvm -mcpu=haswell", "threads": 2}``.
    view : dict, optional
        Selection of what is shown, e.g. ``{"closed": "llvm console"}``.

    Returns
    -------
    ShownScript
        An object that notebooks display as a frame; ``url`` is the permalink.

    Raises
    ------
    ConnectionError
        If the server does not respond.
    TypeError
        If the script is no string.
    ValueError
        If the server rejects the script or the options; the message is the server's.
    """
    if not isinstance(script, str):
        raise TypeError(f"show: expected the text of a script, got {type(script).__name__}")
    state = {"workspace": {"script": script, "options": options or {}}, "view": view or {}}
    address = _address(server)
    return ShownScript(f"{address}/z/{_post(address, '/api/links', state)['id']}", height)


@dataclass(frozen=True)
class MeasuredLadder:
    """The times of a schedule step by step, which notebooks display as a table with bars."""

    measurements: Sequence[Measurement]

    def __repr__(self) -> str:
        return "\n".join(measurement_line(measured) for measured in self.measurements)

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks."""
        return drawings.ladder(self.measurements)


def strata(line: str, cell: str) -> ShownScript | MeasuredLadder | None:
    """Show a cell, print a text of what it compiles to, or measure it step by step.

    Its options are those of the command ``strata compile``.

    Raises
    ------
    ConnectionError
        If the server does not respond.
    ValueError
        If an option is unknown, or the server rejects the cell.
    """
    given = _options().parse_args(shlex.split(line))
    chosen = {name: getattr(given, name) for name in ("target", "threads", "device")}
    options = {name: value for name, value in chosen.items() if value not in ("", None)}
    if given.target:
        with _told():
            options["assembly"] = assembly_of(given.target)
    if given.ladder:
        return _ladder(cell, given.server, options)
    if not given.emit:
        return show(cell, server=given.server, height=given.height, options=options)
    text = {"pane": given.emit, "function": given.function, "step": given.step}
    told = _post(_address(given.server), "/api/text", {"script": cell, "options": options, "text": text})
    for problem in told["problems"]:
        print(f"cell:{problem['line'] or ''}: {problem['severity']}: {problem['kind']}: {problem['message']}")
    print(told["text"], end="")
    return None


def _ladder(cell: str, server: str | None, options: dict[str, object]) -> MeasuredLadder:
    address = _address(server)
    with _told():
        workspace = msgspec.convert({"script": cell, "options": options}, Workspace)
        events = list(measured_events(Server(address), "/api/ladders", workspace))
    for event in events:
        if isinstance(event, Failed):
            print(f"{event.label}: {event.problem.kind}: {event.problem.message}")
    return MeasuredLadder([event.measurement for event in events if isinstance(event, Measured)])


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise instead of ending the notebook's kernel."""
        raise ValueError(f"%%strata: {message}; {self.format_usage().strip()}")


def _options() -> argparse.ArgumentParser:
    out = _Parser(prog="strata", add_help=False, allow_abbrev=False)
    out.add_argument("--server", help="address of a running server")
    out.add_argument("--target", default="")
    out.add_argument("--threads", type=int)
    out.add_argument("--device", default="")
    out.add_argument("--height", type=int, default=640, help="pixels")
    out.add_argument("--ladder", action="store_true", help="measure the prefixes of the schedule instead")
    out.add_argument("--emit", default="", help="print this text instead: loops, llvm, asm, graph, …")
    out.add_argument("--function", default="")
    out.add_argument("--pass", dest="step", default="")
    return out


def _address(server: str | None) -> str:
    address = (server or os.environ.get("STRATA_SERVER") or SERVER).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"show: expected the address of a server, as in {SERVER}, got {address!r}")
    return address


def _post(address: str, path: str, body: dict[str, Any]) -> Any:
    """Return the JSON that a server answers."""
    with _told():
        return ask(Server(address), path, body, dict)


@contextmanager
def _told() -> Iterator[None]:
    """Raise what keeps a server from answering as Python's own exceptions, which notebooks name."""
    try:
        yield
    except Unreachable as error:
        raise ConnectionError(f"show: {error}") from None
    except (Failure, msgspec.ValidationError) as error:
        raise ValueError(f"show: {error}") from None
