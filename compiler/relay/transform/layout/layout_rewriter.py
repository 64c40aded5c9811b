"""Layout rewriting, shared by AlterOpLayout and ConvertLayout.

Each call says by its operator's layout rule which layouts its operands and results have in the old graph, and which it
takes in the new one once it has been altered.  Operators that work in any layout take the one that their data comes in,
so that values are only transformed where layouts meet; a value that is needed in its old layout is transformed back
once, and one that nothing needs in its old layout never is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import derived_from, traversing
from compiler.ir.structural import structural_equal
from compiler.ir.types import Type
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr, Tuple, TupleGetItem, expect
from compiler.relay.op.layout_rules import dims_of_tensor
from compiler.relay.operator import InferCorrectLayoutOutput, InLayouts, LayoutAnswer, LayoutRule, call_op
from compiler.relay.transform.rewriter import ElementMutator, op_name, outside_kernels, type_of
from compiler.relay.ty import Dim, TupleType, same_dim, tensor_types
from compiler.te import Tensor, placeholder
from compiler.tir.layout.data_layout import Layout, bijective_layout, layout

Alter = Callable[[Call, Sequence[Type], Type], RelayExpr | None]
"""``alter(call, types of the old arguments, old type)`` returns what takes the place of a call, or None."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the old graph in the new one: ``expr``, in its layout there.

    Of ``old`` and ``new``, its layouts in both graphs, None says that the layout is unknown, and the same in both.
    """

    expr: RelayExpr
    old: Layout | None = None
    new: Layout | None = None


@dataclass(frozen=True, slots=True)
class _Results:
    """A call in the new graph whose value is a tuple, and the layouts of its elements in both graphs."""

    call: Call
    old: InLayouts
    new: InLayouts


class LayoutRewriter(ElementMutator):
    """Puts what ``alter`` returns (see :data:`Alter`) in place of calls, and brings what works in any layout into the
    same one.
    """

    def __init__(self, alter: Alter) -> None:
        super().__init__()
        self._alter = alter
        self._values: dict[GraphExpr, Value] = {}
        self._results: dict[GraphExpr, _Results] = {}
        self._transformed: dict[tuple[RelayExpr, Layout, Layout], RelayExpr] = {}

    def rewrite(self, expr: GraphExpr) -> RelayExpr:
        with traversing():
            for part in post_order(expr, outside_kernels):
                with derived_from(part.span):
                    self._rewrite(part)
            return self.visit(expr)

    def visit(self, expr: GraphExpr) -> RelayExpr:
        """Return an expression in its old layout."""
        if expr not in self.memo_map:
            with derived_from(expr.span):
                if expr in self._values:
                    self.memo_map[expr] = self._in_old_layout(self._values[expr])
                elif expr in self._results:
                    self.memo_map[expr] = self._tuple_in_old_layout(self._results[expr])
        return super().visit(expr)

    def _rewrite(self, part: GraphExpr) -> None:
        if isinstance(part, TupleGetItem) and part.tuple_value in self._results:
            results = self._results[part.tuple_value]
            element = rebuild(part, tuple_value=results.call)
            self._values[part] = Value(element, results.old[part.index], results.new[part.index])
        elif isinstance(part, Call) and isinstance(part.op, Op):
            self._rewrite_call(part)
        else:
            self.visit(part)

    def _rewrite_call(self, call: Call) -> None:
        if _layout_rule(call) is None:
            self._alter_without_layout(call)
            return
        values = [self._values.get(o) or Value(self.visit(o)) for o in _flat_operands(call)]
        types = [type_of(arg) for arg in call.args]
        before = _inferred(call, None, [v.old for v in values], types)
        if before is None or not _blocks_fit(before, call):
            self.visit(call)
            return
        operands = zip(_flat_operands(call), values, before.input_layouts, strict=True)
        values = [self._as_layout(*each) for each in operands]
        came_in = [v.new for v in values]
        altered = self._altered(rebuild(call, args=_like_operands(call, [v.expr for v in values])), call, types)
        after = _inferred(altered, came_in, before.input_layouts, types)
        if after is None:
            self._alter_in_old_layout(call, types)
            return
        made = self._in_layouts(altered, came_in, after)
        if made is None:
            self.visit(call)
        else:
            self._enter(call, made, before.output_layouts, after.output_layouts)

    def _as_layout(self, operand: GraphExpr, value: Value, old: Layout | None) -> Value:
        """Return an operand whose axes a call sees as a layout; in its old form where it has come as another one."""
        if value.old == old:
            return value
        return Value(self.visit(operand), old, old)

    def _alter_without_layout(self, call: Call) -> None:
        """Alter the call of an operator that no layouts are known of, whose operands stay in their old ones."""
        plain = expect(Call, self.visit(call))
        made = self._alter(plain, [type_of(arg) for arg in call.args], type_of(call))
        if made is not None:
            type_of(made)
            self.memo_map[call] = made

    def _alter_in_old_layout(self, call: Call, types: Sequence[Type]) -> None:
        """Alter a call into one of another operator with unknown layouts, if that has the same type."""
        plain = expect(Call, self.visit(call))
        made = self._altered(plain, call, types)
        if made.op is not call.op and structural_equal(type_of(made), type_of(call)):
            self.memo_map[call] = made

    def _altered(self, call: Call, old: Call, types: Sequence[Type]) -> Call:
        made = self._alter(call, types, type_of(old))
        if made is None:
            return call
        if not isinstance(made, Call) or len(_flat_operands(made)) != len(_flat_operands(call)):
            raise ArgumentError(f"the layout of {call.op} is altered by another call of as many arguments, or None")
        return made

    def _in_layouts(self, call: Call, came_in: InLayouts, layouts: InferCorrectLayoutOutput) -> Call | None:
        """Return a call with its operands in the layouts that it takes; None if blocks do not fit into an extent."""
        each = zip(_flat_operands(call), came_in, layouts.input_layouts, strict=True)
        try:
            operands = [self._transform(operand, source, target) for operand, source, target in each]
        except ArgumentError:
            return None
        made = rebuild(call, args=_like_operands(call, operands), attrs=layouts.new_attrs)
        type_of(made)
        return made

    def _enter(self, call: Call, made: Call, old: InLayouts, new: InLayouts) -> None:
        """Note what a call has become, and in which layouts its results are."""
        if isinstance(type_of(call), TupleType):
            self._results[call] = _Results(made, old, new)
        else:
            self._values[call] = Value(made, old[0], new[0])

    def _tuple_in_old_layout(self, results: _Results) -> RelayExpr:
        if list(results.old) == list(results.new):
            return results.call
        parts = enumerate(zip(results.old, results.new, strict=True))
        values = [Value(TupleGetItem(results.call, at), old, new) for at, (old, new) in parts]
        return Tuple(tuple(self._in_old_layout(v) for v in values))

    def _in_old_layout(self, value: Value) -> RelayExpr:
        return self._transform(value.expr, value.new, value.old)

    def _transform(self, expr: RelayExpr, source: Layout | None, target: Layout | None) -> RelayExpr:
        """Return a value in another layout, which may have more dimensions."""
        if source is None or target is None or source == target:
            return expr
        key = (expr, source, target)
        if key not in self._transformed:
            self._transformed[key] = _transformed(expr, source, target)
        return self._transformed[key]


def _transformed(expr: RelayExpr, source: Layout, target: Layout) -> RelayExpr:
    missing = "".join(letter for letter in target.letters if letter not in source.letters)
    if missing:
        if not source:
            return expr  # a scalar fits to every layout
        expr = call_op("expand_dims", expr, axis=0, num_newaxis=len(missing))
        source = layout(missing + str(source))
        if source == target:
            return expr
    if bijective_layout(source, target) is None:
        raise ArgumentError(f"a tensor of layout {source} cannot be converted to layout {target}")
    target.shape(source.extents(dims_of_tensor(type_of(expr))))
    call = call_op("layout_transform", expr, src_layout=str(source), dst_layout=str(target))
    type_of(call)
    return call


def _layout_rule(call: Call) -> LayoutRule[Any] | None:
    return call.op.get_attr("FInferCorrectLayout") if isinstance(call.op, Op) else None


def _inferred(call: Call, new_in: InLayouts | None, old_in: InLayouts, types: Sequence[Type]) -> LayoutAnswer:
    """Return the layouts of a call; None if one of them is not known."""
    rule = _layout_rule(call)
    made = None if rule is None else rule(call.attrs, new_in, old_in, tuple(types))
    if made is None or any(each is None for each in (*made.input_layouts, *made.output_layouts)):
        return None
    if len(made.input_layouts) != len(old_in):
        raise ArgumentError(
            f"FInferCorrectLayout of {op_name(call)}: expected {len(old_in)} layouts of inputs, "
            f"got {len(made.input_layouts)}"
        )
    return made


def _blocks_fit(layouts: InferCorrectLayoutOutput, call: Call) -> bool:
    """Return whether all that is said to be in blocks is: padding or cutting the elements of a block ends it."""
    operands = tensor_types([type_of(arg) for arg in call.args])
    each = [*zip(layouts.input_layouts, operands, strict=False)]
    each += zip(layouts.output_layouts, tensor_types([type_of(call)]), strict=False)
    return all(_has_blocks(t.dims, made) for made, t in each if made is not None and any(a.factor for a in made.axes))


def _has_blocks(dims: Sequence[Dim], made: Layout) -> bool:
    if len(dims) != len(made):
        return False
    return all(not a.factor or same_dim(a.factor, d) for a, d in zip(made.axes, dims, strict=True))


def _flat_operands(call: Call) -> tuple[RelayExpr, ...]:
    return tuple(p for a in call.args for p in (a.fields if isinstance(a, Tuple) else (a,)))


def _like_operands(call: Call, forms: Sequence[RelayExpr]) -> tuple[RelayExpr, ...]:
    """Return new operands, grouped into tuples like those of a call."""
    left = iter(forms)
    return tuple(
        rebuild(arg, fields=tuple(next(left) for _ in arg.fields)) if isinstance(arg, Tuple) else next(left)
        for arg in call.args
    )


def placeholders(types: Sequence[Type]) -> list[Tensor]:
    """Return a tensor of each type for rules of programs, which read shapes and data types."""
    return [placeholder(t.shape, t.dtype) for t in tensor_types(types)]
