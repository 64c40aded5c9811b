"""Helpers for tests of graphs, and small models, under TVM's names: ``tvm.relay.testing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package

_HOMES = {
    "compiler.relay.prelude": ("Prelude",),
    "compiler.relay.transform.gradient": ("gradient",),
    "compiler.testing.relay.checks": ("check_grad",),
    "compiler.testing.relay.init": ("create_workload",),
    "compiler.testing.relay.nat": ("count", "make_nat_expr", "make_nat_value"),
    "compiler.testing.relay.passes": ("count_ops", "run_infer_type", "run_opt_pass"),
    "compiler.testing.relay.py_converter": ("run_as_python", "to_python"),
    "compiler.testing.relay.values": ("_np_randn_from_type", "rand"),
    "compiler.testing.targets": ("enabled_targets",),
}
_MODULES = (
    "compiler.testing.relay.byoc",
    "compiler.testing.relay.dcgan",
    "compiler.testing.relay.densenet",
    "compiler.testing.relay.dqn",
    "compiler.testing.relay.inception_v3",
    "compiler.testing.relay.init",
    "compiler.testing.relay.layers",
    "compiler.testing.relay.lstm",
    "compiler.testing.relay.mlp",
    "compiler.testing.relay.mobilenet",
    "compiler.testing.relay.nat",
    "compiler.testing.relay.py_converter",
    "compiler.testing.relay.resnet",
    "compiler.testing.relay.resnet_3d",
    "compiler.testing.relay.squeezenet",
    "compiler.testing.relay.synthetic",
    "compiler.testing.relay.temp_op_attr",
    "compiler.testing.relay.tf",
    "compiler.testing.relay.vgg",
)

__all__ = [name for names in _HOMES.values() for name in names if not name.startswith("_")]
__all__ += [module.rpartition(".")[2] for module in _MODULES]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_package("tvm.relay.testing", _HOMES, _MODULES)
