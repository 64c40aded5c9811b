"""``tvmc.compile``: compiles a model to a package."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.classic.tvmc.errors import TVMCException
from compiler.classic.tvmc.model import TVMCModel, TVMCPackage
from compiler.classic.tvmc.pass_config import parse_configs
from compiler.classic.tvmc.target import target_from_cli
from compiler.classic.tvmc.transform import GRAPH_OPTIONS, apply_graph_transforms
from compiler.classic.tvmc.tuning_records import apply_tuning_records
from compiler.driver.relay import vm
from compiler.driver.relay.build import TargetLike, build
from compiler.ir.instrument import PassInstrument
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext

DUMPS = {"relay": "relay", "ll": "ll", "asm": "asm", "s": "asm"}
"""The formats that ``dump_code`` writes, by file extension."""


def compile_model(
    tvmc_model: TVMCModel,
    target: TargetLike = "llvm",
    opt_level: int = 3,
    executor: object = None,
    runtime: object = None,
    tuning_records: str | None = None,
    package_path: str | os.PathLike[str] | None = None,
    cross: str | Callable[..., object] | None = None,
    cross_options: str | None = None,
    output_format: str = "so",
    dump_code: str | Sequence[str] | None = None,
    target_host: str | None = None,
    disabled_pass: str | Sequence[str] | None = None,
    pass_context_configs: Mapping[str, Any] | Sequence[str] | None = None,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    use_vm: bool = False,
    mod_name: str = "default",
    instruments: Sequence[PassInstrument] | None = None,
    **options: object,
) -> TVMCPackage:
    """Compile a model and write it to a package.

    Parameters
    ----------
    tuning_records : str, optional
        A file of tuning records, as ``tvmc.tune`` writes it, whose best schedules are applied.
    cross : str or callable, optional
        The compiler that links the library, with ``cross_options``; see ``Module.export_library``.
    dump_code : str or sequence of str, optional
        ``relay``, ``ll`` and ``asm`` (separated by commas in a string): the code to write next to the package.
    use_vm : bool
        Whether to compile for the virtual machine, which supports control flow and dynamic shapes.
    mod_name : str
        The name of the model in the library: ``lib[mod_name](device)`` creates its executor.
    **options
        Layout and precision options, named as in :data:`GRAPH_OPTIONS`: ``desired_layout="NHWC"``.  TVM's options for
        microTVM boards must be unset.
    """
    transforms = {name: options.pop(name) for name in GRAPH_OPTIONS if name in options}
    _reject(options)
    configs = pass_context_configs if isinstance(pass_context_configs, Mapping) else parse_configs(pass_context_configs)
    full_target = _with_options(target, additional_target_options)
    params = tvmc_model.params
    with (
        apply_tuning_records(tuning_records or None, full_target),
        PassContext(opt_level, (), _listed(disabled_pass), instruments, dict(configs)),
    ):
        mod = apply_graph_transforms(tvmc_model.mod, transforms)
        built: Any = (
            vm.compile(mod, full_target, target_host, params)
            if use_vm
            else build(mod, full_target, target_host, executor, runtime, params=params, mod_name=mod_name)
        )
    path = tvmc_model.export_package(built, package_path, cross, cross_options, output_format)
    _dump_code(path, _listed(dump_code), mod if use_vm else built.ir_mod, built.mod if use_vm else built.get_lib())
    return TVMCPackage(path)


def _listed(names: str | Sequence[str] | None) -> Sequence[str]:
    return names.split(",") if isinstance(names, str) else names or ()


def _dump_code(path: str, kinds: Sequence[str], graph: IRModule, kernels: Any) -> None:
    """Write the graph, LLVM IR or assembly of a model next to its package."""
    for kind in filter(None, kinds):
        if kind not in DUMPS:
            raise TVMCException(f"tvmc.compile: dump_code must be of {', '.join(DUMPS)}, got {kind!r}")
        code = graph.astext() if kind == "relay" else kernels.get_source(DUMPS[kind])
        with open(f"{path}.{kind}", "w", encoding="utf-8") as file:
            file.write(code)


def _with_options(target: TargetLike, options: Mapping[str, Mapping[str, object]] | None) -> TargetLike:
    return target_from_cli(str(target), options)[0] if options else target


def _reject(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise TVMCException(f"tvmc.compile: {name}: external compilers and boards are not supported, got {value!r}")
