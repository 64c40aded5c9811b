"""Compiling a model to a package: ``tvmc.compile``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.driver.relay.build import TargetLike, build
from compiler.driver.tvmc.errors import TVMCException
from compiler.driver.tvmc.model import TVMCModel, TVMCPackage
from compiler.driver.tvmc.tuning import applied_records
from compiler.ir.module import IRModule
from compiler.ir.pass_context import PassContext
from compiler.ir.transform import Sequential
from compiler.relay.transform.convert_layout import ConvertLayout
from compiler.relay.transform.fold_constant import FoldConstant
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.remove_unused_functions import RemoveUnusedFunctions

__all__ = ["DUMPS", "compile_model"]

DUMPS = {"relay": "relay", "ll": "ll", "asm": "asm", "s": "asm"}
"""What the code of a model is written as, beside its package, by the ending of the file's name."""
_CONVOLUTIONS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")


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
    dump_code: str | Sequence[str] = (),
    target_host: str | None = None,
    desired_layout: str | None = None,
    disabled_pass: Sequence[str] | None = None,
    pass_context_configs: Mapping[str, Any] | None = None,
    mod_name: str = "default",
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
    dump_code : str or sequence of str
        ``relay``, ``ll`` and ``asm``, separated by commas in a string: code that is written beside the package.
    desired_layout : str, optional
        ``NCHW`` or ``NHWC``: that of all convolutions.
    disabled_pass : sequence of str, optional
    pass_context_configs : mapping of str to object, optional
        Options of passes.
    mod_name : str
        ``lib[mod_name](device)`` makes an executor.
    **options
        What TVM takes for boards, which must be false or None.

    Returns
    -------
    TVMCPackage

    Raises
    ------
    TVMCException
        If something is asked for that does not exist here.
    """
    _refuse({"cross": cross, "cross_options": cross_options, **options})
    with (
        applied_records(tuning_records or None, target),
        PassContext(opt_level, (), disabled_pass or (), None, dict(pass_context_configs or {})),
    ):
        mod = tvmc_model.mod if desired_layout is None else _in_layout(tvmc_model.mod, desired_layout)
        built = build(mod, target, target_host, executor, runtime, params=tvmc_model.params, mod_name=mod_name)
    path = tvmc_model.export_package(built, package_path, output_format)
    kinds = dump_code.split(",") if isinstance(dump_code, str) else dump_code
    for kind in filter(None, kinds):
        if kind not in DUMPS:
            raise TVMCException(f"tvmc.compile: dump_code must be of {', '.join(DUMPS)}, got {kind!r}")
        code = built.ir_mod.astext() if kind == "relay" else built.get_lib().get_source(DUMPS[kind])
        with open(f"{path}.{kind}", "w", encoding="utf-8") as file:
            file.write(code)
    return TVMCPackage(path)


def _refuse(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise TVMCException(f"tvmc.compile: {name}: there are no other compilers and boards here, got {value!r}")


def _in_layout(mod: IRModule, layout: str) -> IRModule:
    """Return a module whose convolutions have a layout."""
    passes = (RemoveUnusedFunctions(), InferType(), ConvertLayout(dict.fromkeys(_CONVOLUTIONS, (layout, "default"))))
    with PassContext(opt_level=3):
        return Sequential([*passes, FoldConstant()])(mod)
