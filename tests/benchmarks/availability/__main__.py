"""Attacks a server and prints what each attack costs all others.

    python -m tests.benchmarks.availability [D1 D4 …] [--seconds N] [--json]

Each attack meets a server of its own, started as users start it, on two cores.  A process beside it samples the memory
of the server and its workers every 50 ms, asks for the health check every 100 ms on a fresh connection, and is a user
of another address who loads the page and compiles.  The bounds are STRATA_MEMORY (1 GiB) and 0.5 s; the exit status is
1 where one is broken.
"""

from __future__ import annotations

import argparse
import sys

import msgspec

from tests.benchmarks.availability.attack import Attack
from tests.benchmarks.availability.attacks import ATTACKS
from tests.benchmarks.availability.trial import MIB, Result, try_attack

MEMORY_BOUND = 1024 * MIB
NOTHING = Attack("D0", "nothing, to compare with", lambda attacker: attacker.wait())
HEAD = (
    f"{'':4} {'attack':42} {'peak':>6} {'before':>6} {'after':>6} {'scripts':>7} "
    f"{'health':>7} {'p95':>6} {'victim':>7} {'others':>6}  verdict"
)
UNITS = f"{'':47} {'MiB':>6} {'MiB':>6} {'MiB':>6} {'MiB':>7} {'s':>7} {'s':>6} {'s':>7} {'CPU':>6}"


def line(result: Result) -> str:
    """Return an attack's line of the table."""
    ended = ", ".join(f"{outcome} x{count}" for outcome, count in sorted(result.outcomes.items()))
    verdict = "; ".join(result.broken) if result.broken else "holds"
    sizes = [round(size / MIB) for size in (result.peak, result.before, result.after, result.sandbox_peak)]
    times = f"{result.health_worst:7.2f} {result.health_p95:6.2f} {result.victim_worst:7.2f}"
    return (
        f"{result.code:4} {result.name:42} {sizes[0]:6,} {sizes[1]:6,} {sizes[2]:6,} {sizes[3]:7,} "
        f"{times} {result.others:6.0%}  {verdict}"
        f"\n{'':5}{ended}"
    )


def main() -> None:
    """Attack, print the table, and fail where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", help="codes of the attacks, all by default; D0 is none")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of an attack")
    parser.add_argument("--only", default="", help="only the attacks whose name contains this")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    asked = parser.parse_args()
    chosen = [a for a in (NOTHING, *ATTACKS) if (not asked.attacks or a.code in asked.attacks) and asked.only in a.name]
    if not chosen:
        parser.error(f"there is no such attack; there are {', '.join(dict.fromkeys(a.code for a in ATTACKS))}")
    if not asked.json:
        print(f"{HEAD}\n{UNITS}", flush=True)
    results = []
    for attack in chosen:
        results.append(try_attack(attack, asked.seconds, MEMORY_BOUND))
        if not asked.json:
            print(line(results[-1]), flush=True)
    if asked.json:
        print(msgspec.json.encode(results).decode())
    sys.exit(any(result.broken for result in results))


if __name__ == "__main__":
    main()
