"""Prints what is counted about the code.

python -m tests.contracts.measures                  the table
python -m tests.contracts.measures any FOLDER       the functions of a folder with a parameter of type Any
python -m tests.contracts.measures docs [PREFIX]    faults of the docstrings of public callables, e.g. docs tvm.te
python -m tests.contracts.measures names|sizes      where they are
"""

from __future__ import annotations

import sys

from tests.contracts.measures.documentation import Documented, documented
from tests.contracts.measures.names import empty_names, odd_limits
from tests.contracts.measures.sizes import long_files, long_functions
from tests.contracts.measures.types import any_shares, places

PACKAGES = ("compiler", "app")


def main(arguments: list[str]) -> int:
    """Print one of the listings, or the table."""
    match arguments:
        case ["any", folder]:
            print("\n".join(places(folder)))
        case ["docs", *prefix]:
            _print_undocumented(prefix[0] if prefix else "tvm")
        case ["names"]:
            print("\n".join([*empty_names(*PACKAGES), *odd_limits(*PACKAGES)]))
        case ["sizes"]:
            print("\n".join([*long_functions(*PACKAGES), *long_files(*PACKAGES)]))
        case []:
            _print_table()
        case _:
            print(__doc__)
            return 2
    return 0


def _print_table() -> None:
    print(f"{'folder':24} {'parameters':>10} {'Any':>6} {'share':>7}")
    for folder, share in any_shares(*PACKAGES).items():
        print(f"{folder:24} {share.total:10} {share.part:6} {share.percent:6.1f}%")
    _print_documentation("public callables", documented())
    _print_documentation("methods of public classes", documented(methods=True))
    print(f"functions above 60 lines  {len(long_functions(*PACKAGES))}")
    print(f"files above 600 lines     {len(long_files(*PACKAGES))}")
    print(f"variables that say nothing {len(empty_names(*PACKAGES))}")
    print(f"limits not called MAX_X   {len(odd_limits(*PACKAGES))}")


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
