"""What can be read off a graph: ``relay.analysis``."""

from compiler.relay.analysis.effects import Effects
from compiler.relay.analysis.kinds import (
    TypeKind,
    all_type_vars,
    bound_type_vars,
    check_kind,
    free_type_vars,
    type_parts,
)
from compiler.relay.analysis.matching import unmatched_cases
from compiler.relay.analysis.memory_traffic import MemoryTraffic, count_ops, memory_traffic
from compiler.relay.analysis.scopes import check_basic_block_normal_form
from compiler.relay.analysis.traversal import bottom_up, operands, post_order, post_order_visit, with_operands
from compiler.relay.analysis.variables import all_vars, bound_vars, free_vars
from compiler.relay.analysis.well_formed import well_formed

__all__ = [
    "Effects",
    "MemoryTraffic",
    "TypeKind",
    "all_type_vars",
    "all_vars",
    "bottom_up",
    "bound_type_vars",
    "bound_vars",
    "check_basic_block_normal_form",
    "check_kind",
    "count_ops",
    "free_type_vars",
    "free_vars",
    "memory_traffic",
    "operands",
    "post_order",
    "post_order_visit",
    "type_parts",
    "unmatched_cases",
    "well_formed",
    "with_operands",
]
