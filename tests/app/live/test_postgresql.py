"""Live workspaces in a PostgreSQL server: what holds for the database in a file holds there too."""

from __future__ import annotations

import pytest

from tests.app.live.test_sessions import (
    clock,
    live,
    one,
    test_news_reaches_who_follows_at_another_server,
    test_of_many_who_take_the_pen_at_once_one_has_it,
    test_the_pen_is_free_when_its_holder_is_gone,
    there,
)
from tests.app.store.servers import database as database
from tests.app.store.servers import postgresql as postgresql

__all__ = [
    "clock",
    "live",
    "one",
    "test_news_reaches_who_follows_at_another_server",
    "test_of_many_who_take_the_pen_at_once_one_has_it",
    "test_the_pen_is_free_when_its_holder_is_gone",
    "there",
]

pytestmark = pytest.mark.long
