"""Analyses of graphs: ``relay.analysis``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.relay.analysis.effects import Effects
from compiler.relay.analysis.kinds import all_type_vars, bound_type_vars, check_kind, free_type_vars, type_parts
from compiler.relay.analysis.matching import unmatched_cases
from compiler.relay.analysis.memory_traffic import MemoryTraffic, memory_traffic
from compiler.relay.analysis.op_frequencies import list_fake_quantized_op_freqs, list_op_freqs
from compiler.relay.analysis.scopes import check_basic_block_normal_form
from compiler.relay.analysis.traversal import bottom_up, operands, post_order, post_order_visit, with_operands
from compiler.relay.analysis.variables import all_vars, bound_vars, free_vars
from compiler.relay.analysis.well_formed import well_formed

__all__ = [
    "Effects", "MemoryTraffic", "all_type_vars", "all_vars", "bottom_up", "bound_type_vars", "bound_vars",
    "check_basic_block_normal_form", "check_kind", "free_type_vars", "free_vars", "list_fake_quantized_op_freqs",
    "list_op_freqs", "memory_traffic", "operands", "post_order", "post_order_visit", "type_parts", "unmatched_cases",
    "well_formed", "with_operands",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.relay.analysis", __all__)
