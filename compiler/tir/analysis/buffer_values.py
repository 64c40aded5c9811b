"""Known values of buffer elements, from stores and from ``T.assume``.

A fact says that ``buffer[axes] == value(axes)`` wherever the axes lie in a region.  A store takes its element out of
the region of older facts, and makes a new one; branches and loops combine the facts of their parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, product

from compiler.arith.analyzer import Analyzer
from compiler.arith.facts import is_stable
from compiler.arith.integer_region import Region, certain_region, possible_region
from compiler.ir.expr.primexpr import EQ, LT, NE, And, Not, Or, PrimExpr, Var
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import Mutator, nodes_of
from compiler.tir.analysis.buffer_writes import Access, AxesOf, access_of, equations, iterations, writes_of
from compiler.tir.expressions.op import all as all_of
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.stmt import BlockRealize, For, ForKind, Stmt

MAX_FACTS = 64
"""How many facts are remembered at a time."""
MAX_RESOLUTIONS = 16
"""In how many ways the loads of a stored value are replaced by what they may give."""


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """``buffer[axes] == value`` for all axes in a region."""

    buffer: Buffer
    axes: tuple[Var, ...]  # one for each dimension; the same ones for all facts about a buffer
    region: Region
    value: PrimExpr  # made of the axes and of variables of the program

    def at(self, indices: Sequence[PrimExpr]) -> tuple[Region, PrimExpr]:
        """Return where the fact holds of an element, and the value that it has there."""
        places = dict(zip(self.axes, indices, strict=True))
        return self.region.substitute(places, unknown=False), substitute(self.value, places)

    def uses(self, var: Var) -> bool:
        """Return whether the fact is about a variable of the program."""
        return uses_var(self.value, var) or any(part.uses(var) for part in self.region.parts)


class BufferValues:
    """The facts that hold at a point of a program, which moves as the program is walked through."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self._axes = AxesOf()
        self._facts: list[Fact] = []
        self.context = Region.everything()
        self._concurrent = False
        self.knows_scalars = False

    # Questions

    def resolve(self, e: PrimExpr) -> PrimExpr:
        """Return an expression with the values of elements that are known."""
        return _Resolve(self).visit(e) if self._facts else e

    def value_of(self, load: BufferLoad) -> PrimExpr | None:
        """Return the value of an element here."""
        if load.predicate is not None or not all(map(is_stable, load.indices)) or load.dtype != load.buffer.dtype:
            return None
        for fact in self._facts:
            if fact.buffer is load.buffer:
                region, value = fact.at(load.indices)
                if region.covers(self.context):
                    return value
        return None

    def truth(self, condition: PrimExpr) -> bool | None:
        """Return whether a condition holds here, None if that is not known."""
        e = self.analyzer.simplify(self.resolve(condition))
        if certain_region(e).covers(self.context):
            return True
        return False if certain_region(Not(e)).covers(self.context) else None

    # Steps

    def assume(self, condition: PrimExpr) -> None:
        """Go on where a condition holds."""
        for clause in _clauses(condition, And):
            literals = _clauses(clause, Or)
            if all(map(is_stable, literals)):
                self.knows_scalars = True
                self.context = self.context & possible_region(clause)
            else:
                self._learn_from(literals)

    def _learn_from(self, literals: list[PrimExpr]) -> None:
        """Add the fact that a disjunction states about an element, if it is one."""
        reading = [e for e in literals if not is_stable(e)]
        if len(reading) == 1 and not self._concurrent:
            others = [Not(e) for e in literals if e is not reading[0]]
            self._learn(reading[0], certain_region(all_of(*others)) if others else Region.everything())

    def _learn(self, condition: PrimExpr, region: Region) -> None:
        """Add the fact that an equation states."""
        if not isinstance(condition, EQ):
            return
        for load, value in ((condition.a, condition.b), (condition.b, condition.a)):
            if isinstance(load, BufferLoad) and is_stable(value) and all(map(is_stable, load.indices)):
                axes = self._axes[load.buffer]
                self._add([Fact(load.buffer, axes, region & equations(axes, load.indices), value)])

    def store(self, store: BufferStore) -> None:
        """Go past a store."""
        value = self.resolve(store.value)
        write = access_of(replace(store, value=value))
        self._facts = [self._after(fact, [write], Region.everything(), ()) for fact in self._facts]
        self._facts = [fact for fact in self._facts if fact.region.parts]
        if (
            self._concurrent
            or store.predicate is not None
            or not is_stable(write.value)
            or not all(map(is_stable, write.indices))
        ):
            return
        axes = self._axes[store.buffer]
        region = equations(axes, write.indices) & write.region
        facts = [Fact(store.buffer, axes, region, self.analyzer.simplify(write.value))]
        for lane in write.variables:
            facts = [fact for f in facts for fact in self._projected(f, lane, None)]
        self._add(facts)

    def forget(self, stmt: Stmt | PrimExpr) -> None:
        """Go past a statement, or a call, of which only the elements that it writes are known."""
        writes = writes_of(stmt)
        self._facts = [self._after(fact, writes, Region.everything(), ()) for fact in self._facts]

    @contextmanager
    def scope(self, condition: PrimExpr | None = None, var: Var | None = None) -> Iterator[None]:
        """Go through statements for which a condition holds; assumptions about variables end with them.

        What is known in terms of ``var``, which exists within the statements, ends with them too.
        """
        outside, scalars = self.context, self.knows_scalars
        if condition is not None:
            self.context = outside & possible_region(condition)
        try:
            yield
        finally:
            self.context, self.knows_scalars = outside, scalars
            if var is not None:
                self._facts = [fact for fact in self._facts if not fact.uses(var)]

    @contextmanager
    def concurrently(self) -> Iterator[None]:
        """Go through statements that several threads run at the same time: nothing is learned from them."""
        outside, self._concurrent, self._facts = self._concurrent, True, []
        try:
            yield
        finally:
            self._concurrent = outside

    @contextmanager
    def alternative(self, condition: PrimExpr, before: list[Fact]) -> Iterator[list[Fact]]:
        """Go through one branch; what is known after it is in the list that is given when it ends."""
        after: list[Fact] = []
        self._facts = list(before)
        with self.scope(condition):
            for clause in _clauses(condition, And):
                self._learn_from(_clauses(clause, Or))
            yield after
        after.extend(self._facts)

    def facts(self) -> list[Fact]:
        """Return what is known here."""
        return list(self._facts)

    def go_back_to(self, facts: list[Fact]) -> None:
        """Go back to where the walk was when some facts held."""
        self._facts = list(facts)

    def join(self, condition: PrimExpr, before: list[Fact], then: list[Fact], other: list[Fact]) -> None:
        """Go on after both branches of a condition."""
        self._facts = [fact for fact in before if fact in then and fact in other]
        same = set(self._facts)
        for branch, holds in ((then, certain_region(condition)), (other, certain_region(Not(condition)))):
            self._add(replace(fact, region=fact.region & holds) for fact in branch if fact not in same)
        for a in then:
            for b in other:
                if a not in same and a.buffer is b.buffer and self.analyzer.can_prove_equal(a.value, b.value):
                    self._add([replace(a, region=a.region & b.region)])

    @contextmanager
    def loop(self, loop: For) -> Iterator[None]:
        """Go through the body of a loop, any iteration of it."""
        before, writes = self._facts, writes_of(loop.body)
        other = Var(loop.loop_var.name, loop.loop_var.dtype)
        elsewhere = [write.renamed(loop.loop_var, other) for write in writes]
        within = iterations(loop, loop.loop_var)
        parallel = loop.kind != ForKind.SERIAL and loop.kind != ForKind.UNROLLED and loop.kind != ForKind.VECTORIZED
        earlier = iterations(loop, other) & possible_region(
            NE(other, loop.loop_var) if parallel else LT(other, loop.loop_var)
        )
        later = iterations(loop, other) & possible_region(
            NE(other, loop.loop_var) if parallel else LT(loop.loop_var, other)
        )
        self._facts = [self._after(fact, elsewhere, earlier, (other,), steady=True) for fact in before]
        with self.scope():
            self.context = self.context & within
            yield
        ended = [self._after(fact, elsewhere, later, (other,)) for fact in self._facts]
        self._facts = before
        self._facts = [self._after(fact, writes, within, (loop.loop_var,), steady=True) for fact in before]
        for fact in ended:
            inside = replace(fact, region=fact.region & within)
            self._add(self._projected(inside, loop.loop_var, loop.min + loop.extent - 1))

    @contextmanager
    def block(self, realize: BlockRealize) -> Iterator[None]:
        """Go through a block that runs for any values of its variables that are bound to them."""
        variables = [iter_var.var for iter_var in realize.block.iter_vars]
        bound = possible_region(all_of(*map(EQ, variables, realize.iter_values))) if variables else Region.everything()
        with self.scope():
            self.context = self.context & bound
            yield
        facts, self._facts = self._facts, []
        for fact in facts:
            unbound = [replace(fact, region=fact.region & bound)] if any(map(fact.uses, variables)) else [fact]
            for var in variables:
                unbound = [known for each in unbound for known in self._without(each, var)]
            self._add(unbound)

    def _without(self, fact: Fact, var: Var) -> Iterable[Fact]:
        return self._projected(fact, var, None) if fact.uses(var) else (fact,)

    # Facts

    def _add(self, facts: Iterable[Fact]) -> None:
        """Add facts; those of one value are one fact."""
        for fact in facts:
            if not fact.region.parts:
                continue
            for at, old in enumerate(self._facts):
                if old.buffer is fact.buffer and self.analyzer.can_prove_equal(old.value, fact.value):
                    if not old.region.covers(fact.region):
                        self._facts[at] = replace(old, region=old.region | fact.region)
                    break
            else:
                self._facts.append(fact)
        del self._facts[:-MAX_FACTS]

    def _after(
        self, fact: Fact, writes: Sequence[Access], where: Region, variables: tuple[Var, ...], steady: bool = False
    ) -> Fact:
        """Return what is left of a fact after writes; ``variables`` run over ``where`` in them.

        With ``steady``, writes of the value that is there already leave the fact as it is.
        """
        region = fact.region
        for write in writes:
            if not write.is_to(fact.buffer):
                continue
            changed = where & write.elements(fact.buffer, fact.axes)
            if steady and write.buffer is fact.buffer and all(map(is_stable, write.indices)):
                changed = changed.minus(self._preserved(fact, write, writes), unknown=True)
            region = region.minus(changed.without([*write.variables, *variables]))
        return fact if region is fact.region else replace(fact, region=region)

    def _preserved(self, fact: Fact, write: Access, writes: Sequence[Access]) -> Region:
        """Return where a write stores what a fact says, if all elements that it reads are as facts say.

        An element that the same fact is about is as it says before the write, by induction over the writes.
        """
        _, target = fact.at(write.indices)
        steady = [f for f in self._facts if not any(w.is_to(f.buffer) for w in writes)]
        region = Region()
        for value, where in islice(self._resolutions(write, fact, steady), MAX_RESOLUTIONS):
            if self.analyzer.can_prove_equal(value, target):
                region = region | where
        return region

    def _resolutions(self, write: Access, fact: Fact, steady: list[Fact]) -> Iterator[tuple[PrimExpr, Region]]:
        """Yield the stored value with some of its loads replaced, and where that may be done."""
        loads = list(nodes_of(write.value, BufferLoad))
        options = [list(self._options(load, write, fact, steady)) for load in loads]
        for choice in product(*options):
            where = Region.everything()
            values = {}
            for load, (region, value) in zip(loads, choice, strict=True):
                where, values[load] = where & region, value
            yield _Replace(values).visit(write.value), where

    def _options(
        self, load: BufferLoad, write: Access, fact: Fact, steady: list[Fact]
    ) -> Iterator[tuple[Region, PrimExpr]]:
        if all(map(is_stable, load.indices)):
            pairs = zip(load.indices, write.indices, strict=False)
            if load.buffer is fact.buffer and all(self.analyzer.can_prove_equal(a, b) for a, b in pairs):
                yield Region.everything(), fact.at(load.indices)[1]
                return
            for other in steady:
                if other.buffer is load.buffer:
                    yield other.at(load.indices)
        yield Region.everything(), load

    def _projected(self, fact: Fact, var: Var, last: PrimExpr | None) -> Iterator[Fact]:
        """Yield what a fact about any value of a variable says when all are through; ``last`` is the last one."""
        for part in fact.region.parts:
            value = part.solution(var)
            if value is None:
                if last is None or not is_stable(last):
                    continue
                value = last
            places = {var: value}
            region = Region([part]).substitute(places, unknown=False)
            if region.parts and (not uses_var(value, var)):
                known = self.analyzer.simplify(substitute(fact.value, places))
                yield replace(fact, region=region, value=known)


def _clauses(e: PrimExpr, kind: type[And] | type[Or]) -> list[PrimExpr]:
    """Return what a condition is the conjunction of, disjunctions multiplied out; or what it is the disjunction of."""
    if isinstance(e, kind):
        return _clauses(e.a, kind) + _clauses(e.b, kind)
    if kind is And and isinstance(e, Or):
        sides = [Or(a, b) for a in _clauses(e.a, And) for b in _clauses(e.b, And)]
        return list(sides)
    return [e]


class _Resolve(Mutator):
    def __init__(self, values: BufferValues) -> None:
        self._values = values

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        load = self.visit_Node(n)
        value = self._values.value_of(load)
        return load if value is None else value


class _Replace(Mutator):
    def __init__(self, values: dict[BufferLoad, PrimExpr]) -> None:
        self._replaced = values

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return self._replaced.get(n, n)
