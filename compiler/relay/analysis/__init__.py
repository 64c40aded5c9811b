"""Analyses of graphs: ``relay.analysis``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.relay.analysis.annotated_regions import AnnotatedRegionSet
from compiler.relay.analysis.call_graph import CallGraph
from compiler.relay.analysis.effects import Effects
from compiler.relay.analysis.extraction import all_dtypes, check_constant, extract_intermdeiate_expr
from compiler.relay.analysis.feature import Feature, detect_feature
from compiler.relay.analysis.kinds import (
    all_type_vars,
    bound_type_vars,
    check_kind,
    free_type_vars,
    type_parts,
)
from compiler.relay.analysis.layers import LayerCounter, count_layers, search_fc_transpose
from compiler.relay.analysis.mac_count import get_total_mac_number
from compiler.relay.analysis.matching import unmatched_cases
from compiler.relay.analysis.memory_traffic import MemoryTraffic, memory_traffic
from compiler.relay.analysis.op_frequencies import list_fake_quantized_op_freqs, list_op_freqs
from compiler.relay.analysis.scopes import check_basic_block_normal_form
from compiler.relay.analysis.traversal import bottom_up, operands, post_order, post_order_visit, with_operands
from compiler.relay.analysis.variables import all_vars, bound_vars, free_vars
from compiler.relay.analysis.well_formed import well_formed

__all__ = [
    "AnnotatedRegionSet",
    "CallGraph",
    "Effects",
    "Feature",
    "LayerCounter",
    "MemoryTraffic",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "bottom_up",
    "bound_type_vars",
    "bound_vars",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_intermdeiate_expr",
    "free_type_vars",
    "free_vars",
    "get_total_mac_number",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "memory_traffic",
    "operands",
    "post_order",
    "post_order_visit",
    "search_fc_transpose",
    "type_parts",
    "unmatched_cases",
    "well_formed",
    "with_operands",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.relay.analysis", __all__)
