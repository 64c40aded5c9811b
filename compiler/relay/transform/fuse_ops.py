"""FuseOps: groups operators into kernels.

Nodes are numbered in the order of evaluation; every node begins as a group of its own, and groups are merged into the
group of their immediate post-dominator where the rules of :func:`_may_fuse` allow it for every node between them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from math import prod
from typing import Any

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
from compiler.relay.analysis.post_dominators import PostDominators, Use
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem, Var, expect
from compiler.relay.function import Function
from compiler.relay.operator import OpPattern, RelayOp
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, is_primitive, op_name, outside_kernels, type_of, typed
from compiler.relay.ty import AnyDim, TensorType, TupleType, tensor_types

MAX_EVALUATIONS = 256
"""How often a kernel may evaluate one of its operators for an element of its result."""
_ANCHORS = (OpPattern.OUT_ELEMWISE_FUSABLE, OpPattern.COMM_REDUCE)
"""What a kernel has one of at most; elementwise operators may follow it, but not a reduction."""
_OUTSIDE = -1
Condition = Callable[[OpPattern, bool], bool]
"""``condition(pattern of a group on the way, whether it is the last)`` says whether fusion may go through it."""


@dataclass(slots=True)
class FusionGraph:
    """The expressions that may be fused, with their patterns and who uses them how."""

    nodes: list[GraphExpr] = field(default_factory=list)
    patterns: list[OpPattern] = field(default_factory=list)
    uses: list[list[Use]] = field(default_factory=list)
    index: dict[GraphExpr, int] = field(default_factory=dict)

    @staticmethod
    def of(func: RelayExpr) -> FusionGraph:
        """Return the graph of a function; what cannot be fused uses its operands from outside."""
        graph = FusionGraph()
        for part in post_order(func, outside_kernels):
            pattern = _pattern(part)
            user = _OUTSIDE
            if pattern is not None:
                user = graph.index[part] = len(graph.nodes)
                graph.nodes.append(part)
                graph.patterns.append(pattern)
                graph.uses.append([])
            for operand in () if is_primitive(part) else operands(part):
                if operand in graph.index:
                    graph.uses[graph.index[operand]].append(_use(part, operand, user, pattern))
        return graph


def _pattern(expr: GraphExpr) -> OpPattern | None:
    """Return the fusion pattern of an expression; None if it is never part of a kernel."""
    if isinstance(expr, Call) and isinstance(expr.op, RelayOp):
        opaque = expr.op.get_attr("TOpIsStateful") or _data_dependent(expr)
        return OpPattern.OPAQUE if opaque else OpPattern(expr.op.get_attr("TOpPattern"))
    if isinstance(expr, Tuple):
        return OpPattern.TUPLE
    return OpPattern.INJECTIVE if isinstance(expr, TupleGetItem) else None


def _use(user: GraphExpr, operand: GraphExpr, at: int, pattern: OpPattern | None) -> Use:
    of_tensor = isinstance(type_of(operand), TensorType)
    if isinstance(user, Call) and isinstance(user.op, RelayOp):
        if pattern is OpPattern.BROADCAST and type_of(operand) == type_of(user):
            pattern = OpPattern.ELEMWISE
        return Use(at, pattern or OpPattern.ELEMWISE)
    if isinstance(user, Tuple) and of_tensor:
        return Use(at, OpPattern.INJECTIVE)
    if isinstance(user, TupleGetItem) and isinstance(type_of(user), TensorType):
        return Use(at, OpPattern.INJECTIVE)
    return Use(_OUTSIDE, OpPattern.OPAQUE)


def _data_dependent(call: Call) -> bool:
    """Return whether the shape of a result follows from values: it is unknown though those of the operands are not."""
    return _has_unknown_extent(type_of(call)) and not any(_has_unknown_extent(type_of(a)) for a in call.args)


def _has_unknown_extent(t: Any) -> bool:
    if not isinstance(t, (TensorType, TupleType)):
        return False
    return any(isinstance(d, AnyDim) for part in tensor_types([t]) for d in part.shape)


class FusionGroups:
    """A partition of a graph's nodes into kernels of at most ``max_depth`` nodes."""

    def __init__(self, graph: FusionGraph, max_depth: int) -> None:
        self.graph = graph
        self._max_depth = max_depth
        self._tree = PostDominators(graph.uses, OpPattern.OPAQUE)
        count = len(graph.nodes)
        self._up = list(range(count))
        self._size = [1] * count
        self._pattern = list(graph.patterns)
        self._anchored = [p in _ANCHORS for p in graph.patterns]
        self._members = [[node] for node in range(count)]
        self._fanout = [len(uses) or 1 for uses in graph.uses]

    def root(self, node: int) -> int:
        up = self._up
        while up[node] != node:
            up[node] = up[up[node]]
            node = up[node]
        return node

    def fuse(self) -> None:
        """Merge groups, first around the heavy operators, then what only moves elements, then into tuples."""
        for phase in (_around_anchors, _injective, _into_tuples):
            for node in range(len(self.graph.nodes)):
                parent = self._tree.parent[node]
                if parent == self._tree.root or self._pattern[node] is OpPattern.OPAQUE:
                    continue
                condition = phase(self, node, parent)
                if condition is not None and self.root(node) != self.root(parent):
                    self._try(node, parent, condition)

    def _try(self, node: int, sink: int, condition: Condition) -> None:
        """Merge everything between a node and its post-dominator into the latter's group, if all of it may."""
        path: list[int] = [node]
        seen = {node, sink}
        for at in path:
            for use in self.graph.uses[at]:
                user = use.user
                if user == sink:
                    continue
                if user not in seen:
                    if len(path) >= self._max_depth or not condition(self._pattern[self.root(user)], False):
                        return
                    seen.add(user)
                    path.append(user)
        target = self.root(sink)
        if not condition(self._pattern[target], True):
            return
        groups = {self.root(at) for at in path} | {target}
        if sum(self._size[g] for g in groups) <= self._max_depth and self._expand_little(groups):
            for group in groups - {target}:
                self._merge(group, target)

    def _expand_little(self, groups: Set[int]) -> bool:
        """Return whether a kernel of these groups evaluates each operator a few times for an element of its result.

        Kernels compute operators where their values are used, so that what is used twice is evaluated twice, and what
        it is made of as well: of a chain of n squarings the first one 2ⁿ times.  What an anchor computes is stored.
        """
        if prod(self._fanout[g] for g in groups) <= MAX_EVALUATIONS:
            return True
        times: dict[int, int] = {}
        for node in sorted((node for g in groups for node in self._members[g]), reverse=True):
            times[node] = sum(times.get(use.user, 0) for use in self.graph.uses[node]) or 1
            if times[node] > MAX_EVALUATIONS:
                return False
            if self.graph.patterns[node] in _ANCHORS:
                times[node] = 1
        return True

    def _merge(self, group: int, target: int) -> None:
        self._up[group] = target
        self._size[target] += self._size[group]
        self._members[target] += self._members[group]
        self._fanout[target] *= self._fanout[group]
        if self._anchored[group]:
            self._anchored[target] = True
            self._pattern[target] = max(self._pattern[group], self._pattern[target])

    def label(self, node: int) -> OpPattern:
        """Return the hardest pattern on the ways to a node's post-dominator."""
        return OpPattern(self._tree.label[node])

    def pattern(self, node: int) -> OpPattern:
        """Return the pattern of a node, of a whole group if the node is its last."""
        return self._pattern[node]


def _around_anchors(groups: FusionGroups, node: int, parent: int) -> Condition | None:
    pattern, label = groups.pattern(node), groups.label(node)
    if groups.pattern(parent) is OpPattern.TUPLE:
        return None
    if pattern is OpPattern.OUT_ELEMWISE_FUSABLE:
        return _elementwise_only if label is OpPattern.ELEMWISE else None
    if pattern <= OpPattern.BROADCAST and (label <= OpPattern.INJECTIVE or label is OpPattern.COMM_REDUCE):
        return _moves_or_ends
    return None


def _injective(groups: FusionGroups, node: int, parent: int) -> Condition | None:
    pattern = groups.pattern(node)
    if pattern <= OpPattern.BROADCAST:
        return _around_anchors(groups, node, parent)
    movable = pattern in (OpPattern.INJECTIVE, OpPattern.TUPLE)
    return _moves if movable and groups.pattern(parent) is not OpPattern.TUPLE else None


def _into_tuples(groups: FusionGroups, node: int, parent: int) -> Condition | None:
    if groups.pattern(node) > OpPattern.INJECTIVE or groups.pattern(parent) is not OpPattern.TUPLE:
        return None
    return _moves if groups.pattern(groups.root(parent)) <= OpPattern.INJECTIVE else None


def _elementwise_only(pattern: OpPattern, last: bool) -> bool:
    return pattern <= OpPattern.BROADCAST


def _moves(pattern: OpPattern, last: bool) -> bool:
    return pattern <= OpPattern.INJECTIVE


def _moves_or_ends(pattern: OpPattern, last: bool) -> bool:
    return pattern <= OpPattern.INJECTIVE or (last and pattern in _ANCHORS)


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
