"""Code generation for expressions."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, of_truth_values
from compiler.ir.function import GlobalVar
from compiler.ir.functor import Functor
from compiler.ir.op import Op
from compiler.target.codegen.llvm.indices import Indices
from compiler.target.codegen.llvm.intrinsics import INTRINSICS
from compiler.target.codegen.llvm.memory import Memory, flat_index
from compiler.target.codegen.llvm.selection.division import floor_division, trunc_div, trunc_mod
from compiler.target.codegen.llvm.selection.dot_products import dot_product
from compiler.target.codegen.llvm.selection.narrowing import may_not_fit
from compiler.target.codegen.llvm.selection.pair_products import pair_product
from compiler.target.codegen.llvm.selection.requantization import rounded_last, up_to_zeros, without_integers
from compiler.target.codegen.llvm.selection.speculation import is_speculatable
from compiler.target.codegen.llvm.state import FunctionState
from compiler.target.codegen.llvm.subroutines import call_function
from compiler.target.codegen.llvm.tracing.debug_locations import Locator
from compiler.target.codegen.llvm.types import I1, I32, constant, lane_numbers, poison, register_type
from compiler.tir.statements.buffer import Buffer, BufferLoad

CONTRACT = ("contract",)
"""Multiplications and additions may be fused; sums are never reordered."""


class Expressions(Functor):
    """Generates code for expressions at the end of the current basic block."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.locator = Locator(state.shared.debug, state.function, state.builder)
        self.index = Indices(state, self.locator, self.visit).visit
        self.memory = Memory(state, self.index)

    def visit(self, n: PrimExpr, *args: object) -> ir.Value:
        """Return the value of an expression."""
        before = self.locator.enter(n)
        logic = of_truth_values(n) if isinstance(n, expr.BinaryOp) else None
        value: ir.Value = Functor.visit(self, n if logic is None else logic)
        self.locator.leave(before)
        return value

    # leaves

    def visit_Var(self, n: Var) -> ir.Value:
        value = self.state.values.get(n)
        if value is None and n in self.state.wide:
            return self.state.builder.trunc(self.state.wide[n], register_type(n.dtype))
        if value is None:
            raise BuildError(
                f"LLVM code generation: variable {n.name!r} is used where it has no value: it is neither a parameter, "
                "nor in the shape of one, nor an axis there; a reduction axis must be reduced over"
            )
        return value

    def visit_IntImm(self, n: expr.IntImm) -> ir.Value:
        return constant(register_type(n.dtype), n.value)

    def visit_FloatImm(self, n: expr.FloatImm) -> ir.Value:
        return constant(register_type(n.dtype), n.value)

    def visit_StringImm(self, n: expr.StringImm) -> ir.Value:
        raise BuildError(f"LLVM code generation: the string {n.value!r} cannot be used as a value")

    def visit_Node(self, n: PrimExpr) -> ir.Value:
        raise BuildError(f"LLVM code generation: {type(n).__name__} must be lowered before code generation")

    # arithmetic

    def visit_Add(self, n: expr.Add) -> ir.Value:
        if dt.lanes(n.dtype) > 1 and (products := dot_product(self, n) or pair_product(self, n)) is not None:
            return products
        return self._arithmetic(n, self.state.builder.add, self.state.builder.fadd)

    def visit_Sub(self, n: expr.Sub) -> ir.Value:
        return self._arithmetic(n, self.state.builder.sub, self.state.builder.fsub)

    def visit_Mul(self, n: expr.Mul) -> ir.Value:
        return self._arithmetic(n, self.state.builder.mul, self.state.builder.fmul)

    def _arithmetic(
        self, n: expr.BinaryOp, integer: Callable[..., ir.Value], floating: Callable[..., ir.Value]
    ) -> ir.Value:
        a, b = self.visit(n.a), self.visit(n.b)
        if dt.is_float(n.dtype):
            return floating(a, b, flags=CONTRACT)
        return integer(a, b)

    def visit_Div(self, n: expr.Div | expr.FloorDiv) -> ir.Value:
        a, b = self.visit(n.a), self.visit(n.b)
        builder = self.state.builder
        if dt.is_float(n.dtype):
            return builder.fdiv(a, b, flags=CONTRACT)
        return trunc_div(builder, a, b, signed=dt.is_int(n.dtype))

    def visit_Mod(self, n: expr.Mod | expr.FloorMod) -> ir.Value:
        a, b = self.visit(n.a), self.visit(n.b)
        builder = self.state.builder
        if dt.is_float(n.dtype):
            return builder.frem(a, b)
        return trunc_mod(builder, a, b, signed=dt.is_int(n.dtype))

    def visit_FloorDiv(self, n: expr.FloorDiv) -> ir.Value:
        return floor_division(self.state.builder, n, self.visit) if dt.is_int(n.dtype) else self.visit_Div(n)

    def visit_FloorMod(self, n: expr.FloorMod) -> ir.Value:
        return floor_division(self.state.builder, n, self.visit) if dt.is_int(n.dtype) else self.visit_Mod(n)

    def visit_Min(self, n: expr.Min | expr.Max) -> ir.Value:
        a, b = self.visit(n.a), self.visit(n.b)
        order = "<" if isinstance(n, expr.Min) else ">"
        return self.state.builder.select(self._compare(order, a, b, n.a.dtype), a, b)

    visit_Max = visit_Min

    # booleans

    def visit_CmpOp(self, n: expr.CmpOp) -> ir.Value:
        return self._compare(type(n).symbol, self.visit(n.a), self.visit(n.b), n.a.dtype)

    def _compare(self, predicate: str, a: ir.Value, b: ir.Value, dtype: str) -> ir.Value:
        builder = self.state.builder
        if dt.is_float(dtype):
            # NaN compares unequal to everything.
            compare = builder.fcmp_unordered if predicate == "!=" else builder.fcmp_ordered
            return compare(predicate, a, b)
        if dt.is_int(dtype):
            return builder.icmp_signed(predicate, a, b)
        return builder.icmp_unsigned(predicate, a, b)

    def visit_And(self, n: expr.And) -> ir.Value:
        if dt.lanes(n.dtype) > 1 or is_speculatable(n.b):
            return self.state.builder.and_(self.visit(n.a), self.visit(n.b))
        return self.branch(n.a, lambda: self.visit(n.b), lambda: constant(I1, 0))

    def visit_Or(self, n: expr.Or) -> ir.Value:
        if dt.lanes(n.dtype) > 1 or is_speculatable(n.b):
            return self.state.builder.or_(self.visit(n.a), self.visit(n.b))
        return self.branch(n.a, lambda: constant(I1, 1), lambda: self.visit(n.b))

    def visit_Not(self, n: expr.Not) -> ir.Value:
        value = self.visit(n.a)
        return self.state.builder.xor(value, constant(value.type, 1))

    def visit_Select(self, n: expr.Select) -> ir.Value:
        condition = self.visit(n.condition)
        return self.state.builder.select(condition, self.visit(n.true_value), self.visit(n.false_value))

    def branch(self, condition: PrimExpr, then: Callable[[], ir.Value], other: Callable[[], ir.Value]) -> ir.Value:
        """Return ``then()`` if ``condition`` holds, else ``other()``; only the selected one is evaluated."""
        state, builder = self.state, self.state.builder
        test = self.visit(condition)
        yes, no, after = state.block("if.then"), state.block("if.else"), state.block("if.end")
        builder.cbranch(test, yes, no)
        arrived = []
        for start, value_of in ((yes, then), (no, other)):
            state.enter(start)
            arrived.append((value_of(), builder.block))
            builder.branch(after)
        state.enter(after)
        phi = builder.phi(arrived[0][0].type)
        for value, block in arrived:
            phi.add_incoming(value, block)
        return phi

    # vectors

    def visit_Ramp(self, n: expr.Ramp) -> ir.Value:
        builder = self.state.builder
        typ, count = register_type(n.dtype), dt.lanes(n.dtype)
        steps = self._lane_numbers(typ)
        if not (isinstance(n.stride, expr.IntImm) and n.stride.value == 1):
            steps = builder.mul(steps, self.state.splat(self.visit(n.stride), count))
        return builder.add(self.state.splat(self.visit(n.base), count), steps)

    def _lane_numbers(self, typ: ir.VectorType) -> ir.Value:
        """Return the vector ``0, 1, 2, …``."""
        if typ.count > 0:
            return lane_numbers(typ)
        function = self.state.shared.intrinsic("llvm.stepvector", typ, [], [typ])
        return self.state.builder.call(function, [])

    def visit_Broadcast(self, n: expr.Broadcast) -> ir.Value:
        if isinstance(n.value, (expr.IntImm, expr.FloatImm)):
            return constant(register_type(n.dtype), n.value.value)
        return self.state.splat(self.visit(n.value), dt.lanes(n.dtype))

    def visit_Shuffle(self, n: expr.Shuffle) -> ir.Value:
        builder = self.state.builder
        lanes: list[tuple[ir.Value, int | None]] = []
        for vector in n.vectors:
            value, count = self.visit(vector), dt.lanes(vector.dtype)
            lanes += [(value, None)] if count == 1 else [(value, lane) for lane in range(count)]
        picked = []
        for index in n.indices:
            if not isinstance(index, expr.IntImm) or not 0 <= index.value < len(lanes):
                raise BuildError(f"LLVM code generation: a shuffle must select lanes by constants, got {index}")
            value, lane = lanes[index.value]
            picked.append(value if lane is None else builder.extract_element(value, ir.Constant(I32, lane)))
        if len(picked) == 1:
            return picked[0]
        result = poison(register_type(n.dtype))
        for number, one in enumerate(picked):
            result = builder.insert_element(result, one, ir.Constant(I32, number))
        return result

    # memory, bindings, calls

    def visit_BufferLoad(self, n: BufferLoad) -> ir.Value:
        mask = None if n.predicate is None else self.visit(n.predicate)
        return self.memory.load(n.buffer, n.indices, mask)

    def address(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> ir.Value:
        """Return a pointer to an element."""
        return self.memory.address(buffer, flat_index(buffer, indices))

    def visit_Let(self, n: expr.Let) -> ir.Value:
        self.state.values[n.var] = self.visit(n.value)
        return self.visit(n.body)

    def visit_Cast(self, n: expr.Cast) -> ir.Value:
        if (same := without_integers(n)) is not None:
            return self.visit(same)
        if (rounded := rounded_last(self, n)) is not None:
            return self.convert(rounded, dt.with_lanes("int32", dt.lanes(n.dtype)), n.dtype)
        source = n.value.dtype
        value = self.visit(up_to_zeros(n.value) if dt.is_float(source) and dt.is_integral(n.dtype) else n.value)
        if dt.is_float(source) and may_not_fit(n.value, n.dtype):
            wide = dt.with_lanes("int32", dt.lanes(source))
            value, source = self.convert(value, source, wide), wide
        return self.convert(value, source, n.dtype)

    def convert(self, value: ir.Value, source: str, target: str) -> ir.Value:
        """Convert a value as in C; a float outside of the range of the integer type gives an unspecified value."""
        builder, typ = self.state.builder, register_type(target)
        if source == target:
            return value
        if dt.is_bool(target):
            zero = constant(value.type, 0)
            return self._compare("!=", value, zero, source)
        if dt.is_float(source):
            if dt.is_float(target):
                if dt.bits(target) > dt.bits(source):
                    return self.state.extended(value, typ)
                return builder.fptrunc(value, typ)
            return builder.fptosi(value, typ) if dt.is_int(target) else builder.fptoui(value, typ)
        if dt.is_float(target):
            return builder.sitofp(value, typ) if dt.is_int(source) else builder.uitofp(value, typ)
        if dt.bits(target) < dt.bits(source):
            return builder.trunc(value, typ)
        if dt.bits(target) == dt.bits(source):
            return value
        return builder.sext(value, typ) if dt.is_int(source) else builder.zext(value, typ)

    def visit_Call(self, n: expr.Call) -> ir.Value:
        if isinstance(n.op, GlobalVar):
            callee = self.state.shared.functions.get(n.op.name_hint)
            if callee is None:
                raise BuildError(f"LLVM code generation: the module has no function {n.op.name_hint!r}")
            return call_function(self, n, callee, n.args)
        handler = INTRINSICS.get(n.op.name) if isinstance(n.op, Op) else None
        if handler is None:
            name = n.op.name if isinstance(n.op, Op) else getattr(n.op, "name_hint", type(n.op).__name__)
            raise BuildError(f"LLVM code generation: calls of {name} are not supported")
        return handler(self, n)
