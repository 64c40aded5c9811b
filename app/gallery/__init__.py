"""The gallery: example scripts with a title and a description in their docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

_NAME = re.compile(r"\d+_(\w+)")
_ATTRIBUTE = re.compile(r"(?<=\.)[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Example:
    """A script of the gallery."""

    name: str
    """The stable name in URLs, ``matmul-packed``."""
    title: str
    words: str
    """The description: the paragraph after the title, as plain text."""
    script: str
    """The whole file, including its docstring."""
    topic: str = ""
    """The heading that it stands under."""
    ladder: str = ""
    """A finished ladder as JSON, with the date: measured elsewhere when the example was written; empty for none."""


class Gallery:
    """The examples in their order.

    Parameters
    ----------
    examples : list of Example
        The first one is shown initially.
    """

    def __init__(self, examples: list[Example]) -> None:
        self.examples = examples
        self._by_name = {example.name: example for example in examples}

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)

    @cached_property
    def uses(self) -> Counter[str]:
        """The number of examples that use each attribute name."""
        return Counter(name for example in self for name in set(_ATTRIBUTE.findall(example.script)))

    @property
    def topics(self) -> dict[str, list[Example]]:
        """The examples by heading, each in its order."""
        topics: dict[str, list[Example]] = {}
        for example in self.examples:
            topics.setdefault(example.topic, []).append(example)
        return topics

    @property
    def first(self) -> Example:
        """The example that is shown initially."""
        return self.examples[0]

    def find(self, name: str) -> Example | None:
        """Look up an example by name."""
        return self._by_name.get(name)

    def ladder_of(self, script: str) -> str:
        """Return the stored ladder of the example that a script is, unchanged; empty if there is none."""
        return next((example.ladder for example in self if example.script == script), "")


def read_example(path: Path) -> Example:
    """Read one script.

    Raises
    ------
    ValueError
        If the name or the docstring of the file is malformed.
    """
    match = _NAME.fullmatch(path.stem)
    if match is None:
        raise ValueError(f"gallery: {path.name} must be named <number>_<words>.py")
    script = path.read_text(encoding="utf-8")
    title, words, *_ = [*inspect.cleandoc(ast.get_docstring(ast.parse(script)) or "").split("\n\n"), ""]
    if not title or not words:
        raise ValueError(f"gallery: {path.name} must begin with a docstring: a title, an empty line, a few words")
    ladder = path.with_suffix(".ladder.json")
    return Example(
        name=match[1].replace("_", "-"),
        title=title,
        words=" ".join(words.replace("`", "").split()),
        script=script,
        topic=topic_of(script),
        ladder=ladder.read_text(encoding="utf-8") if ladder.exists() else "",
    )


_TOPICS = (
    (re.compile(r"threadIdx|\bcuda\b"), "GPU"),
    (re.compile(r"frontend\.|from_onnx"), "Models"),
    (re.compile(r"\brelay\b"), "Graphs"),
    (re.compile(r"tvm\.script|tir\.Schedule"), "TensorIR"),
)
"""What a script uses, and the heading that it stands under for that; the first that holds."""


def topic_of(script: str) -> str:
    """Return the heading that an example stands under."""
    return next((topic for uses, topic in _TOPICS if uses.search(script)), "Loops on a CPU")


@cache
def load_gallery(folder: Path = Path(__file__).parent) -> Gallery:
    """Read all scripts of a folder, ordered by number; those of one folder once."""
    return Gallery([read_example(path) for path in sorted(folder.glob("[0-9]*.py"))])
