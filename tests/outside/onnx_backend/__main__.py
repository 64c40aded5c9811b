"""Count what passes: ``python -m tests.outside.onnx_backend [--tier A.core] [--compiled] [filter]``."""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable

from tests.outside.onnx_backend.cases import KINDS, Case, load
from tests.outside.onnx_backend.runs import Outcome, run

ROWS = (
    ("A.core, direct", lambda c: c.compared and c.tier == "A.core" and c.kind == "node" and c.direct),
    ("tier A", lambda c: c.compared and c.tier.startswith("A")),
    ("tier B", lambda c: c.compared and c.tier.startswith("B")),
    ("pytorch-converted", lambda c: c.kind == "pytorch-converted"),
    ("pytorch-operator", lambda c: c.kind == "pytorch-operator"),
)


def main() -> None:
    """Run the cases that are asked for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("filter", nargs="?", default="", help="part of a case's name or of its operator's")
    parser.add_argument("--tier", default="", help="beginning of a tier: A, A.core, B.quant, C …")
    parser.add_argument("--kind", choices=KINDS, help="one kind of case only")
    parser.add_argument("--compiled", action="store_true", help="build and run machine code instead of interpreting")
    parser.add_argument("--as-is", action="store_true", help="freeze no inputs")
    parser.add_argument("--every", type=int, default=1, help="only every nth case")
    parser.add_argument("--all", action="store_true", help="newer operator sets than those compared as well")
    given = parser.parse_args()
    cases = [c for c in load((given.kind,) if given.kind else KINDS) if _wanted(c, given)][:: given.every]
    start = time.perf_counter()
    outcomes = []
    for case in cases:
        outcome = run(case, given.compiled, not given.as_is)
        outcomes.append(outcome)
        if not outcome.passed:
            mark = "" if outcome.clean else " !!"
            print(f"{case.tier:12} {case.name}{mark}: {' '.join(outcome.reason.split())[:220]}", flush=True)
    _report(outcomes, time.perf_counter() - start)


def _wanted(case: Case, given: argparse.Namespace) -> bool:
    if given.tier and not case.tier.startswith(given.tier):
        return False
    if not given.all and not given.filter and not case.compared and not given.tier.startswith("C"):
        return False
    return given.filter in case.name or given.filter == case.operator


def _report(outcomes: list[Outcome], seconds: float) -> None:
    print(f"\n{_score(outcomes)} cases pass ({seconds:.0f} s)\n")
    for title, belongs in ROWS:
        row = [o for o in outcomes if belongs(o.case)]
        if row:
            print(f"{title:20} {_score(row)}")
    tiers, operators = defaultdict(list), defaultdict(list)
    for o in outcomes:
        tiers[o.case.tier].append(o)
        operators[o.case.operator or f"({o.case.kind})"].append(o)
    print()
    for tier in sorted(tiers):
        print(f"{tier:20} {_score(tiers[tier])}")
    whole = [name for name, found in operators.items() if all(o.passed for o in found)]
    print(f"\noperators that pass fully: {len(whole)}/{len(operators)}")
    for name in sorted(set(operators) - set(whole)):
        print(f"  {name:28} {_score(operators[name])}")


def _score(outcomes: Iterable[Outcome]) -> str:
    found = list(outcomes)
    return f"{sum(o.passed for o in found)}/{len(found)}"


if __name__ == "__main__":
    main()
