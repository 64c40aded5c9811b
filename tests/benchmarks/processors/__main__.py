"""The code of the hottest kernels for processors that need not be at hand.

    python -m tests.benchmarks.processors [WORD …] [--processors NAME …] [--assembly] [--write]

Each row is the hot loop of a kernel, by iteration: bits of its vectors; instructions, and how many would do its work
with the target's widest vectors; loads, of which of single elements; shuffles; inserts into lanes; spills; cycles by
llvm-mca and those that the work alone takes; the processor whose model that is, if it is another one; what is wrong.
``WORD`` is part of the names of kernels.  ``--assembly`` prints the loops; ``--write`` writes the rows into the table
beside this file, where ``tests/compiler/target/test_processors.py`` holds later code to it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from compiler.runtime.llvm import binding
from tests.benchmarks.processors.contract import PROCESSORS, Row, rows_of
from tests.benchmarks.processors.corpus import kernels

_NAMES, _FIRST = 38, 54
"""Where the columns of kernels and of processors end."""
TABLE = Path(__file__).with_name("table.txt")
_COLUMNS = f"{'bits':>5}{'instr':>6}{'least':>7}{'loads':>6}{'single':>7}{'shuf':>5}{'ins':>4}{'spill':>6}{'cycles':>8}"
HEAD = f"{'kernel':38}{'processor':16}{_COLUMNS}{'least':>7}  {'model':15} findings"


def line_of(row: Row) -> str:
    """Return a line of the table."""
    facts, model = row.facts, row.throughput
    counts = f"{facts.width:5}{len(facts.lines):6}{facts.least:7.1f}{facts.loads:6}{facts.scalar_loads:7}"
    counts += f"{facts.shuffles:5}{facts.inserts:4}{facts.spills:6}"
    timed = f"{model.cycles:8.1f}{row.least_cycles:7.1f}" if model else f"{'-':>8}{'-':>7}"
    other = model.cpu if model and model.cpu != row.processor else ""
    found = "; ".join(f"{f.kind}: {f.words}" for f in row.found)
    return f"{row.kernel:38}{row.processor:16}{counts}{timed}  {other:15} {found}".rstrip()


def written() -> Mapping[tuple[str, str], tuple[float, set[str]]]:
    """Return instructions for each that is needed, and kinds of findings, by kernel and processor as in the table."""
    rows = {}
    for key, line in _lines().items():
        words = line[_FIRST:].split()
        rows[key] = (int(words[1]) / max(float(words[2]), 0.1), kinds_of(line))
    return rows


def kinds_of(line: str) -> set[str]:
    """Return the kinds of findings of a row."""
    return {each.partition(":")[0] for each in line[len(HEAD) - len("findings") :].split("; ") if each}


def _lines() -> dict[tuple[str, str], str]:
    """Return the rows of the table by kernel and processor."""
    every = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    return {(line[:_NAMES].strip(), line[_NAMES:_FIRST].strip()): line for line in every[2:-1]}


def version() -> str:
    """Return the version of LLVM, on which the table depends."""
    return f"LLVM {binding.llvm_version_info[0]}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--processors", nargs="+", default=list(PROCESSORS), choices=list(PROCESSORS))
    parser.add_argument("--assembly", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    print(version(), HEAD, sep="\n")
    rows = _lines()
    every = kernels()
    for name, assembly in every.items():
        if given.words and not any(word in name for word in given.words):
            continue
        for processor in given.processors:
            rows.pop((name, processor), None)
        for row in rows_of(name, assembly, given.processors):
            rows[name, row.processor] = line_of(row)
            print(rows[name, row.processor], flush=True)
            if given.assembly:
                print(*row.facts.lines, sep="\n")
        if given.write:
            _write([rows[key] for kernel in every for key in ((kernel, p) for p in PROCESSORS) if key in rows])


def _write(lines: Sequence[str]) -> None:
    """Write the table, with the number of findings of each kind below it."""
    kinds = Counter(kind for line in lines for kind in kinds_of(line))
    total = f"{len(lines)} rows: " + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    TABLE.write_text("\n".join([version(), HEAD, *lines, total, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
