"""A few example calls of every operator, a file for each family."""

from tests.compiler.relay.op.example import Example
from tests.compiler.relay.op.examples import (
    boxes,
    elements,
    layers,
    order,
    places,
    quantized,
    random_numbers,
    shapes,
    signals,
    sparse,
    transformed,
)

_FAMILIES = (elements, shapes, places, order, layers, quantized, boxes, sparse, signals, transformed, random_numbers)

EXAMPLES: dict[str, list[Example]] = {name: found for family in _FAMILIES for name, found in family.EXAMPLES.items()}
"""By the operator's name."""
