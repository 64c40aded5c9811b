"""``tvmc.compile``: compiles a model to a package."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.driver.relay import vm
from compiler.driver.relay.build import TargetLike, build
from compiler.driver.tvmc.autotuner import applied_records
from compiler.driver.tvmc.errors import TVMCException
from compiler.driver.tvmc.model import TVMCModel, TVMCPackage
from compiler.driver.tvmc.pass_config import parse_configs
from compiler.driver.tvmc.target import target_from_cli
from compiler.driver.tvmc.transform import GRAPH_OPTIONS, apply_graph_transforms
from compiler.ir.instrument import PassInstrument
from compiler.ir.module import IRModule
from compiler.ir.pass_context import PassContext

__all__ = ["DUMPS", "compile_model"]

DUMPS = {"relay": "relay", "ll": "ll", "asm": "asm", "s": "asm"}
"""What the code of a model is written as, beside its package, by the ending of the file's name."""


def compile_model(
    tvmc_model: TVMCModel,
    target: TargetLike = "llvm",
    opt_level: int = 3,
    executor: object = None,
    runtime: object = None,
    tuning_records: str | None = None,
    package_path: str | os.PathLike[str] | None = None,
    cross: str | None = None,
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
    tvmc_model : TVMCModel
    target : str or Target
        E.g. ``llvm -mcpu=skylake-avx512``.
    opt_level : int
        From 0 to 4.
    executor, runtime, target_host : optional
        As ``relay.build`` takes them.
    tuning_records : str, optional
        A file of measured schedules, as ``tvmc.tune`` writes it: the best ones are taken.
    package_path : str or path, optional
        Where the package is written; a temporary file of the model when left out.
    cross, cross_options : str, optional
        Must be left out: no other compiler is called.
    output_format : str
        ``so`` or ``tar``.
    dump_code : str or sequence of str, optional
        ``relay``, ``ll`` and ``asm``, separated by commas in a string: code that is written beside the package.
    disabled_pass : str or sequence of str, optional
        Names, separated by commas in a string.
    pass_context_configs : mapping of str to object or sequence of str, optional
        Options of passes, or texts such as ``tir.disable_vectorize=true``.
    additional_target_options : mapping of str to mapping, optional
        Further options, by the name of the target.
    use_vm : bool
        Whether the virtual machine runs the model, which may then have control flow and shapes known at run time.
    mod_name : str
        ``lib[mod_name](device)`` makes an executor.
    instruments : sequence of PassInstrument, optional
        What watches the passes.
    **options
        Layouts and precision, by the names of :data:`GRAPH_OPTIONS`: ``desired_layout="NHWC"``.  What TVM takes for
        boards besides must be false or None.

    Returns
    -------
    TVMCPackage

    Raises
    ------
    TVMCException
        If something is asked for that does not exist here.
    """
    changes = {name: options.pop(name) for name in GRAPH_OPTIONS if name in options}
    _refuse({"cross": cross, "cross_options": cross_options, **options})
    configs = pass_context_configs if isinstance(pass_context_configs, Mapping) else parse_configs(pass_context_configs)
    built_for = _with_options(target, additional_target_options)
    built: Any
    with (
        applied_records(tuning_records or None, built_for),
        PassContext(opt_level, (), _listed(disabled_pass), instruments, dict(configs)),
    ):
        mod = apply_graph_transforms(tvmc_model.mod, changes)
        if use_vm:
            built = vm.compile(mod, built_for, target_host, tvmc_model.params)
        else:
            built = build(mod, built_for, target_host, executor, runtime, params=tvmc_model.params, mod_name=mod_name)
    path = tvmc_model.export_package(built, package_path, output_format=output_format)
    _write_code(path, _listed(dump_code), mod if use_vm else built.ir_mod, built.mod if use_vm else built.get_lib())
    return TVMCPackage(path)


def _listed(names: str | Sequence[str] | None) -> Sequence[str]:
    return names.split(",") if isinstance(names, str) else names or ()


def _write_code(path: str, kinds: Sequence[str], graph: IRModule, kernels: Any) -> None:
    """Write the code of a model beside its package."""
    for kind in filter(None, kinds):
        if kind not in DUMPS:
            raise TVMCException(f"tvmc.compile: dump_code must be of {', '.join(DUMPS)}, got {kind!r}")
        code = graph.astext() if kind == "relay" else kernels.get_source(DUMPS[kind])
        with open(f"{path}.{kind}", "w", encoding="utf-8") as file:
            file.write(code)


def _with_options(target: TargetLike, options: Mapping[str, Mapping[str, Any]] | None) -> TargetLike:
    """Return a target after its further options."""
    return target_from_cli(str(target), options)[0] if options else target


def _refuse(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise TVMCException(f"tvmc.compile: {name}: external compilers and boards are not supported, got {value!r}")
