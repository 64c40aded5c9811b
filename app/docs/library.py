"""The table of the pages, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from app.docs.page import Page, read_page

PAGES = (
    ("start", "README.md", "What Strata is, how to start it, five things to try"),
    ("explorer", "app/GUIDE.md", "What the page can do, sharing, lessons and classes, the HTTP API"),
    ("shell", "app/shell/README.md", "What the page does, as commands"),
    ("compiler", "compiler/GUIDE.md", "Programs, tvmc, tuning and profiling from the command line"),
    ("models", "compiler/relay/frontend/README.md", "Which operators of which formats can be imported"),
    ("gpus", "compiler/target/README.md", "What is generated for GPUs, and how each language is checked"),
    ("server", "app/deployment/README.md", "Settings, several servers, a cluster, data and backups"),
    ("security", "app/sandbox/README.md", "How untrusted scripts are isolated"),
    ("privacy", "app/PRIVACY.md", "What is stored about visitors, where and for how long"),
    ("accessibility", "app/ACCESSIBILITY.md", "What works without a mouse or without seeing, and what does not yet"),
    ("measurements", "tests/benchmarks/README.md", "Speed, and behaviour under attack"),
    ("agreement", "tests/outside/README.md", "Random programs run here and on classic TVM"),
    ("inside-the-compiler", "compiler/README.md", "One line of source on its way, and how to add to each part"),
    ("inside-the-explorer", "app/README.md", "One edit on its way, and how to add a pane, a lesson, a route"),
    ("changes", "compiler/CHANGES.md", "What is new"),
    ("contributing", "compiler/CONTRIBUTING.md", "How we work"),
)
"""Name in the address, file, and what the page answers, in the order in which they are listed."""
ROOT = Path(__file__).resolve().parents[2]


class Library:
    """The pages whose files are installed; tests, and what stands beside them, may not be.

    Parameters
    ----------
    static
        From the path of an image below ``static/`` to its address.
    root
        The project.
    """

    def __init__(self, static: Callable[[str], str], root: Path = ROOT) -> None:
        self._static = static
        self._root = root

    @cached_property
    def pages(self) -> dict[str, Page]:
        """The pages by name."""
        return {page.name: page for page in self._read()}

    def _read(self) -> Iterator[Page]:
        there = [(name, path, summary) for name, path, summary in PAGES if (self._root / path).is_file()]
        addresses = {path: f"/docs/{name}" for name, path, _ in there}
        for name, path, summary in there:
            yield read_page(name, path, summary, (self._root / path).read_text("utf-8"), addresses, self._static)
