"""BackwardFoldScaleAxis: folds scales of results into the preceding weights."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.accumulation import HALF_TYPES
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.op.nn.bias import BiasAddAttrs
from compiler.relay.operator import call_op
from compiler.relay.transform.fold.scale_axis import (
    CheapExprs,
    ScaleMessage,
    Weights,
    as_vector,
    broadcast_along,
    is_positive,
    is_scale_of,
    passed_through,
    scale_axes,
    scale_of,
    weights_of,
)
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import (
    GraphMutator,
    dims_of,
    dtype_of,
    op_name,
    outside_kernels,
    type_of,
    users_of,
)


class BackwardFoldScaleAxis(FunctionPass, opt_level=3, required=("InferType",)):
    """Fold scales of the results into the weights of convolutions and matrix products.

    Level 3; requires InferType.  The scale goes back through additions of biases (which are scaled), sums of two
    convolutions, pools, and, if it is positive, through activations such as ``nn.relu``.  It goes back through the cast
    of a sum to half precision as well; scaled weights are then rounded to that.  What is used elsewhere as well stays
    as it is.

    Examples
    --------
    ``BackwardFoldScaleAxis()``::

        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(4), float32]) {
          multiply(nn.dense(%x, %w), %s)
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(4), float32]) {
          nn.dense(%x, multiply(%w, expand_dims(%s, axis=1)), units=None)
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        plan = _Plan(func)
        return _Folder(plan).rewrite_function(func) if plan.folded else func


class _Plan:
    """Which scales go where."""

    def __init__(self, func: RelayExpr) -> None:
        # multiplications that disappear, each with the value that takes its place
        self.folded: dict[GraphExpr, RelayExpr] = {}
        self.weights: dict[Call, list[Call]] = {}  # calls whose weights take scales, with the multiplications of these
        # vectors beside a scaled value, by call and number of operand, with the multiplications whose scales they take
        self.sides: dict[tuple[Call, int], list[Call]] = {}
        self._users = users_of(func)
        self._cheap = CheapExprs()
        self._messages: dict[GraphExpr, ScaleMessage] = {}
        order = post_order(func, outside_kernels)
        for expr in order:
            self._cheap.add(expr)
            if isinstance(expr, Call) and (message := self._message_of(expr)) is not None:
                self._messages[expr] = message
        scales: dict[GraphExpr, list[Call]] = {}
        for expr in reversed(order):
            if isinstance(expr, Call) and expr in self._messages:
                self._distribute(expr, scales.pop(expr, []), scales)

    def axes(self, call: RelayExpr) -> tuple[int, ...]:
        """Return the axes of the scales that a call takes."""
        return self._messages[call].axes

    def _operand(self, expr: GraphExpr) -> ScaleMessage | None:
        """Return how an operand takes a scale, as nothing else uses it."""
        return self._messages.get(expr) if self._users[expr] == 1 else None

    def _message_of(self, call: Call) -> ScaleMessage | None:
        weights = weights_of(call, True)
        if weights is not None:
            return ScaleMessage(weights.axes)
        name = op_name(call)
        if name == "multiply":
            scaling = scale_of(call)
            return None if scaling is None else self._operand(call.args[scaling[0]])
        if name in ("add", "subtract", "nn.bias_add"):
            return self._message_of_sum(call)
        if _is_narrowing(call):
            return self._operand(call.args[0])
        return passed_through(call, self._operand(call.args[0])) if len(call.args) == 1 else None

    def _message_of_sum(self, call: Call) -> ScaleMessage | None:
        parts = [self._operand(a) if type_of(a) == type_of(call) else None for a in call.args]
        if op_name(call) == "nn.bias_add":
            dims = dims_of(call)
            if parts[0] is None or dims is None:
                return None
            return parts[0] if parts[0].axes == (BiasAddAttrs.of(call).axis % len(dims),) else None
        a, b = parts
        if a is not None and b is not None:
            return ScaleMessage(a.axes, a.require_positive or b.require_positive) if a.axes == b.axes else None
        message, other = (a, call.args[1]) if a is not None else (b, call.args[0])
        axes = scale_axes(other, call)
        return message if message is not None and axes is not None and is_scale_of(axes, message.axes, call) else None

    def _distribute(self, call: Call, given: list[Call], scales: dict[GraphExpr, list[Call]]) -> None:
        name = op_name(call)
        if name == "multiply":
            scaling = scale_of(call)
            assert scaling is not None
            at, scale, axes = scaling
            value = call.args[at]
            if self._may_fold(value, scale, axes):
                self.folded[call] = value
                given = [*given, call]
            if given:
                scales[value] = given
        elif not given:
            return
        elif weights_of(call, True) is not None:
            self.weights[call] = given
        elif name in ("add", "subtract", "nn.bias_add"):
            for at, operand in enumerate(call.args):
                if operand in self._messages and self._users[operand] == 1 and type_of(operand) == type_of(call):
                    scales[operand] = given
                else:
                    self.sides[call, at] = given
        else:
            scales[call.args[0]] = given

    def _may_fold(self, value: RelayExpr, scale: RelayExpr, axes: tuple[int, ...]) -> bool:
        message = self._operand(value)
        if message is None or scale not in self._cheap or not is_scale_of(axes, message.axes, value):
            return False
        return is_positive(scale) or not message.require_positive


class _Folder(GraphMutator):
    def __init__(self, plan: _Plan) -> None:
        super().__init__()
        self._plan = plan
        self._vectors: dict[Call, RelayExpr] = {}

    def visit_call(self, call: Call) -> RelayExpr:
        plan = self._plan
        if call in plan.folded:
            return self.visit(plan.folded[call])
        new = self.rebuilt_call(call)
        if call in plan.weights:
            weights = weights_of(call, True)
            assert weights is not None
            data, weight = new.args
            return rebuild(new, args=(data, self._scaled(weight, weights, call, plan.weights[call])))
        sides = {at: plan.sides[call, at] for at in range(len(call.args)) if (call, at) in plan.sides}
        if not sides:
            return new
        args = [self._side(call, at, arg, sides[at]) if at in sides else arg for at, arg in enumerate(new.args)]
        return rebuild(new, args=tuple(args))

    def _scaled(self, weight: RelayExpr, weights: Weights, call: Call, scales: list[Call]) -> RelayExpr:
        """Return the weight of a call, scaled, and of no more digits than it had: its products may be of halves."""
        scaled, dtype = weights.scaled(weight, self._scales(scales, call)), dtype_of(call)
        for half in sorted({dtype_of(scale) for scale in scales} - {dtype}):
            scaled = call_op("cast", call_op("cast", scaled, dtype=half), dtype=dtype)
        return scaled

    def _side(self, call: Call, at: int, arg: RelayExpr, scales: list[Call]) -> RelayExpr:
        """Return the vector beside a scaled value, scaled as well."""
        bias = op_name(call) == "nn.bias_add"
        axes, dims = ((0,), dims_of(arg) or ()) if bias else (self._plan.axes(call), dims_of(call) or ())
        for scale in self._scales(scales, call):
            arg = call_op("multiply", arg, broadcast_along(scale, axes, dims))
        return arg

    def _scales(self, multiplications: list[Call], value: Call) -> list[RelayExpr]:
        """Return the factors of folded multiplications, in the data type of a value.

        Those of one are the same expression wherever they go.
        """
        factors = []
        for call in multiplications:
            if call not in self._vectors:
                scale = next(arg for arg in call.args if arg is not self._plan.folded[call])
                self._vectors[call] = as_vector(self.visit(scale), dims_of(scale) or ())
            factor, dtype = self._vectors[call], dtype_of(value)
            factors.append(factor if dtype_of(call) == dtype else call_op("cast", factor, dtype=dtype))
        return factors


def _is_narrowing(call: Call) -> bool:
    """Return whether a call rounds float32 to half precision."""
    return op_name(call) == "cast" and dtype_of(call) in HALF_TYPES and dtype_of(call.args[0]) == "float32"
