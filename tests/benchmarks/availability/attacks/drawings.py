"""Graphs that a script forges, to be laid out by the server."""

from __future__ import annotations

from typing import get_args

import msgspec

from app.graphs.folding import Folding
from app.protocol import Snapshot
from tests.benchmarks.availability.attack import Attack, Attacker
from tests.benchmarks.availability.forging import forge, forged_here
from tests.benchmarks.serving.client import form

PARALLEL_EDGES = """
nodes = [GraphNode(key=str(n), label="x" * 30) for n in range(12)]
edges = [GraphEdge(0, 11, f"({n},) float32") for n in range(11_000)]
"""
GROUPS = """
nodes = [GraphNode(key=str(n), label="x" * 30, group=f"g{n % 2_000}") for n in range(4_000)]
edges = [GraphEdge(n, n + 1) for n in range(3_999)]
"""
LAYERS = """
nodes = [GraphNode(key=str(n), label="y" * 30) for n in range(4_000)]
edges = [GraphEdge(n, n + 1) for n in range(3_999)] + [GraphEdge(n, 3_999 - n) for n in range(2_000)] * 8
edges = edges[:20_000]
"""
_SEND = """
made = Drawing(key="", name=f"main {number}", nodes=nodes, edges=edges)
made = msgspec.structs.replace(made, key=drawing_key(made))
send(Snapshot(answer=answer(drawings=[made])))
"""


def drawing_keys(message: bytes) -> list[str]:
    """Return the keys of the drawings in a snapshot."""
    return list(msgspec.json.decode(message, type=Snapshot).answer.drawings)


def forged_drawing(attacker: Attacker, body: str, patience: float | None) -> None:
    """Compile a script that forges a drawing, and ask for the drawing folded and unfolded."""
    fields, headers = form({"script": forge(body), "options": "{}", "tab": "drawing", "seq": "1"})
    attacker.send("POST", "/panes", fields, headers)
    key = drawing_keys(forged_here(body)[0])[0]
    folds = get_args(Folding)
    attacker.swarm(6, lambda number: attacker.send("GET", f"/graph/{key}?fold={folds[number % 3]}", patience=patience))


ATTACKS = (
    Attack("D4", "11,000 parallel edges", lambda a: forged_drawing(a, PARALLEL_EDGES + _SEND, None)),
    Attack("D4", "4,000 nodes in 2,000 groups", lambda a: forged_drawing(a, GROUPS + _SEND, None)),
    Attack("D4", "20,000 edges over 4,000 layers", lambda a: forged_drawing(a, LAYERS + _SEND, None)),
    Attack("D4", "drawings asked for and left at once", lambda a: forged_drawing(a, GROUPS + _SEND, 0.3)),
)
