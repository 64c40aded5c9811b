"""Scripts in frames, and the cell magic ``%%strata``: a running server compiles."""

from __future__ import annotations

import argparse
import html
import json
import os
import shlex
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from app.artifacts import Measurement, Workspace
from app.notebook import drawings
from app.protocol import Failed, Measured
from app.shell.commands import measured_events
from app.shell.explorer import Server
from app.shell.failures import Failure, Unreachable
from app.shell.programs import assembly_of
from app.shell.shown import measurement_line

SERVER = "http://127.0.0.1:8000"
"""Default address of ``strata serve``; overridden by ``STRATA_SERVER``."""
TIMEOUT_SECONDS = 30.0


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
    ValueError
        If the server rejects the script or the options; the message is the server's.
    """
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
    options = {name: value for name in ("target", "threads", "device") if (value := getattr(given, name))}
    if given.target:
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
    workspace = msgspec.convert({"script": cell, "options": options}, Workspace)
    try:
        events = list(measured_events(Server(address), "/api/ladders", workspace))
    except Unreachable as error:
        raise ConnectionError(str(error)) from None
    except Failure as error:
        raise ValueError(str(error)) from None
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


def _post(address: str, path: str, body: object) -> Any:
    """Return the JSON that a server answers."""
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise ValueError(f"show: {_reason(error)}") from None
    except urllib.error.URLError as error:
        raise ConnectionError(
            f"show: no server answers at {address} ({error.reason}); `strata serve` starts one"
        ) from None


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the error message of a server's response."""
    try:
        answer = json.load(error)["error"]
    except (ValueError, KeyError, TypeError):
        return f"the server answers with status {error.code}"
    expected = f", expected {answer['expected']}" if answer.get("expected") else ""
    field = f" ({answer['field']})" if answer.get("field") else ""
    return f"{answer['message']}{field}{expected}"
