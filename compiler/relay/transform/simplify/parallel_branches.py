"""Finds parallel branches with the same operator and input, and combines them into one call.

A branch is a call and the elementwise or broadcasting calls that follow it, each the only user of the one before, that
leave its shape as it is.  What follows is combined as well, as far as all branches do the same there, their further
operands can be joined, and the wide result keeps its shape too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence, Set
from typing import ClassVar

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.transform import PassContext
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import OpPattern, RelationError
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import (
    GraphMutator,
    op_name,
    outside_kernels,
    relay_op,
    tensor_type,
    type_of,
    users_of,
)
from compiler.relay.ty import TensorType, same_dim

Branch = list[Call]


class CombineParallel(FunctionPass, abstract=True):
    """A pass that computes several calls of an operator on the same data as one."""

    method: ClassVar[str] = "key"
    operator: ClassVar[str]
    """The operator whose calls are combined."""

    min_num_branches: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.min_num_branches, int) or self.min_num_branches < 2:
            least = show(self.min_num_branches)
            raise ArgumentError(f"{self.info.name}: min_num_branches must be an int of at least 2, got {least}")
        super().__post_init__()

    @abstractmethod
    def key(self, call: Call) -> Hashable | None:
        """Return what calls of the same data must agree in to be combined; None if this one cannot be."""

    @abstractmethod
    def combined(self, calls: Sequence[Call], data: RelayExpr, weights: Sequence[RelayExpr]) -> Call:
        """Return one call in place of several of the old graph."""

    @abstractmethod
    def fits(self, branches: Sequence[Branch], depth: int, at: int) -> bool:
        """Return whether an operand of the calls that stand ``depth`` behind the beginnings of their branches can be
        joined.
        """

    @abstractmethod
    def joined(self, branches: Sequence[Branch], depth: int, operands: Sequence[RelayExpr]) -> RelayExpr:
        """Return the operands of what follows as one, given one of each branch in the new graph."""

    @abstractmethod
    def parts(self, branches: Sequence[Branch], depth: int, result: RelayExpr) -> list[RelayExpr]:
        """Return the result of each branch, of which ``depth`` calls have been combined."""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        groups = [g for g in _groups(func, self) if len(g) >= self.min_num_branches]
        dependent = _dependent(func, [branch[0] for group in groups for branch in group])
        groups = [g for g in groups if not any(branch[0].args[1] in dependent for branch in g)]
        return _Combiner(groups, dependent, self).rewrite_function(func) if groups else func


def operand_type(call: Call, at: int) -> TensorType:
    """Return the type of an operand that is known to be a tensor."""
    t = tensor_type(call.args[at])
    assert t is not None
    return t


def _groups(func: Function, rules: CombineParallel) -> list[list[Branch]]:
    users: dict[GraphExpr, list[Call]] = {}
    uses = users_of(func)
    order = post_order(func, outside_kernels)
    for expr in order:
        if isinstance(expr, Call):
            for arg in expr.args:
                users.setdefault(arg, []).append(expr)
    groups: dict[Hashable, list[Branch]] = {}
    for expr in order:
        if isinstance(expr, Call) and op_name(expr) == rules.operator and (key := rules.key(expr)) is not None:
            groups.setdefault((expr.args[0], key), []).append(_branch(expr, users, uses))
    return list(groups.values())


def _branch(call: Call, users: dict[GraphExpr, list[Call]], uses: dict[GraphExpr, int]) -> Branch:
    branch = [call]
    while uses[branch[-1]] == 1 and len(users.get(branch[-1], ())) == 1:
        (user,) = users[branch[-1]]
        op = relay_op(user)
        if op is None or op.pattern > OpPattern.BROADCAST or not _same_shape(tensor_type(user), tensor_type(call)):
            break
        branch.append(user)
    return branch


def _same_shape(a: TensorType | None, b: TensorType | None) -> bool:
    if a is None or b is None or len(a.dims) != len(b.dims):
        return False
    return all(map(same_dim, a.dims, b.dims))


def _typed(call: Call) -> TensorType | None:
    """Return the type of a call whose operands fit together; None if they do not, or it is no tensor."""
    op = relay_op(call)
    try:
        t = None if op is None or op.relation is None else op.relation(tuple(map(type_of, call.args)), call.attrs)
    except RelationError:
        return None
    return t if isinstance(t, TensorType) else None


def _dependent(func: Function, calls: Sequence[Call]) -> set[GraphExpr]:
    """Return what is computed from some calls: weights and further operands have to exist before all of them."""
    dependent: set[GraphExpr] = set(calls)
    for expr in post_order(func, outside_kernels):
        if any(operand in dependent for operand in outside_kernels(expr)):
            dependent.add(expr)
    return dependent


class _Combiner(GraphMutator):
    def __init__(self, groups: Sequence[Sequence[Branch]], dependent: Set[GraphExpr], rules: CombineParallel) -> None:
        super().__init__()
        self._rules = rules
        self._plans: dict[GraphExpr, tuple[Sequence[Branch], int]] = {}
        for group in groups:
            depth = self._depth(group, dependent)
            self._plans.update({branch[depth - 1]: (group, depth) for branch in group})

    def _depth(self, group: Sequence[Branch], dependent: Set[GraphExpr]) -> int:
        """Return how many calls of each branch can be combined, by what the combined ones are in the old graph."""
        heads = [branch[0] for branch in group]
        wide = self._rules.combined(heads, heads[0].args[0], [call.args[1] for call in heads])
        shape = tensor_type(wide)
        for depth in range(1, min(len(branch) for branch in group)):
            if not self._same_level(group, depth, dependent):
                return depth
            wide = self._level(group, depth, wide, lambda expr: expr)
            if not _same_shape(_typed(wide), shape):
                return depth
        return min(len(branch) for branch in group)

    def _same_level(self, group: Sequence[Branch], depth: int, dependent: Set[GraphExpr]) -> bool:
        first = group[0][depth]
        place = _place_of(group[0], depth)
        for branch in group:
            call = branch[depth]
            if call.op is not first.op or call.attrs != first.attrs or _place_of(branch, depth) != place:
                return False
            if any(arg in dependent for at, arg in enumerate(call.args) if at != place):
                return False
        others = [at for at in range(len(first.args)) if at != place]
        return all(self._rules.fits(group, depth, at) for at in others)

    def visit_call(self, call: Call) -> RelayExpr:
        if call not in self._plans:
            return super().visit_call(call)
        group, depth = self._plans[call]
        with derived_from(frozenset().union(*[c.span for branch in group for c in branch[:depth]])):
            parts = self._rules.parts(group, depth, self._combined(group, depth))
        self.memo_map.update(zip([branch[depth - 1] for branch in group], parts, strict=True))
        return self.memo_map[call]

    def _combined(self, group: Sequence[Branch], depth: int) -> RelayExpr:
        heads = [branch[0] for branch in group]
        data, weights = self._new(heads[0].args[0]), [self._new(call.args[1]) for call in heads]
        result: RelayExpr = self._rules.combined(heads, data, weights)
        for level in range(1, depth):
            result = self._level(group, level, result, self._new)
        return result

    def _level(
        self, group: Sequence[Branch], level: int, result: RelayExpr, new: Callable[[RelayExpr], RelayExpr]
    ) -> Call:
        """Return what follows of all branches at one level as one call; ``new`` returns operands of the old graph."""
        place = _place_of(group[0], level)
        args: list[RelayExpr] = []
        for at in range(len(group[0][level].args)):
            operands = [] if at == place else [new(branch[level].args[at]) for branch in group]
            args.append(self._rules.joined(group, level, operands) if operands else result)
        return rebuild(group[0][level], args=tuple(args))

    def _new(self, expr: GraphExpr) -> RelayExpr:
        """Return an operand in the new graph, which may not have been reached yet."""
        for part in post_order(expr, lambda e: () if e in self.memo_map else outside_kernels(e)):
            self.visit(part)
        return self.memo_map[expr]


def _place_of(branch: Branch, depth: int) -> int:
    """Return which operand of a call comes from the call before it."""
    return next(at for at, arg in enumerate(branch[depth].args) if arg is branch[depth - 1])
