"""ForwardFoldScaleAxis: folds scales of data into the following weights."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.transform.fold.scale_axis import (
    CheapExprs,
    ScaleMessage,
    Shift,
    as_vector,
    is_positive,
    is_scale_of,
    passed_through,
    scale_of,
    shift_of,
    weights_of,
)
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import ElementMutator, dims_of, op_name, outside_kernels


class ForwardFoldScaleAxis(FunctionPass, opt_level=3, required=("InferType",)):
    """Fold scales of the data into the weights of convolutions and matrix products.

    Level 3; requires InferType.  The scale goes on through pools and, if it is positive, through activations such as
    ``nn.relu`` and additions of vectors along its axis, which are divided by it; all users of the scaled data must take
    it.

    Examples
    --------
    ``ForwardFoldScaleAxis()``::

        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(8), float32]) {
          nn.dense(multiply(%x, %s), %w)
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(8), float32]) {
          nn.dense(%x, multiply(%w, %s), units=None)
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        plan = _Plan(func)
        return _Folder(plan.folded).rewrite_function(func) if plan.folded else func


class _Plan:
    """Which multiplications disappear: ``folded`` has their scales and what they scale."""

    def __init__(self, func: RelayExpr) -> None:
        self.folded: dict[GraphExpr, tuple[RelayExpr, RelayExpr]] = {}
        self._cheap = CheapExprs()
        self._refused: set[GraphExpr] = set()
        self._messages: dict[GraphExpr, ScaleMessage] = {}
        order = post_order(func, outside_kernels)
        for expr in order:
            self._cheap.add(expr)
        for expr in reversed(order):
            if isinstance(expr, Call) and op_name(expr) == "multiply":
                self._try(expr)
            for at, operand in enumerate(expr.args if isinstance(expr, Call) else outside_kernels(expr)):
                self._offer(operand, self._message_of(expr, at))

    def _offer(self, value: GraphExpr, message: ScaleMessage | None) -> None:
        """Note how one user of a value takes a scale; all of them must do it along the same axis."""
        earlier = self._messages.get(value)
        if message is None or (earlier is not None and earlier.axes != message.axes):
            self._refused.add(value)
        else:
            positive = message.require_positive or (earlier is not None and earlier.require_positive)
            self._messages[value] = ScaleMessage(message.axes, positive)

    def _result(self, expr: GraphExpr) -> ScaleMessage | None:
        """Return how all users of a value take a scale of it."""
        return None if expr in self._refused else self._messages.get(expr)

    def _message_of(self, user: GraphExpr, at: int) -> ScaleMessage | None:
        weights = weights_of(user, False)
        if weights is not None:
            return ScaleMessage(weights.axes) if at == 0 else None
        scaling = scale_of(user)
        if scaling is not None:
            return self._result(user) if at == scaling[0] else None
        shift = shift_of(user)
        if shift is not None and isinstance(user, Call):
            return self._through_shift(user, shift) if at == shift.at else None
        return passed_through(user, self._result(user)) if isinstance(user, Call) and len(user.args) == 1 else None

    def _through_shift(self, user: Call, shift: Shift) -> ScaleMessage | None:
        """Return how a value takes a scale to which a vector along the same axis is added: it must not be zero."""
        message = self._result(user)
        if message is None or not is_scale_of(shift.axes, message.axes, user):
            return None
        return ScaleMessage(message.axes, require_positive=True)

    def _try(self, call: Call) -> None:
        scaling, message = scale_of(call), self._result(call)
        if scaling is None or message is None:
            return
        at, scale, axes = scaling
        allowed = is_positive(scale) or not message.require_positive
        if scale in self._cheap and is_scale_of(axes, message.axes, call) and allowed:
            self.folded[call] = (call.args[at], scale)


class _Folder(ElementMutator):
    """Leaves scales out, and remembers which are missing from each value."""

    def __init__(self, folded: dict[GraphExpr, tuple[RelayExpr, RelayExpr]]) -> None:
        super().__init__()
        self._folded = folded
        self._missing: dict[GraphExpr, tuple[RelayExpr, ...]] = {}

    def visit_call(self, call: Call) -> RelayExpr:
        if call in self._folded:
            value, scale = self._folded[call]
            vector = as_vector(self.visit(scale), dims_of(scale) or ())
            self._missing[call] = (*self._missing.get(value, ()), vector)
            return self.visit(value)
        new = self.rebuilt_call(call)
        missing = next((self._missing[a] for a in call.args if a in self._missing), ())
        if not missing:
            return new
        weights = weights_of(call, False)
        if weights is None:
            self._missing[call] = missing
            shift = shift_of(call)
            return new if shift is None else shift.unscaled(new, missing)
        data, weight = new.args
        return rebuild(new, args=(data, weights.scaled(weight, missing)))
