"""Options of the whole suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine is no reason to fail.
settings.register_profile("strata", deadline=None)
settings.load_profile("strata")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts anew; review them as a diff")
