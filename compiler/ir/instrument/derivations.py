"""The log of individual rewrites made by mutators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.ir.instrument.interface import Instrument

if TYPE_CHECKING:
    from compiler.ir.node import Node


@dataclass(frozen=True, slots=True)
class Derivation:
    """One rewrite.  Keeps the facts that ``x * 1 -> x`` would otherwise lose."""

    before: Node
    after: object


@dataclass(slots=True)
class DerivationLog(Instrument):
    """Collects the rewrites that mutators make while it is active, in their order."""

    entries: list[Derivation] = field(default_factory=list)

    def node_rewritten(self, before: Node, after: object) -> None:
        self.entries.append(Derivation(before, after))
