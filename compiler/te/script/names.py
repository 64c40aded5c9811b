"""Valid, unique Python names for tensors, axes and stages."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from compiler.ir.names import take_name
from compiler.ir.node import Node


class Names:
    """Gives things names that are identifiers, and differ."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._names: dict[Node, str] = {}

    def __contains__(self, value: Node) -> bool:
        return value in self._names

    def __getitem__(self, value: Node) -> str:
        return self._names[value]

    def call(self, value: Node, text: str) -> None:
        """Say how the script calls a thing that is not a variable of Python, such as ``x[0]``."""
        self._names[value] = text

    def scope(self) -> Names:
        """Return names for the body of a function, where those of the script mean what they mean outside."""
        inner = Names(self._taken)
        inner._names = dict(self._names)
        return inner

    def new(self, hint: str) -> str:
        """Take a name that nothing has."""
        base = re.sub(r"\W+", "_", hint) or "value"
        base = f"_{base}" if base[0].isdigit() else f"{base}_" if keyword.iskeyword(base) else base
        return take_name(base, self._taken)

    def give(self, value: Node, hint: str) -> str:
        """Name a thing."""
        name = self._names[value] = self.new(hint)
        return name
