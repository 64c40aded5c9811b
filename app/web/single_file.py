"""Inlining of styles and scripts into a self-contained page, with its content security policy."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

SHEETS = ("tokens", "frame", "controls", "code", "panes", "graph")
"""Style sheets of the page to include, in order."""
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_FONT = re.compile(r"url\(\.\./(vendor/fonts/[\w.-]+)\)")


@dataclass(frozen=True)
class SingleFile:
    """The styles and scripts of a self-contained page."""

    style: str
    script: str

    @classmethod
    def of(cls, static: Path) -> SingleFile:
        """Read the style sheets and modules of a folder, inlining fonts."""
        sheets = [*(static / f"css/{name}.css" for name in SHEETS), static / "offline/offline.css"]
        style = "\n".join(path.read_text(encoding="utf-8") for path in sheets)
        modules = (static / "js/links.js", static / "js/arrangement.js", static / "offline/offline.js")
        return cls(
            style=_FONT.sub(lambda match: f"url({_data_url(static / match[1])})", style),
            script="\n".join(_IMPORT.sub("", path.read_text()) for path in modules),
        )

    @property
    def policy(self) -> str:
        """The Content-Security-Policy, which allows only this script, and loads nothing."""
        return (
            f"default-src 'none'; script-src {_hash(self.script)}; style-src {_hash(self.style)}; "
            "font-src data:; base-uri 'none'; form-action 'none'"
        )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _data_url(path: Path) -> str:
    return f"data:font/woff2;base64,{b64encode(path.read_bytes()).decode()}"
