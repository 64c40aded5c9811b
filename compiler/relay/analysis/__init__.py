"""What can be read off a graph: ``relay.analysis``."""

from compiler.relay.analysis.matching import unmatched_cases
from compiler.relay.analysis.traversal import operands, post_order_visit
from compiler.relay.analysis.variables import all_vars, bound_vars, free_vars

__all__ = [
    "all_vars",
    "bound_vars",
    "free_vars",
    "operands",
    "post_order_visit",
    "unmatched_cases",
]
