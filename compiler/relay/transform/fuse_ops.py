"""FuseOps: groups operators into kernels."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import report_rewrite
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from, traversing
from compiler.ir.transform import PassContext, register_config_option
from compiler.ir.types import FuncType
from compiler.relay.analysis import operands, post_order
from compiler.relay.analysis.aliases import RESHAPES
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem, Var, expect
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.fusion_groups import FusionGraph, FusionGroups
from compiler.relay.transform.rewriter import GraphMutator, op_name, outside_kernels, type_of, typed

_MAX_DEPTH, _LINK_PARAMS = "relay.FuseOps.max_depth", "relay.FuseOps.link_params"
register_config_option(_MAX_DEPTH, int)
register_config_option(_LINK_PARAMS, bool)

_DEFAULT_DEPTH = 256
_ANY_RANK = sys.maxsize


class FuseOps(FunctionPass, required=("InferType",)):
    """Group operators into kernels: functions with the attribute ``Primitive``.

    Level 0; requires InferType.  An intermediate result of a kernel needs no memory, and each kernel is launched once.
    Five rules decide, for an operator and everything on the ways to its immediate post-dominator (T. Chen et al., "TVM:
    An Automated End-to-End Optimizing Compiler for Deep Learning", OSDI 2018, section 3):

    1. Elementwise and broadcasting operators fuse with each other.
    2. Elementwise operators follow a heavy one (convolution, matrix product) into its kernel.
    3. Operators that only move elements fuse with each other.
    4. A reduction takes the elementwise operators before it, and those after it on its result.
    5. Two heavy operators, or two reductions, never share a kernel.

    ``relay.FuseOps.max_depth`` in the context's configuration limits how many operators one kernel has, and
    ``relay.FuseOps.link_params`` puts constants of any size into kernels instead of scalars only.

    Parameters
    ----------
    fuse_opt_level : int
        0 makes a kernel of each operator, with constants of no dimensions as parameters too; negative is the level of
        the current context.

    Examples
    --------
    ``FuseOps(fuse_opt_level=2)``::

        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
          nn.relu(add(nn.dense(%x, %w), %b))
        }
        ->
        def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
          fn (%p0: Tensor[(2, 8), float32], %p1: Tensor[(4, 8), float32], %p2: Tensor[(4), float32], Primitive=1)
              -> Tensor[(2, 4), float32] {
            nn.relu(add(nn.dense(%p0, %p1), %p2))
          }(%x, %w, %b)
        }
    """

    fuse_opt_level: int = -1

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        graph = FusionGraph.of(func)
        groups = FusionGroups(graph, int(ctx.config.get(_MAX_DEPTH, _DEFAULT_DEPTH)))
        fuses = (ctx.opt_level if self.fuse_opt_level < 0 else self.fuse_opt_level) > 0
        if fuses:
            groups.fuse()
        largest = _ANY_RANK if ctx.config.get(_LINK_PARAMS, False) else 0 if fuses else -1
        return _Fuser(graph, groups, largest).rewrite_function(func)


@dataclass(slots=True)
class _Kernel:
    """A kernel that is being built: its old expressions, the new ones, its parameters, and what is passed for them."""

    members: dict[GraphExpr, None] = field(default_factory=dict)
    inside: dict[GraphExpr, RelayExpr] = field(default_factory=dict)
    params: list[Var] = field(default_factory=list)
    args: list[RelayExpr] = field(default_factory=list)

    def parts(self, expr: GraphExpr) -> tuple[GraphExpr, ...]:
        """Return what a member is computed from."""
        return expr.args if isinstance(expr, Call) else operands(expr)

    def attributes(self) -> DictAttrs:
        """Return the attributes of the kernel's function: that it is one, and whether it only gives another shape."""
        if all(op_name(member) in RESHAPES for member in self.members):
            return DictAttrs({"Primitive": 1, "relay.reshape_only": 1})
        return DictAttrs(Primitive=1)


class _Fuser(GraphMutator):
    """Builds the kernels of a partition in the order of evaluation.

    Constants of more dimensions than ``constant_rank`` are parameters of kernels; of others the values are in them.
    """

    def __init__(self, graph: FusionGraph, groups: FusionGroups, constant_rank: int) -> None:
        super().__init__()
        self._graph = graph
        self._groups = groups
        self._constant_rank = constant_rank
        self._kernels: dict[int, _Kernel] = {}
        self._with_calls = {
            groups.root(i) for i, n in enumerate(graph.nodes) if isinstance(n, Call) and isinstance(n.op, RelayOp)
        }

    def rewrite(self, expr: GraphExpr) -> RelayExpr:
        index = self._graph.index
        with traversing():
            for part in post_order(expr, outside_kernels):
                at = index.get(part)
                group = -1 if at is None else self._groups.root(at)
                if op_name(part) == "annotation.stop_fusion":
                    self.memo_map[part] = self.visit(expect(Call, part).args[0])  # it has done its work
                elif group in self._with_calls and self._belongs(part, group):
                    self._add(part, group)
                elif part not in self.memo_map:
                    self.visit(part)
        return self.memo_map[expr]

    def _belongs(self, expr: GraphExpr, group: int) -> bool:
        """Return whether an expression is computed inside; an element of an outside tuple is passed as it is."""
        kernel = self._kernels.get(group)
        return not isinstance(expr, TupleGetItem) or (kernel is not None and expr.tuple_value in kernel.members)

    def _add(self, expr: GraphExpr, group: int) -> None:
        kernel = self._kernels.setdefault(group, _Kernel())
        kernel.members[expr] = None
        if expr is self._graph.nodes[group]:
            self.memo_map[expr] = self._finish(expr, kernel)

    def _inside(self, expr: GraphExpr, inside: Mapping[GraphExpr, RelayExpr]) -> RelayExpr:
        new: RelayExpr
        if isinstance(expr, Call):
            new = rebuild(expr, args=tuple([inside[a] for a in expr.args]))
        elif isinstance(expr, Tuple):
            new = Tuple(tuple([inside[f] for f in expr.fields]))
        else:
            assert isinstance(expr, TupleGetItem)
            new = TupleGetItem(inside[expr.tuple_value], expr.index)
        return typed(new, expr.checked_type_)

    def _from_outside(self, operand: GraphExpr, kernel: _Kernel) -> RelayExpr:
        if isinstance(operand, Constant) and len(operand.data.shape) <= self._constant_rank:
            return operand
        param = Var(f"p{len(kernel.args)}", type_of(operand))
        kernel.params.append(typed(param, param.type_annotation))
        kernel.args.append(self.visit(operand))
        return param

    def _finish(self, root: GraphExpr, kernel: _Kernel) -> Call:
        for member in kernel.members:  # in the order of evaluation, in which parameters are numbered
            for operand in kernel.parts(member):
                if operand not in kernel.inside:
                    with derived_from(operand.span):
                        kernel.inside[operand] = self._from_outside(operand, kernel)
            with derived_from(member.span):
                kernel.inside[member] = self._inside(member, kernel.inside)
        with derived_from(frozenset().union(*[m.span for m in kernel.members])):
            params = tuple(kernel.params)
            result = type_of(root)
            func = Function(params, kernel.inside[root], result, (), kernel.attributes())
            func = typed(func, FuncType(tuple(type_of(p) for p in params), result))
            call: Call = typed(Call(func, tuple(kernel.args)), result)
        for member in kernel.members:
            report_rewrite(expect(RelayExpr, member), call)
        return call
