"""Writes a program for TVM 0.27: a definition, its schedule, and a check of the one against the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.recorder.todays_tvm.calls import Call, calls_of, short_reason, text
from app.recorder.todays_tvm.correspondence import Correspondence
from app.recorder.todays_tvm.dialect import RELEASE, respelled
from app.recorder.units.schedules import BlockSchedule, schedule_arguments
from app.recorder.units.subjects import FunctionSubject
from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.module import IRModule
from compiler.ir.origin import NO_SPAN, Span
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.program import NotExpressible
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.printing import printer
from compiler.tir.statements.buffer import Buffer, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import statements_of

_EXTENTS = (37, 41, 29, 53, 31)
"""Extents of symbolic shapes in the check, which differ."""
_TOLERANCES = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-9}
"""Relative difference that another order of additions may make."""
_SHAPING = {
    "bind",
    "cache_read",
    "cache_write",
    "compute_at",
    "fuse",
    "reorder",
    "rfactor",
    "set_scope",
    "split",
    "tensorize",
    "tile",
}
"""Primitives without which the kernels of a schedule are other ones."""
_HEAD = """\
import numpy as np
import tvm
from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T

"""


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """A line of the program, and what of the script it comes from."""

    text: str
    span: Span = NO_SPAN
    line: int | None = None
    """The line of the script, where ``span`` does not say it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program for TVM 0.27."""

    lines: list[ProgramLine]
    missing: list[str]
    """The primitives that it leaves out, and why."""

    @property
    def text(self) -> str:
        """The whole program."""
        return "".join(f"{line.text}\n" for line in self.lines)


def program_of(function: FunctionSubject) -> Program:
    """Write the program of a function, with its schedule as it was when it was lowered.

    Raises
    ------
    TVMError
        If it has no counterpart in TVM 0.27.
    """
    source, record, target, name = function.source, function.schedule, function.target, function.name
    if isinstance(record, BlockSchedule):
        return _of_blocks(record, function.primitives, target, name)
    if isinstance(source, Schedule):
        args = function.args or schedule_arguments(source)
        if function.primitives < len(source.primitives):
            source, mapped = source.replay(function.primitives)
            args = [mapped(a) if isinstance(a, Tensor) else a for a in args]
        return _of_tensors(source, args, target, name)
    if isinstance(source, (PrimFunc, IRModule)):
        module = source if isinstance(source, IRModule) else IRModule({"main": source})
        return _program(module, [], {}, module, target, name)
    raise NotExpressible("only what is lowered from a schedule, a function or a module can be exported")


def _of_tensors(schedule: Schedule, args: Sequence[object], target: Target | None, name: str) -> Program:
    given = [a for a in args if isinstance(a, (Tensor, Var))]
    if len(given) != len(args):
        raise NotExpressible("an argument is a buffer that the script declares, which a definition does not say")
    made = Correspondence(schedule, given)
    if _launches(schedule) and (needed := [call for call in made.calls if call.missing and call.primitive in _SHAPING]):
        # Memory of threads that is not where they run would hold other values.
        raise NotExpressible("\n".join(f"{_place(call)}{call.label}: {call.missing}" for call in needed))
    if _launches(schedule) and (target is None or target.kind.name in ("llvm", "c")):
        target = Target("cuda")  # no CPU of TVM's has threads to bind loops to
    return _program(IRModule({"main": made.function}), made.calls, made.names, made.result.mod, target, name)


def _of_blocks(record: BlockSchedule, count: int, target: Target | None, name: str) -> Program:
    """Write the first program with the calls; or the last one alone, where a call has no counterpart."""
    initial, final = record.initial, record.programs[count]
    try:
        calls, names = calls_of(record, count)
    except TVMError as error:
        missing = Call([], "the schedule", missing=short_reason(error))
        return _program(final, [missing], {}, final, target, name, applied=True)
    if any(call.missing for call in calls):
        return _program(final, [call for call in calls if call.missing], names, final, target, name, applied=True)
    return _program(initial, calls, names, final, target, name)


def _program(
    module: IRModule,
    calls: Sequence[Call],
    names: Mapping[object, str],
    final: IRModule,
    target: Target | None,
    name: str,
    applied: bool = False,
) -> Program:
    functions = list(module.functions.values())
    if len(functions) != 1 or not isinstance(functions[0], PrimFunc):
        raise NotExpressible("it has several functions, of which each needs a program of its own")
    [variable] = module.functions
    lines = [ProgramLine(f'"""{name}, as a program for TVM {RELEASE}."""'), ProgramLine("")]
    lines += [ProgramLine(line) for line in _HEAD.splitlines()]
    lines += [ProgramLine(""), *tvmscript(module), ProgramLine(""), ProgramLine("")]
    lines += [ProgramLine("sch = s_tir.Schedule(Module)"), *_call_lines(calls, names, applied)]
    lines += [ProgramLine(line) for line in ("", f"target = {_target(target)}", "", "")]
    lines += [ProgramLine(line) for line in _check(functions[0], variable.name_hint, target, final is not module)]
    tvmscript(final)  # refuses what the schedule brings in that has no counterpart
    return Program(lines, [f"{_place(call)}{call.label}: {call.missing}" for call in calls if call.missing])


def _launches(schedule: Schedule) -> bool:
    """Return whether loops are bound to the threads of a device."""
    attrs = [attr for stage in schedule.stages for attr in stage.iter_var_attrs.values()]
    return any(attr.bind_thread is not None for attr in attrs)


def _place(call: Call) -> str:
    return f"line {call.line}: " if call.line is not None else ""


def tvmscript(module: IRModule) -> list[ProgramLine]:
    """Return a module in the TVMScript of 0.27, from its decorator on.

    Raises
    ------
    NotExpressible
        If it uses what 0.27 does not have.
    """
    printed = printer.script(module).lines
    start = next(i for i, line in enumerate(printed) if line.text.startswith("@"))
    return [ProgramLine(respelled(line.text), line.span) for line in printed[start:]]


def _call_lines(calls: Sequence[Call], names: Mapping[object, str], applied: bool) -> Iterator[ProgramLine]:
    for call in calls:
        if call.label:
            place = f"line {call.line}, " if call.line is not None else ""
            yield ProgramLine(f"# {place}{call.label}", call.span, call.line)
        if not applied:
            for instruction in call.instructions:
                yield ProgramLine(text(instruction, names), call.span, call.line)
        if call.missing:
            kept = "is applied above" if applied else "is left out"
            yield ProgramLine(f"#   has no counterpart and {kept}: {call.missing}", call.span, call.line)


def _target(target: Target | None) -> str:
    """Return a target as 0.27 takes it."""
    if target is None:
        return '"llvm"'
    options = {key: target.attrs[key] for key in ("mcpu", "mattr", "arch") if target.attrs.get(key)}
    if options.get("mcpu") == "native":
        del options["mcpu"]
    kind = target.kind.name
    return json.dumps({"kind": kind, **options}) if options else f'"{kind}"'


# the check


def _check(function: PrimFunc, symbol: str, target: Target | None, compared: bool) -> Iterator[str]:
    """Yield a function that runs definition and schedule on the same random inputs, and compares."""
    stored = {store.buffer.data for store in statements_of(function.body, BufferStore)}
    sizes: dict[Var, PrimExpr] = {}
    values, outputs = [], []
    for place, param in enumerate(function.params):
        buffer = function.buffer_map.get(param)
        if buffer is None:
            sizes.setdefault(param, IntImm(param.dtype, _EXTENTS[len(sizes) % len(_EXTENTS)]))
        else:
            for variable in free_vars(buffer.shape):
                sizes.setdefault(variable, IntImm(variable.dtype, _EXTENTS[len(sizes) % len(_EXTENTS)]))
            if buffer.data in stored:
                outputs.append(place)
    for param in function.params:
        buffer = function.buffer_map.get(param)
        values.append(str(sizes[param]) if buffer is None else _random(buffer, sizes))
    kind = target.kind.name if target is not None else "llvm"
    device = "tvm.cpu()" if kind in ("llvm", "c") else f'tvm.device("{kind}")'
    yield "def inputs():"
    yield '    """Return random arguments."""'
    yield "    rng = np.random.default_rng(0)"
    yield from ("    return [", *(f"        {value}," for value in values), "    ]", "", "")
    yield from _RUN.format(symbol=symbol, outputs=outputs).splitlines()
    if compared:
        dtypes = [buffer.dtype for buffer in function.buffer_map.values()]
        tolerance = max((_TOLERANCES.get(dtype, 0.0) for dtype in dtypes), default=0.0)
        yield from _COMPARE.format(tolerance=tolerance, device=device).splitlines()
    else:
        yield from _ONLY_RUN.format(device=device).splitlines()


def _random(buffer: Buffer, sizes: Mapping[Var, PrimExpr]) -> str:
    """Return random values for an argument, as a call of NumPy."""
    shape = [Analyzer().simplify(substitute(extent, sizes)) for extent in buffer.shape]
    if not all(isinstance(extent, IntImm) for extent in shape):
        raise NotExpressible(f"the shape of {buffer.name} cannot be chosen for a check")
    extents = ", ".join(str(extent) for extent in shape)
    size = f"({extents},)" if len(shape) == 1 else f"({extents})"
    if dt.is_float(buffer.dtype):
        return f'rng.uniform(-1, 1, {size}).astype("{buffer.dtype}")'
    return f'rng.integers(0, {2 if dt.is_bool(buffer.dtype) else 8}, {size}).astype("{buffer.dtype}")'


_RUN = """\
def run(module, values, target, device):
    \"\"\"Compile a module and return what it writes.\"\"\"
    lib = tvm.compile(module, target=target)
    given = [tvm.runtime.tensor(v, device) if isinstance(v, np.ndarray) else v for v in values]
    lib["{symbol}"](*given)
    return [given[place].numpy() for place in {outputs}]


"""
_COMPARE = """\
if __name__ == "__main__":
    values = inputs()
    expected = run(Module, values, "llvm", tvm.cpu())
    for got, wanted in zip(run(sch.mod, values, target, {device}), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol={tolerance}, atol={tolerance} * max(1, np.abs(wanted).max()))
    print("the schedule computes what its definition says")
"""
_ONLY_RUN = """\
if __name__ == "__main__":
    for got in run(sch.mod, inputs(), target, {device}):
        print(got)
"""
