"""Lists the legality checks, refusals and bounds that no test would miss.

    python -m tests.outside.mutations [ROOM …] [--only FILE[:LINE]] [--kinds KIND,…] [--jobs N] [--limit SECONDS]
                                      [--sample N] [--seed N] [--list]

Each mutant leaves out one check or error, one part of a condition, or shifts one comparison.  It runs only the tests
that get where it differs, the cheapest first, until one fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from random import Random

from tests.outside.mutations.mutants import KINDS, Mutant, chosen, mutated
from tests.outside.mutations.rooms import ROOMS
from tests.outside.mutations.survey import VERDICTS, Limits, Survey, Tried, survey


def main(arguments: Sequence[str]) -> int:
    """Try the mutants of some rooms; print a table, and whatever survived."""
    options = _options(arguments)
    for name in options.rooms or ROOMS:
        room = ROOMS[name]
        mutants = list(chosen(mutated(room)[0], options.only, options.kinds.split(",")))
        if 0 < options.sample < len(mutants):
            print(f"{name}: {options.sample} of {len(mutants)} mutants, chosen at random")
            mutants = sorted(Random(options.seed).sample(mutants, options.sample), key=lambda mutant: mutant.number)
        if options.list:
            print(*mutants, sep="\n")
        elif mutants:
            _print(name, survey(room, mutants, Limits(options.jobs, options.limit), _progress))
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    kinds = "; ".join(f"{kind}: {text}" for kind, text in KINDS.items())
    parser = argparse.ArgumentParser(prog="python -m tests.outside.mutations", description=f"Kinds: {kinds}.")
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--only", action="append", default=[], metavar="FILE[:LINE]", help="mutants of these places")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds, separated by commas")
    parser.add_argument("--jobs", type=int, default=2, help="mutants that run at the same time")
    parser.add_argument("--limit", type=float, default=120, help="seconds of processor time for one mutant")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants of a room at most")
    parser.add_argument("--seed", type=int, default=0, help="which ones a sample takes")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    return parser.parse_args(arguments)


def _progress(tried: Tried) -> None:
    print(f"{tried.verdict:10}{tried.mutant}  {tried.how} {tried.by}", file=sys.stderr, flush=True)


def _print(name: str, result: Survey) -> None:
    seconds = sum(tried.cpu for tried in result.tried)
    print(f"{name}: {result.tests} tests, {result.cpu:.0f} s; the mutants took {seconds:.0f} s")
    for test in result.failing:
        print(f"  fails without any mutant, so it was left out: {test}")
    print(f"  {'':10}{'mutants':>10}" + "".join(f"{verdict:>11}" for verdict in VERDICTS))
    for kind in (*KINDS, None):
        counts = result.counts(kind)
        if counts:
            row = "".join(f"{counts[verdict]:>11}" for verdict in VERDICTS)
            print(f"  {kind or 'all':10}{counts.total():>10}{row}")
    for verdict in VERDICTS[1:]:
        for tried in sorted(result.tried, key=lambda tried: tried.mutant.number):
            if tried.verdict == verdict:
                print(f"{verdict:10}{_place(tried.mutant, result)}  {tried.by}")


def _place(mutant: Mutant, result: Survey) -> str:
    """Return what a mutant is; those that differ while modules are imported are not tried there."""
    return f"{mutant}{'  (differs while importing)' if mutant.number in result.at_import else ''}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
