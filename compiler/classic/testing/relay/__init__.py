"""Helpers for tests of graphs, and small models, under TVM's names: ``tvm.relay.testing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package

_HOMES = {
    "compiler.classic.relay.prelude": ("Prelude",),
    "compiler.relay.transform.derivatives.gradient": ("gradient",),
    "compiler.classic.testing.relay.checks": ("check_grad",),
    "compiler.classic.testing.relay.init": ("create_workload",),
    "compiler.classic.testing.relay.nat": ("count", "make_nat_expr", "make_nat_value"),
    "compiler.classic.testing.relay.passes": ("count_ops", "run_infer_type", "run_opt_pass"),
    "compiler.classic.testing.relay.py_converter": ("run_as_python", "to_python"),
    "compiler.classic.testing.relay.values": ("_np_randn_from_type", "rand"),
    "compiler.classic.testing.targets": ("enabled_targets",),
}  # fmt: skip
_NAMES = """
    byoc dcgan densenet dqn inception_v3 init layers lstm mlp mobilenet nat py_converter resnet
    squeezenet synthetic temp_op_attr vgg
"""
_MODULES = [f"{__name__}.{name}" for name in _NAMES.split()]

__all__ = [name for names in _HOMES.values() for name in names if not name.startswith("_")]
__all__ += [module.rpartition(".")[2] for module in _MODULES]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_package("tvm.relay.testing", _HOMES, _MODULES)
