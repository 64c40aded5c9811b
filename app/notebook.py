"""Notebook support: shows a script in a frame, compiled by a running server.

>>> from app import notebook as strata
>>> strata.show(open("matmul.py").read())                       # doctest: +SKIP
"""

from __future__ import annotations

import html
import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass

__all__ = ["ShownScript", "show"]

SERVER = "http://127.0.0.1:8000"
"""Default address of ``python -m app``; overridden by ``STRATA_SERVER``."""
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
    address = (server or os.environ.get("STRATA_SERVER") or SERVER).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise ValueError(f"show: expected the address of a server, as in {SERVER}, got {address!r}")
    state = {"workspace": {"script": script, "options": options or {}}, "view": view or {}}
    request = urllib.request.Request(
        f"{address}/api/links", json.dumps(state).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            link = json.load(response)["id"]
    except urllib.error.HTTPError as error:
        raise ValueError(f"show: {_reason(error)}") from None
    except urllib.error.URLError as error:
        raise ConnectionError(
            f"show: no server answers at {address} ({error.reason}); start one: python -m app"
        ) from None
    return ShownScript(f"{address}/z/{link}", height)


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the error message of a server's response."""
    try:
        answer = json.load(error)["error"]
    except (ValueError, KeyError, TypeError):
        return f"the server answers with status {error.code}"
    expected = f", expected {answer['expected']}" if answer.get("expected") else ""
    field = f" ({answer['field']})" if answer.get("field") else ""
    return f"{answer['message']}{field}{expected}"
