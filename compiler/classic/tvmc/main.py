"""The tvmc command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler import __version__
from compiler.classic.tvmc.autotuner import TUNERS, tune_model
from compiler.classic.tvmc.compiler import DUMPS, compile_model
from compiler.classic.tvmc.errors import TVMCException
from compiler.classic.tvmc.frontends import FORMATS, guess_frontend, load_model
from compiler.classic.tvmc.model import TVMCModel, TVMCPackage
from compiler.classic.tvmc.pass_config import parse_configs
from compiler.classic.tvmc.pass_list import parse_pass_list_str
from compiler.classic.tvmc.registry import generate_registry_args, reconstruct_registry_entity
from compiler.classic.tvmc.result_utils import get_top_results
from compiler.classic.tvmc.runner import FILL_MODES, run_module
from compiler.classic.tvmc.shape_parser import parse_shape_string
from compiler.classic.tvmc.target import generate_target_args, reconstruct_target_args
from compiler.classic.tvmc.transform import generate_transform_args, parse_graph_transform_args
from compiler.driver.relay.options import Executor, Runtime
from compiler.ir.error import TVMError
from compiler.ir.expr.scalars import AnyDim
from compiler.relay.ty import TensorType, is_dynamic
from compiler.search.turns import STRATEGIES


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    return _main(sys.argv[1:] if argv is None else argv)


def _main(argv: Sequence[str]) -> int:
    parser = _parser()
    given = parser.parse_args(argv)
    if given.version:
        print(__version__)
        return 0
    if given.command is None:
        parser.print_help(sys.stderr)
        return 1
    try:
        given.command(given)
    except TVMError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tvmc", description="Tune, compile and run models.")
    parser.add_argument("--version", action="store_true", help="print the version and end")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    _add_compile(commands.add_parser("compile", help="compile a model"))
    _add_run(commands.add_parser("run", help="run a compiled model"))
    _add_tune(commands.add_parser("tune", help="search for the schedules of a model"))
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("FILE", help="path of the model")
    generate_target_args(parser)
    generate_transform_args(parser)
    parser.add_argument("--model-format", choices=list(FORMATS), help="when the file's name does not tell")
    parser.add_argument("--input-shapes", type=parse_shape_string, help="'input_name:[dim1,dim2] other_name:[dim1]'")


def _add_compile(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    parser.add_argument("-o", "--output", default="module.tar", help="path of the package")
    parser.add_argument("--tuning-records", metavar="PATH", help="measured schedules, as 'tvmc tune' writes them")
    parser.add_argument("-O", "--opt-level", type=int, choices=range(5), default=3)
    parser.add_argument("-f", "--output-format", choices=["so", "tar"], default="so")
    parser.add_argument("--cross-compiler", default="", help="what links the library, as 'aarch64-linux-gnu-gcc'")
    parser.add_argument("--cross-compiler-options", default="", help="options for it, separated by spaces")
    generate_registry_args(parser, Executor, "graph")
    generate_registry_args(parser, Runtime, "cpp")
    parser.add_argument("--use-vm", action="store_true", help="let the virtual machine run the model")
    parser.add_argument("--disabled-pass", type=parse_pass_list_str, help="names, separated by commas")
    parser.add_argument("--dump-code", default="", help=f"of {', '.join(DUMPS)}, separated by commas")
    parser.add_argument("--pass-config", action="append", metavar="NAME=VALUE")
    parser.add_argument("--module-name", default="default")
    parser.set_defaults(command=_compile)


def _add_tune(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    parser.add_argument("-o", "--output", required=True, help="the file that measured schedules are written to")
    parser.add_argument("--tuning-records", metavar="PATH", help="measured schedules to begin with")
    parser.add_argument("--enable-autoscheduler", action="store_true", help="search without templates")
    parser.add_argument("--include-simple-tasks", action="store_true", help="kernels without reductions too")
    parser.add_argument("--trials", type=int, default=1000, help="how many schedules are measured")
    parser.add_argument("--seconds", type=float, metavar="N", help="search all kernels, N seconds by expected gain")
    parser.add_argument("--scheduler", choices=STRATEGIES, default=STRATEGIES[0], help="which kernel is next with it")
    parser.add_argument("--tuner", choices=list(TUNERS), default="xgb", help="how parameters of templates are searched")
    parser.add_argument("--early-stopping", type=int, metavar="N", help="end after N schedules that are no better")
    parser.add_argument("--min-repeat-ms", type=int, metavar="MS", help="how long a measurement lasts at least")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--number", type=int, default=10)
    parser.add_argument("--tasks", default="all", help="which tasks: 'all', 'list', or numbers and ranges as '0,2-4'")
    parser.set_defaults(command=_tune)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("PATH", help="path of the package")
    parser.add_argument("--device", choices=["cpu"], default="cpu")
    parser.add_argument("-i", "--inputs", help="an .npz file of inputs")
    parser.add_argument("-o", "--outputs", help="an .npz file that the outputs are written to")
    parser.add_argument("--fill-mode", choices=list(FILL_MODES), default="random")
    parser.add_argument("--print-time", action="store_true", help="measure, and print the times")
    parser.add_argument("--print-top", type=int, metavar="N", help="print the largest N numbers of each output")
    parser.add_argument("--profile", action="store_true", help="print the time of each kernel")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--number", type=int, default=1)
    parser.add_argument("--end-to-end", action="store_true", help="measure copying too")
    parser.set_defaults(command=_run)


def _model(given: argparse.Namespace, command: str, otherwise: str = "") -> TVMCModel:
    """Read the model; raises TVMCException if the shapes of its inputs need a virtual machine that is not asked for."""
    model, asked = load_model(given.FILE, given.model_format, given.input_shapes), given.input_shapes or {}
    kind = given.model_format or guess_frontend(given.FILE).format
    if kind == "relay" or vars(given).get("use_vm"):  # a text says its shapes itself
        return model
    types = {p.name_hint: t for p in model.mod["main"].params if isinstance(t := p.type_annotation, TensorType)}
    if dynamic := [name for name, t in types.items() if is_dynamic(t)]:
        found = ", ".join(f'input "{name}" has a dynamic shape {_dims(types[name], "?", "(, )")}' for name in dynamic)
        whole = " ".join(f"{n}:{_dims(t, '1', '[,]')}" for n, t in types.items() if n in dynamic or n in asked)
        raise TVMCException(f'tvmc {command}: {found}: give --input-shapes "{whole}"{otherwise}')
    return model


def _dims(tensor: TensorType, unknown: str, marks: str) -> str:
    """Return a shape between the first and the last of some marks, which those in between separate."""
    return marks[0] + marks[1:-1].join(unknown if isinstance(d, AnyDim) else str(d) for d in tensor.shape) + marks[-1]


def _compile(given: argparse.Namespace) -> None:
    compile_model(
        _model(given, "compile", ", or --use-vm"),
        given.target,
        opt_level=given.opt_level,
        executor=reconstruct_registry_entity(given, Executor),
        runtime=reconstruct_registry_entity(given, Runtime),
        tuning_records=given.tuning_records,
        package_path=given.output,
        cross=given.cross_compiler,
        cross_options=given.cross_compiler_options,
        output_format=given.output_format,
        dump_code=given.dump_code,
        disabled_pass=given.disabled_pass,
        pass_context_configs=parse_configs(given.pass_config),
        additional_target_options=reconstruct_target_args(given),
        use_vm=given.use_vm,
        mod_name=given.module_name,
        **parse_graph_transform_args(given),
    )


def _run(given: argparse.Namespace) -> None:
    result = run_module(
        TVMCPackage(given.PATH),
        given.device,
        inputs=_inputs(given.inputs),
        fill_mode=given.fill_mode,
        repeat=given.repeat,
        number=given.number,
        profile=given.profile,
        end_to_end=given.end_to_end,
        benchmark=given.print_time,
    )
    if given.print_time:
        print(result.format_times())
    if given.print_top:
        print(get_top_results(result, given.print_top))
    if given.outputs:
        result.save(given.outputs)


def _tune(given: argparse.Namespace) -> None:
    tune_model(
        _model(given, "tune"),
        given.target,
        given.output,
        given.tuning_records,
        given.enable_autoscheduler,
        given.trials,
        given.tuner,
        given.min_repeat_ms,
        given.early_stopping,
        given.repeat,
        given.number,
        given.include_simple_tasks,
        tasks_filter=given.tasks,
        seconds=given.seconds,
        scheduler=given.scheduler,
        **parse_graph_transform_args(given),
    )


def _inputs(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError) as error:
        raise TVMCException(f"tvmc run: --inputs: {path!r} is not an .npz file of arrays: {error}") from None
