"""The table of causes: what in the loops is evidence of each, in which words, and which primitives remove it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.causes import CauseKind
from app.proposals import ProposedPrimitive
from app.recorder.causes.costs import Model
from app.recorder.causes.statements import Statement, extent
from app.units import size


@dataclass(frozen=True, slots=True)
class Found:
    """A cause in a function.

    Attributes
    ----------
    without : str
        What the model leaves out where it is gone.
    statements : sequence of Statement
        That it is about.
    """

    without: str
    words: str
    statements: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of cause."""

    kind: CauseKind
    find: Callable[[Model], Iterator[Found]]
    primitives: frozenset[ProposedPrimitive]


def _chain(model: Model) -> Iterator[Found]:
    for each in model.statements:
        loop = each.innermost
        if loop is not None and model.chained(each):
            yield Found(
                "chain",
                f"each of the {extent(loop):,} additions of {loop.loop_var.name} to an element of {each.name} waits "
                "for the one before it",
                [each],
            )


def _scalar(model: Model) -> Iterator[Found]:
    for each in model.statements:
        width, loop = model.width(each), each.innermost
        if width > 1 and loop is not None and not model.is_vector(each):
            yield Found(
                "vectors",
                f"{each.name} is computed one element at a time; a vector of {model.target} holds {width}",
                [each],
            )


def _lanes(model: Model) -> Iterator[Found]:
    for each in model.statements:
        width, registers = model.width(each), model.registers(each)
        if each.lanes > 1 and each.lanes < registers * width:
            idle = registers * width - each.lanes
            yield Found(
                "lanes",
                f"vectors of {each.lanes} take {registers} of {width} lanes: {idle} of {registers * width} are idle",
                [each],
            )


def _divisions(model: Model) -> Iterator[Found]:
    for each in model.statements:
        if found := model.divisions(each):
            yield Found(
                "divisions",
                f"the indices of {each.name} take {len(found)} integer division{'s' * (len(found) > 1)} in each "
                f"iteration, such as {str(found[0])[:80]}",
                [each],
            )


def _calls(model: Model) -> Iterator[Found]:
    for each in model.statements:
        if each.externs:
            names = ", ".join(dict.fromkeys(each.externs)).replace('"', "")
            yield Found("calls", f"{each.name} calls {names}, a function of a library, for each single element", [each])


def _float64(model: Model) -> Iterator[Found]:
    for each in model.statements:
        if each.widened:
            yield Found(
                "float64",
                f"{each.name} is computed in float64 from values that were read as float32: vectors hold half as many",
                [each],
            )


def _order(model: Model) -> Iterator[Found]:
    if not model.knows_memory:
        return
    for name in sorted(model.arrays):
        excess = [moved - least for moved, least in (model.moved(name, at) for at in range(len(model.caches)))]
        level = next((at for at in reversed(range(len(excess))) if excess[at] > 0), None)
        if level is None:
            continue
        moved, least = model.moved(name, level)
        using = [each for each in model.statements if any(a.buffer.name == name for a in each.accesses)]
        words = f"{name} moves {size(moved)} into {model.caches[level].name}, at least {size(least)} would do"
        stride = next(
            (
                f"; {loop.loop_var.name}, the innermost loop, moves by {size(step)}, and a cache line has {size(line)}"
                for each in using
                for a in each.accesses
                if a.buffer.name == name and (loop := each.innermost) is not None
                and (step := a.moves(loop.loop_var) or 0) >= (line := model.caches[0].line)
            ),
            "",
        )  # fmt: skip
        yield Found(f"order:{name}", words + stride, using)


def _conflicts(model: Model) -> Iterator[Found]:
    first = model.caches[0]
    for each in model.statements:
        for access in each.accesses:
            if (found := model.thrashing(access, each)) is not None:
                loop, moved, steps = found
                yield Found(
                    f"conflicts:{access.buffer.name}",
                    f"{loop} moves {access.buffer.name} by {size(moved)}: its {steps} cache lines are all of few sets "
                    f"of {first.name}, which hold {first.ways} lines each",
                    [each],
                )


def _intermediate(model: Model) -> Iterator[Found]:
    for name in sorted(model.temporary & model.arrays):
        levels = [model.moved(name, at)[0] for at in range(len(model.caches))]
        level = next((at for at in reversed(range(len(levels))) if levels[at] > 0), None)
        if level is not None:
            using = [each for each in model.statements if any(a.buffer.name == name for a in each.accesses)]
            yield Found(
                f"intermediate:{name}",
                f"{name} is written and read again: {size(levels[level])} through {model.caches[level].name} that "
                "neither inputs nor outputs need",
                using,
            )


def _recomputed(model: Model) -> Iterator[Found]:
    for name, times in model.executed.items():
        using = [each for each in model.statements if each.name == name]
        if times > 1.05 and using:
            yield Found(f"recomputed:{name}", f"the elements of {name} are computed {times:.3g} times each", using)


def _inlined(model: Model) -> Iterator[Found]:
    for name, (calls, times) in model.repeated.items():
        using = [each for each in model.statements if each.name == name]
        if times > 1.05 and using:
            yield Found(
                f"inlined:{name}",
                f"{calls} function call{'s' * (calls > 1)} inlined into {name} run {times:.3g} times for each element",
                using,
            )


def _threads(model: Model) -> Iterator[Found]:
    serial = [each for each in model.statements if each.parallel is None]
    if model.threads > 1 and serial:
        names = ", ".join(dict.fromkeys(each.name for each in serial))
        yield Found("threads", f"no loop of {names} is parallel: {model.threads - 1} of {model.threads} threads wait",
                    serial)  # fmt: skip


def _balance(model: Model) -> Iterator[Found]:
    for each in model.statements:
        loop = each.parallel
        if loop is not None and model.speedup(each) < model.threads:
            yield Found(
                "balance",
                f"the {extent(loop)} iterations of {loop.loop_var.name} keep {model.threads} threads busy for "
                f"{model.speedup(each) / model.threads:.0%} of the time",
                [each],
            )


def _grain(model: Model) -> Iterator[Found]:
    for each in model.statements:
        if model.threads > 1 and (loop := each.parallel) is not None and (times := model.launched(each, loop)) > 1:
            yield Found(
                "grain", f"the parallel loop {loop.loop_var.name} is begun {times:,} times, its threads wait each time",
                [each],
            )  # fmt: skip


def _sharing(model: Model) -> Iterator[Found]:
    for each in model.statements:
        loop, apart = each.parallel, model.shared_lines(each)
        if loop is None or apart is None:
            continue
        line = model.caches[0].line
        moved = {
            x.loop_var.name: (each.target.moves(x.loop_var) or 0) * -(-extent(x) // model.threads) for x in each.loops
        }
        other = next((name for name, far in moved.items() if far >= line), None)
        change = f"; parallel {other} instead gives each thread lines of its own" if other is not None else ""
        yield Found(
            "sharing",
            f"the threads of {loop.loop_var.name} write to the same lines of {each.name}, {apart} of {line} bytes "
            f"apart: a line goes from one to another up to {model.transfers(each):,.0f} times{change}",
            [each],
        )


RULES = (
    Rule("chain", _chain, frozenset({"reorder", "vectorize"})),
    Rule("scalar", _scalar, frozenset({"vectorize", "reorder"})),
    Rule("lanes", _lanes, frozenset()),
    Rule("divisions", _divisions, frozenset({"compute_inline", "compute_root"})),
    Rule("calls", _calls, frozenset({"reorder", "compute_root"})),
    Rule("float64", _float64, frozenset()),
    Rule("order", _order, frozenset({"reorder", "compute_at", "cache_write"})),
    Rule("conflicts", _conflicts, frozenset({"reorder", "cache_write"})),
    Rule("intermediate", _intermediate, frozenset({"compute_inline", "compute_at", "reverse_compute_at"})),
    Rule("recomputed", _recomputed, frozenset({"compute_root", "compute_at"})),
    Rule("inlined", _inlined, frozenset({"compute_root"})),
    Rule("threads", _threads, frozenset({"parallel"})),
    Rule("balance", _balance, frozenset({"fuse"})),
    Rule("grain", _grain, frozenset()),
    Rule("sharing", _sharing, frozenset({"cache_write"})),
)
