"""QuantizeAnnotate: inserts simulated quantisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from compiler.classic.relay.transform.quantization.forward_rewrite import (
    Argument,
    ForwardRewrite,
    MarkedExpr,
    Rule,
    check_constant,
    marked,
    plain,
)
from compiler.classic.relay.transform.quantization.quantize_config import QAnnotateKind, QuantizeContext
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.expr import Call, GraphExpr, Tuple, Var
from compiler.relay.function import Function
from compiler.relay.op.annotation.simulated_quantize import SimulatedQuantizeAttrs
from compiler.relay.operator import call_of, call_op
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.ty import scalar_type

SIMULATED = "relay.op.annotation.simulated_quantize"
"""The operator that quantizes, and recovers what is left."""

INPUT, WEIGHT, ACTIVATION = QAnnotateKind.INPUT, QAnnotateKind.WEIGHT, QAnnotateKind.ACTIVATION


@dataclass(frozen=True)
class QAnnotateExpr(MarkedExpr):
    """An expression that is quantized."""

    expr: RelayExpr
    kind: QAnnotateKind

    def realize(self) -> GraphExpr:
        """Return the expression."""
        return self.expr


class QuantizeAnnotate(FunctionPass, opt_level=1):
    """Put ``simulated_quantize`` before each operator that is quantized.

    Level 1.  Scales and bounds are new parameters of the function, ``dom_scale``, ``clip_min`` and ``clip_max``, which
    calibration binds.

    Examples
    --------
    ``QuantizeAnnotate()``::

        def @main(%x: Tensor[(1, 3, 8, 8), float32], %v: Tensor[(4, 3, 1, 1), float32],
                  %w: Tensor[(4, 4, 3, 3), float32]) {
          %0 = nn.conv2d(%x, %v);
          nn.conv2d(%0, %w)
        }
        ->
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %v: Tensor[(4, 3, 1, 1), float32],
                  %w: Tensor[(4, 4, 3, 3), float32],
                  %dom_scale: float32, %clip_min: float32, %clip_max: float32,
                  %dom_scale1: float32, %clip_min1: float32, %clip_max1: float32) {
          %0 = nn.conv2d(%x, %v);
          %1 = relay.op.annotation.simulated_quantize(%0, %dom_scale, %clip_min, %clip_max, kind=1);
          %2 = relay.op.annotation.simulated_quantize(%w, %dom_scale1, %clip_min1, %clip_max1, kind=2);
          nn.conv2d(%1, %2)
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        notes = _QuantizationState()
        rules: dict[str, Rule] = {name: partial(rule, notes) for name, rule in _RULES.items()}
        rules |= {name: _of_program(rule) for name, (_, rule) in _REGISTERED.items()}
        token = _NOTES.set(notes)
        try:
            new = ForwardRewrite(rules).apply(func)
        finally:
            _NOTES.reset(token)
        return rebuild(new, params=(*func.params, *notes.params))


def annotate() -> QuantizeAnnotate:
    """Return the pass that annotates what is quantized."""
    return QuantizeAnnotate()


class _QuantizationState:
    """What was quantized so far, and which operators are left out."""

    def __init__(self) -> None:
        self.params: list[Var] = []
        self._quantized: dict[tuple[RelayExpr, QAnnotateKind], Call] = {}
        self._context = QuantizeContext()

    def quantized(self, arg: Argument, kind: QAnnotateKind, sign: bool = True, rounding: str = "round") -> RelayExpr:
        """Return a value quantized as a kind, the same for all who need it so."""
        data = plain(arg)
        made = call_of(data, SIMULATED)
        if made is not None and SimulatedQuantizeAttrs.of(made).kind == kind:
            return made
        if (data, kind) not in self._quantized:
            scalars = [Var(name, scalar_type("float32")) for name in ("dom_scale", "clip_min", "clip_max")]
            self.params.extend(scalars)
            self._quantized[data, kind] = call_op(
                SIMULATED, data, *scalars, kind=int(kind), sign=sign, rounding=rounding
            )
        return self._quantized[data, kind]

    def as_input(self, arg: Argument) -> RelayExpr:
        """Return an argument as an operator takes it that computes with what ``dtype_input`` holds."""
        if _kind(arg) in (None, ACTIVATION):
            return self.quantized(arg, WEIGHT if check_constant(plain(arg)) else INPUT)
        return plain(arg)

    def skips(self, call: Call) -> bool:
        """Return whether an operator stays in floating point by the options."""
        return self._context.check_to_skip(call)

    def stop(self) -> None:
        """Leave out all operators from here on."""
        self._context.stop_quantize()


def _kind(arg: Argument) -> QAnnotateKind | None:
    return arg.kind if isinstance(arg, QAnnotateExpr) else None


def _call(call: Call, args: Sequence[RelayExpr], kind: QAnnotateKind) -> QAnnotateExpr:
    return QAnnotateExpr(Call(call.op, tuple(args), call.attrs), kind)


def _weighted(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> QAnnotateExpr | None:
    """A convolution or a dense layer: the second argument is a weight."""
    data, weight = args
    if notes.skips(call):
        return None
    if _kind(data) in (None, ACTIVATION):
        data = notes.quantized(data, INPUT)
    return _call(call, [plain(data), notes.quantized(weight, WEIGHT)], ACTIVATION)


def _batch_matmul(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> QAnnotateExpr | None:
    return None if notes.skips(call) else _call(call, [notes.as_input(arg) for arg in args], ACTIVATION)


def _product(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> QAnnotateExpr | None:
    if notes.skips(call) or not any(map(marked, args)):
        return None
    return _call(call, [notes.as_input(arg) for arg in args], ACTIVATION)


def _sum(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> QAnnotateExpr | None:
    lhs, rhs = args
    if notes.skips(call) or not any(map(marked, args)):
        return None
    if _kind(lhs) == _kind(rhs) == ACTIVATION:
        rhs = notes.quantized(rhs, INPUT)
    else:
        lhs, rhs = (arg if marked(arg) else notes.as_input(arg) for arg in args)
    return _call(call, [plain(lhs), plain(rhs)], ACTIVATION)


def _same_kind(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> QAnnotateExpr | None:
    kind = _kind(args[0])
    if notes.skips(call) or kind is None:
        return None
    return _call(call, [plain(arg) for arg in args], kind)


def _as_input(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> QAnnotateExpr | None:
    """An operator whose argument is quantized as an input, and whose result is one."""
    if notes.skips(call) or not marked(args[0]):
        return None
    return _call(call, [notes.as_input(args[0])], INPUT)


def _last(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> Call | None:
    """A global average: nothing after it is quantized."""
    if notes.skips(call) or not marked(args[0]):
        return None
    notes.stop()
    return Call(call.op, (plain(args[0]),), call.attrs)


def _concatenation(notes: _QuantizationState, call: Call, args: Sequence[Argument]) -> QAnnotateExpr | None:
    fields = args[0]
    if not isinstance(fields, list):
        raise ArgumentError("QuantizeAnnotate: concatenate must be called with a tuple of tensors")
    if notes.skips(call) or not marked(fields):
        return None
    quantized = [plain(field) if marked(field) else notes.quantized(field, ACTIVATION) for field in fields]
    return _call(call, [Tuple(tuple(quantized))], ACTIVATION)


_RULES: dict[str, Callable[[_QuantizationState, Call, Sequence[Argument]], RelayExpr | MarkedExpr | None]] = {
    "nn.conv1d": _weighted,
    "nn.conv2d": _weighted,
    "nn.dense": _weighted,
    "nn.batch_matmul": _batch_matmul,
    "multiply": _product,
    "add": _sum,
    "annotation.cast_hint": _as_input,
    "nn.max_pool1d": _as_input,
    "nn.max_pool2d": _as_input,
    "nn.avg_pool2d": _as_input,
    "nn.global_avg_pool2d": _last,
    "concatenate": _concatenation,
    **dict.fromkeys(
        ("reshape", "clip", "nn.relu", "strided_slice", "nn.batch_flatten", "transpose", "annotation.stop_fusion"),
        _same_kind,
    ),
}


AnnotateRule = Callable[[Call, Sequence[Any], None], Any]
"""From a call, its new arguments and None to what becomes of it, as classic TVM calls rules of programs."""

_REGISTERED: dict[str, tuple[int, AnnotateRule]] = {}
"""The rules of programs by operator, each with its priority."""
_NOTES: ContextVar[_QuantizationState | None] = ContextVar("_NOTES", default=None)


def _of_program(rule: AnnotateRule) -> Rule:
    return lambda call, args: rule(call, args, None)


def register_annotate_function(op_name: str, frewrite: AnnotateRule | None = None, level: int = 10) -> Any:
    """Register how the calls of an operator are annotated, in place of the rule that there is.

    Parameters
    ----------
    frewrite : callable, optional
        ``frewrite(ref_call, new_args, ctx)`` returns a :class:`QAnnotateExpr`, an expression, or None to leave the
        call what it is; without it a decorator is returned.
    level : int
        A rule does not replace one of a higher level.
    """

    def register(rule: AnnotateRule) -> AnnotateRule:
        if op_name not in _REGISTERED or _REGISTERED[op_name][0] <= level:
            _REGISTERED[op_name] = (level, rule)
        return rule

    return register if frewrite is None else register(frewrite)


def attach_simulated_quantize(
    data: Argument, kind: QAnnotateKind, sign: bool = True, rounding: str = "round"
) -> RelayExpr:
    """Return a value quantized as a kind, for rules that are registered; the same for all who need it so.

    Raises ArgumentError if no model is being annotated.
    """
    notes = _NOTES.get()
    if notes is None:
        raise ArgumentError("attach_simulated_quantize: only a rule that QuantizeAnnotate applies can call it")
    return notes.quantized(data, QAnnotateKind(kind), sign, rounding)


def expr_and_kind(anno: Any) -> tuple[Any, QAnnotateKind | None]:
    """Return the expression of an argument of a rule, and as what it is quantized, None if it is not."""
    return (anno.expr, anno.kind) if isinstance(anno, QAnnotateExpr) else (anno, None)
