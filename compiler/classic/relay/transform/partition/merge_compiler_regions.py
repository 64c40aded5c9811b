"""MergeCompilerRegions: merges adjacent regions of the same external compiler."""

from __future__ import annotations

from compiler.classic.relay.analysis.annotated_regions import BEGIN, END, AnnotatedRegion, AnnotatedRegionSet
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Call, Let, expect
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.operator import call_of, op_name
from compiler.relay.transform.function_pass import FunctionPass


class MergeCompilerRegions(FunctionPass, required=("InferType",)):
    """Join regions that one external compiler gets, and whose results feed each other, as far as no cycle arises.

    Level 0; requires InferType.  A region is not joined with one that it depends on through another compiler's: each
    would then need the other's result first.  After Z. Chen et al., "Bring Your Own Codegen to Deep Learning Compiler",
    2021, section 3.1.

    Examples
    --------
    ``MergeCompilerRegions()``::

        def @main(%x: Tensor[(3), float32]) {
          %0 = annotation.compiler_end(exp(annotation.compiler_begin(%x, compiler="dsp")), compiler="dsp");
          annotation.compiler_end(tanh(annotation.compiler_begin(%0, compiler="dsp")), compiler="dsp")
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          annotation.compiler_end(tanh(exp(annotation.compiler_begin(%x, compiler="dsp"))), compiler="dsp")
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        func = without_empty_regions(func)
        regions = AnnotatedRegionSet(func)
        _Merger(regions).merge_all()
        return bottom_up(_Cleaner(regions), func)


def without_empty_regions(func: Function) -> Function:
    """Return a function whose values with names begin no region: nothing would be in it but the value.

    AnnotateTarget lets a region begin around the value of each ``let``.
    """
    return bottom_up(_NamedValues(), func)


class _NamedValues(ExprMutator):
    def visit_let(self, let: Let) -> RelayExpr:
        new = expect(Let, super().visit_let(let))
        begin = call_of(new.value, BEGIN)
        return new if begin is None else rebuild(new, value=begin.args[0])


class _Merger:
    """Merges regions into those that use them, in the order of evaluation.

    ``_behind`` holds the regions that a region depends on through other compilers' regions, by their numbers.
    """

    def __init__(self, regions: AnnotatedRegionSet) -> None:
        self._regions = regions
        self._behind: dict[int, set[int]] = {region.id: set() for region in regions}

    def merge_all(self) -> None:
        """Visit each region after those that it depends on."""
        done: set[int] = set()
        for start in self._regions:
            stack = [start]
            while stack:
                region = stack[-1]
                waiting = [p for p in self._parents(region) if p.id not in done and p not in stack]
                if waiting:
                    stack.append(waiting[0])
                    continue
                stack.pop()
                if region.id not in done:
                    done.add(region.id)
                    self._merge_parents(region)

    def _parents(self, region: AnnotatedRegion) -> list[AnnotatedRegion]:
        regions = (self._regions.get_region(begin.args[0]) for begin in region.args)
        return list(dict.fromkeys(p for p in regions if p is not None and p is not region))

    def _merge_parents(self, region: AnnotatedRegion) -> None:
        parents = self._parents(region)
        behind = self._behind[region.id]
        behind.update(*(self._behind[p.id] for p in parents))
        behind.update(p.id for p in parents if p.target != region.target)
        for parent in parents:
            if parent.target != region.target or parent.id in behind:
                continue
            self._regions.merge(parent, region)
            for restrictions in self._behind.values():
                if parent.id in restrictions:
                    restrictions.remove(parent.id)
                    restrictions.add(region.id)


class _Cleaner(ExprMutator):
    """Removes the annotations between what has become one region."""

    def __init__(self, regions: AnnotatedRegionSet) -> None:
        super().__init__()
        self._regions = regions

    def visit_call(self, call: Call) -> RelayExpr:
        inner = call.args[0] if op_name(call) == BEGIN else None
        if isinstance(inner, Call) and op_name(inner) == END:
            here = self._regions.get_region(call)
            if here is not None and here is self._regions.get_region(inner):
                return self.visit(inner.args[0])
        return super().visit_call(call)
