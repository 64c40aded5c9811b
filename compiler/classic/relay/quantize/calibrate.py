"""Calibration: scales of quantised values, fixed or measured on a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from compiler.classic.relay.quantize.kl_divergence import find_scale_by_kl
from compiler.classic.relay.transform.quantization.quantize_annotate import SIMULATED
from compiler.classic.relay.transform.quantization.quantize_config import QAnnotateKind, QConfig, current_qconfig
from compiler.driver.relay.executor import create_executor
from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.relay.analysis import operands, post_order, with_operands
from compiler.relay.binding import bind
from compiler.relay.expr import Call, Constant, Tuple, Var, const
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.op.annotation.simulated_quantize import SimulatedQuantizeAttrs
from compiler.relay.operator import op_name
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray
from compiler.runtime.numpy_types import NumPyArray

Values = NumPyArray
Dataset = Iterable[Mapping[str, object]]
"""The inputs of several runs, by name."""

_PERCENTILE = 0.99999


def calibrate(dataset: Dataset | None = None) -> Callable[[IRModule, PassContext], IRModule]:
    """Return a function ``f(mod, ctx) -> mod`` that binds the scales and bounds which ``QuantizeAnnotate`` left open.

    ``kl_divergence`` and ``percentile`` need the inputs of several runs.
    """

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        config, main = current_qconfig(), mod["main"]
        calls = [e for e in post_order(main.body) if isinstance(e, Call) and op_name(e) == SIMULATED]
        scales = _scales(mod, calls, config, dataset)
        given: dict[Var, Constant] = {}
        for call in calls:
            given.update(_parameters(call, scales[call], config))
        return infer_module(mod.with_functions({**mod.functions, mod.get_global_var("main"): bind(main, given)}))

    return run


def _parameters(call: Call, scale: float, config: QConfig) -> dict[Var, Constant]:
    """Return the values of the three parameters of a quantization, whose greatest magnitude is ``scale``."""
    attrs = SimulatedQuantizeAttrs.of(call)
    steps = 2 ** (config.get_nbit_by_kind(attrs.kind) - int(attrs.sign))
    values = (scale / steps, -(steps - 1), steps - 1)
    return {
        var: const(float(v), "float32") for var, v in zip(call.args[1:], values, strict=True) if isinstance(var, Var)
    }


def _scales(mod: IRModule, calls: list[Call], config: QConfig, dataset: Dataset | None) -> dict[Call, float]:
    weights = {call: _weight_scale(call.args[0], config) for call in calls if _is_weight(call)}
    inputs = [call for call in calls if not _is_weight(call)]
    if config.calibrate_mode == "global_scale":
        return weights | dict.fromkeys(inputs, config.global_scale)
    if config.calibrate_mode not in _FINDERS:
        names = ", ".join(("global_scale", *_FINDERS))
        raise ArgumentError(f"qconfig: calibrate_mode must be one of {names}, got {config.calibrate_mode!r}")
    if dataset is None:
        raise ArgumentError(f"quantize: calibrate_mode {config.calibrate_mode!r} needs a dataset")
    find = _FINDERS[config.calibrate_mode]
    samples = _collected(mod["main"], inputs, list(dataset), config.calibrate_chunk_by)
    return weights | {call: find(values) for call, values in zip(inputs, samples, strict=True)}


def _is_weight(call: Call) -> bool:
    return SimulatedQuantizeAttrs.of(call).kind == QAnnotateKind.WEIGHT


def _weight_scale(weight: RelayExpr, config: QConfig) -> float:
    if not isinstance(weight, Constant):
        raise ArgumentError(f"quantize: a weight must be a constant, got {type(weight).__name__}; give params")
    largest = float(np.abs(weight.value).max(initial=0))
    if config.weight_scale == "max":
        return largest
    if config.weight_scale != "power2":
        expected("qconfig", "weight_scale", "'power2' or 'max'", config.weight_scale)
    return float(2 ** np.ceil(np.log2(largest))) if largest > 0 else 1.0


def _collected(main: Function, calls: list[Call], dataset: list[object], chunk: int) -> Iterator[Values]:
    """Yield for each call the values of its data over all runs, so many calls at a time."""
    step = len(calls) if chunk == -1 else chunk
    for start in range(0, len(calls), max(step, 1)):
        yield from _run(main, calls[start : start + step], dataset)


def _run(main: Function, calls: list[Call], dataset: list[Any]) -> list[Values]:
    """Return what the calls get when the graph is run without quantization."""
    plain = {c: c.args[0] for c in post_order(main.body) if isinstance(c, Call) and op_name(c) == SIMULATED}
    body = _without(Tuple(tuple(call.args[0] for call in calls)), plain)
    used = {e for e in post_order(body) if isinstance(e, Var)}
    params = tuple(p for p in main.params if p in used)
    mod = infer_module(IRModule.from_expr(Function(params, body)))
    run = create_executor("graph", mod=mod).evaluate()
    results: list[list[Values]] = [[] for _ in calls]
    for inputs in dataset:
        outputs = run(*(np.asarray(_array(inputs[p.name_hint]), p.checked_type.dtype) for p in params))
        outputs = [outputs] if isinstance(outputs, NDArray) else list(outputs)
        for values, output in zip(results, outputs, strict=True):
            values.append(np.array(output).reshape(-1))
    return [np.concatenate(values) for values in results]


def _array(value: ArrayLike) -> ArrayLike:
    return value.view() if isinstance(value, NDArray) else value


def _without(expr: RelayExpr, plain: Mapping[Any, Any]) -> Any:
    """Return an expression with calls replaced by what they are given."""
    new: dict[object, Any] = {}
    for part in post_order(expr):
        parts = [new[p] for p in operands(part)]
        new[part] = new[plain[part]] if part in plain else with_operands(part, parts) if parts else part
    return new[expr]


def find_scale_by_percentile(values: Values, percentile: float = _PERCENTILE) -> float:
    """Return the magnitude that a part of all values, a number from 0 to 1, does not exceed."""
    magnitudes = np.abs(values).reshape(-1)
    rank = min(int(magnitudes.size * percentile), magnitudes.size - 1)
    return float(np.partition(magnitudes, rank)[rank])


_FINDERS: dict[str, Callable[[Values], float]] = {
    "kl_divergence": find_scale_by_kl,
    "percentile": find_scale_by_percentile,
}
