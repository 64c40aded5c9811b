"""Notebook support: shows a script's compilation by a running server in a frame.

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

__all__ = ["Shown", "show"]

SERVER = "http://127.0.0.1:8000"
"""Where ``python -m app`` listens; ``STRATA_SERVER`` names another."""
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Shown:
    """A script that a server shows; notebooks display it as a frame.

    Attributes
    ----------
    url : str
        Permalink of the script.
    height : int
        Of the frame, in pixels.
    """

    url: str
    height: int

    def _repr_html_(self) -> str:
        """Return what a notebook displays."""
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
) -> Shown:
    """Show a script with its loops, LLVM IR and assembly.

    Parameters
    ----------
    script : str
        Python that says ``import tvm``.
    server : str, optional
        Address of a running server; by default that of ``STRATA_SERVER``, else ``http://127.0.0.1:8000``.
    height : int
        Of the frame, in pixels.
    options : dict, optional
        How it is compiled, e.g. ``{"target": "llvm -mcpu=haswell", "threads": 2}``.
    view : dict, optional
        What is shown of it, e.g. ``{"closed": "llvm console"}``.

    Returns
    -------
    Shown
        Displayed by notebooks as a frame, with its permalink in ``url``.

    Raises
    ------
    ConnectionError
        If no server answers there.
    ValueError
        If the server refuses the script or the options; the message is the server's.
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
    return Shown(f"{address}/z/{link}", height)


def _reason(error: urllib.error.HTTPError) -> str:
    """Return what the server says is wrong."""
    try:
        told = json.load(error)["error"]
    except (ValueError, KeyError, TypeError):
        return f"the server answers with status {error.code}"
    expected = f", expected {told['expected']}" if told.get("expected") else ""
    field = f" ({told['field']})" if told.get("field") else ""
    return f"{told['message']}{field}{expected}"
