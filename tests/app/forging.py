"""Answers as a hostile child may forge them: right by type, wrong in value; made from the types themselves."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from app.artifacts import Answer, Drawing, GraphEdge, Listing, drawing_key, listing_key
from app.panes import table
from app.protocol import Event, Snapshot

INTEGERS = (0, 1, -1, 2, 40, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-300, 1e300, 1.7e308, -1.7e308, 2.0**63)
TEXTS = (
    "",
    " ",
    "x",
    "\0",
    "\n",
    "<script>alert(1)</script>",
    "</textarea>",
    "{{ 7 * 7 }}",
    "%s%n",
    "\u202e",
    "🙂",
    "a" * 300,
)
GROUPS = tuple(sorted({pane.group for pane in table.PANES if pane.group}))
SMALL = 2
"""Elements of the longest list."""


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Return the values of a type."""
    match kind:
        case inspect.Metadata():
            return values(kind.type)
        case inspect.IntType():
            fits = [i for i in INTEGERS if (kind.ge is None or i >= kind.ge) and (kind.le is None or i <= kind.le)]
            return st.sampled_from(fits)
        case inspect.FloatType():
            return st.sampled_from(FLOATS)
        case inspect.StrType():
            return st.sampled_from(GROUPS if kind.pattern else TEXTS)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.UnionType():
            return st.one_of([values(one) for one in kind.types])
        case inspect.ListType():
            return st.lists(values(kind.item_type), max_size=SMALL)
        case inspect.TupleType():
            return st.tuples(*[values(one) for one in kind.item_types])
        case inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=SMALL)
        case inspect.StructType():
            fields = {field.name: values(field.type) for field in kind.fields}
            return st.builds(kind.cls, **fields)
    raise NotImplementedError(f"no values of {kind}")


def _sound(drawing: Drawing) -> Drawing:
    """Return a drawing whose edges lead forwards, and whose key is its own: others are refused at once."""
    last = len(drawing.nodes) - 1
    edges = [GraphEdge(0, last, edge.type) for edge in drawing.edges if last > 0]
    drawing = msgspec.structs.replace(drawing, edges=edges)
    return msgspec.structs.replace(drawing, key=drawing_key(drawing))


def _keyed(listing: Listing) -> Listing:
    return msgspec.structs.replace(listing, key=listing_key(listing))


def _consistent(answer: Answer) -> Answer:
    """Return an answer whose texts and drawings are what their keys say, and are shown by its steps."""
    listings = [_keyed(listing) for listing in answer.listings.values()]
    drawings = [_sound(drawing) for drawing in answer.drawings.values()]
    texts = [listing.key for listing in listings] or [None]
    graphs = [drawing.key for drawing in drawings] or [None]
    units = [
        msgspec.structs.replace(
            unit,
            steps=[
                msgspec.structs.replace(step, listing=texts[n % len(texts)], drawing=graphs[n % len(graphs)])
                for n, step in enumerate(unit.steps)
            ],
        )
        for unit in answer.units
    ]
    return msgspec.structs.replace(
        answer,
        units=units,
        listings={listing.key: listing for listing in listings},
        drawings={drawing.key: drawing for drawing in drawings},
    )


def answers() -> st.SearchStrategy[Answer]:
    """Return forged answers that pass the checks at the door."""
    return values(inspect.type_info(Answer)).map(_consistent)


def snapshots() -> st.SearchStrategy[Snapshot]:
    """Return the last messages of a child."""
    return st.builds(Snapshot, answer=answers(), running_line=st.none())


def events() -> st.SearchStrategy[Event]:
    """Return messages of a ladder."""
    return values(inspect.type_info(Event))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Return a forged message with some of its bytes changed."""
    message = bytearray(msgspec.json.encode(draw(snapshots())))
    for _ in range(draw(st.integers(1, 4))):
        message[draw(st.integers(0, len(message) - 1))] = draw(st.integers(0, 255))
    return bytes(message)
