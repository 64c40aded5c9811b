"""A few example calls of every operator, a file for each family."""

from tests.compiler.relay.op.example import Example
from tests.compiler.relay.op.examples import elements, order, places, shapes

EXAMPLES: dict[str, list[Example]] = {**elements.EXAMPLES, **shapes.EXAMPLES, **places.EXAMPLES, **order.EXAMPLES}
"""By the operator's name."""
