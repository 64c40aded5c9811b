"""The README says how many operators each importer converts."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.importers import IMPORTERS, counts

README = Path(__file__).parents[2] / "compiler" / "relay" / "frontend" / "README.md"


def test_the_readme_counts_operators_of_importers() -> None:
    rows = {
        line.split("|")[1].strip(): line
        for line in README.read_text("utf-8").splitlines()
        if line.startswith("| `from_")
    }
    assert set(rows) == set(IMPORTERS.values())
    for folder, number in counts().items():
        assert rows[IMPORTERS[folder]].split("|")[2].strip() == str(number)
