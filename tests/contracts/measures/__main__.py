"""Prints what is counted about the code.

python -m tests.contracts.measures                  the tables
python -m tests.contracts.measures any FOLDER       the functions of a folder with a parameter of type Any
python -m tests.contracts.measures docs [PREFIX]    faults of the docstrings of public callables, e.g. docs tvm.te
python -m tests.contracts.measures sizes            the functions and files that are too long to be read at one go
python -m tests.contracts.measures executed         how much of the compiler the examples, lessons and models call
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.contracts.measures.documentation import Documented, documented
from tests.contracts.measures.executed import Program, all_programs, executed
from tests.contracts.measures.lines import KINDS, by_folder, largest_folders
from tests.contracts.measures.sizes import MAX_FILE_LINES, MAX_FUNCTION_LINES, long_files, long_functions
from tests.contracts.measures.sources import PARTS, part_of
from tests.contracts.measures.types import any_shares, places

PACKAGES = ("compiler", "app")


def main(arguments: list[str]) -> int:
    """Print one of the listings, or the table."""
    match arguments:
        case ["any", folder]:
            print("\n".join(places(folder)))
        case ["docs", *prefix]:
            _print_undocumented(prefix[0] if prefix else "tvm")
        case ["sizes"]:
            print("\n".join([*long_functions(*PACKAGES), *long_files(*PACKAGES)]))
        case ["executed"]:
            print_executed(all_programs())
        case []:
            _print_table()
        case _:
            print(__doc__)
            return 2
    return 0


def _print_table() -> None:
    _print_lines(by_folder(*PACKAGES))
    print("\nfolders with the most files")
    for folder, files in largest_folders(*PACKAGES):
        print(f"  {files:4} {folder}")
    print(f"\n{'parameters of type Any':32} {'all':>7} {'Any':>6} {'share':>7}")
    for folder, share in any_shares(*PACKAGES).items():
        if share.part:
            print(f"  {folder:30} {share.total:7} {share.part:6} {share.percent:6.1f}%")
    _print_documentation("public callables", documented())
    _print_documentation("methods of public classes", documented(methods=True))
    print(f"\nfunctions above {MAX_FUNCTION_LINES} lines  {len(long_functions(*PACKAGES))}")
    print(f"files above {MAX_FILE_LINES} lines     {len(long_files(*PACKAGES))}")


def _print_lines(folders: Mapping[str, Counter[str]]) -> None:
    columns = (*KINDS, "Any", "ignored")
    print(f"{'lines':28}" + "".join(f"{name:>11}" for name in columns) + f"{'docstring:code':>16}")
    totals = {name: Counter[str]() for name in (*PACKAGES, *PARTS)}
    for folder, counts in folders.items():
        package = folder.split("/")[0]
        totals[package].update(counts)
        if package == "compiler":
            totals[part_of(Path(folder))].update(counts)
    for name, counts in [*sorted(folders.items()), *((f"all of {total}", c) for total, c in totals.items())]:
        ratio = counts["docstrings"] / max(counts["code"], 1)
        print(f"{name:28}" + "".join(f"{counts[column]:11}" for column in columns) + f"{ratio:16.2f}")


def print_executed(programs: Iterable[tuple[str, Program]]) -> None:
    """Run programs, and print how many functions of the compiler they call, and how many lines these have."""
    print(f"{'called':28} {'all':>7} {'called':>7} {'share':>7}")
    for part, shares in executed(programs).items():
        for unit, share in shares.items():
            print(f"{unit + ' of the ' + part:28} {share.total:7} {share.part:7} {share.percent:6.1f}%")


def _print_documentation(title: str, rows: list[Documented]) -> None:
    print(f"\n{title}: {len(rows)}")
    for part in ("summary", "Raises"):
        print(f"  without {part:18} {sum(part in row.missing for row in rows)}")
    print(f"  entries with a type alone  {sum(len(row.idle) for row in rows)}")


def _print_undocumented(prefix: str) -> None:
    for row in [*documented(), *documented(methods=True)]:
        if row.name.startswith(prefix) and row.faults:
            print(f"{row.name} ({row.place}): {', '.join(row.faults)}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
