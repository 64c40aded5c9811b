"""What can be read off a graph: ``relay.analysis``."""

from compiler.relay.analysis.kinds import (
    TypeKind,
    all_type_vars,
    bound_type_vars,
    check_kind,
    free_type_vars,
    type_parts,
)
from compiler.relay.analysis.matching import unmatched_cases
from compiler.relay.analysis.traversal import operands, post_order_visit
from compiler.relay.analysis.variables import all_vars, bound_vars, free_vars
from compiler.relay.analysis.well_formed import well_formed

__all__ = [
    "TypeKind",
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "check_kind",
    "free_type_vars",
    "free_vars",
    "operands",
    "post_order_visit",
    "type_parts",
    "unmatched_cases",
    "well_formed",
]
