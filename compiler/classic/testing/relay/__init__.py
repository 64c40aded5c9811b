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
}
_MODULES = (
    "compiler.classic.testing.relay.byoc",
    "compiler.classic.testing.relay.dcgan",
    "compiler.classic.testing.relay.densenet",
    "compiler.classic.testing.relay.dqn",
    "compiler.classic.testing.relay.inception_v3",
    "compiler.classic.testing.relay.init",
    "compiler.classic.testing.relay.layers",
    "compiler.classic.testing.relay.lstm",
    "compiler.classic.testing.relay.mlp",
    "compiler.classic.testing.relay.mobilenet",
    "compiler.classic.testing.relay.nat",
    "compiler.classic.testing.relay.py_converter",
    "compiler.classic.testing.relay.resnet",
    "compiler.classic.testing.relay.resnet_3d",
    "compiler.classic.testing.relay.squeezenet",
    "compiler.classic.testing.relay.synthetic",
    "compiler.classic.testing.relay.temp_op_attr",
    "compiler.classic.testing.relay.tf",
    "compiler.classic.testing.relay.vgg",
)

__all__ = [name for names in _HOMES.values() for name in names if not name.startswith("_")]
__all__ += [module.rpartition(".")[2] for module in _MODULES]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_package("tvm.relay.testing", _HOMES, _MODULES)
