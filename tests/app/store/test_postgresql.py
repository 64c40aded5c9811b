"""Links, classes and boards in a PostgreSQL server: what holds for the database in a file holds there too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from app.config import ConfigurationError
from app.errors import Unavailable
from app.lessons.classes import Classes
from tests.app.lessons.test_classes import (
    clock,
    one,
    school,
    test_news_reaches_who_follows_at_another_server,
    test_students_who_come_at_once_have_different_names,
    test_two_servers_have_one_class,
    test_who_follows_a_class_that_ends_is_told,
    there,
)
from tests.app.store.doubles import Store
from tests.app.store.servers import database as database
from tests.app.store.servers import postgresql as postgresql
from tests.app.store.test_boards import (
    boards,
    test_a_board_keeps_the_fastest_and_one_of_each_owner,
    test_an_entry_shows_its_ladder_to_all_and_its_script_to_its_owner,
    test_ranks_are_those_of_the_last_batch,
)
from tests.app.store.test_links import (
    state,
    test_a_link_goes_when_all_who_shared_it_took_it_back,
    test_a_quota_counts_what_is_stored,
    test_a_token_opens_only_its_own_link,
    test_colliding_prefixes_are_lengthened,
    test_links_of_the_first_format_open,
    test_many_at_once_lose_nothing,
    test_the_same_content_has_the_same_id,
    test_unknown_ids,
    test_what_could_not_be_opened_is_not_saved,
    test_what_was_seen_is_kept_with_the_first_link,
    test_what_was_stored_comes_back,
)

__all__ = [
    "boards",
    "clock",
    "one",
    "school",
    "test_a_board_keeps_the_fastest_and_one_of_each_owner",
    "test_a_link_goes_when_all_who_shared_it_took_it_back",
    "test_a_quota_counts_what_is_stored",
    "test_a_token_opens_only_its_own_link",
    "test_an_entry_shows_its_ladder_to_all_and_its_script_to_its_owner",
    "test_colliding_prefixes_are_lengthened",
    "test_links_of_the_first_format_open",
    "test_many_at_once_lose_nothing",
    "test_news_reaches_who_follows_at_another_server",
    "test_ranks_are_those_of_the_last_batch",
    "test_students_who_come_at_once_have_different_names",
    "test_the_same_content_has_the_same_id",
    "test_two_servers_have_one_class",
    "test_unknown_ids",
    "test_what_could_not_be_opened_is_not_saved",
    "test_what_was_seen_is_kept_with_the_first_link",
    "test_what_was_stored_comes_back",
    "test_who_follows_a_class_that_ends_is_told",
    "there",
]


@pytest.fixture
def url(database: str) -> str:
    return database


@pytest.fixture
def links(database: str) -> Store:
    return Store(database)


def test_servers_that_start_together_make_the_tables_once(database: str) -> None:
    with ThreadPoolExecutor(8) as servers:
        stores = list(servers.map(lambda _: Store(database), range(8)))
    assert len({store.create(state()).id for store in stores}) == 1, "they have one key"


def test_a_server_that_is_away_is_named_without_its_password() -> None:
    with pytest.raises(ConfigurationError) as error:
        Store("postgresql+psycopg://strata:secret@127.0.0.1:1/links?connect_timeout=2")
    assert "strata:***@127.0.0.1:1/links" in str(error.value)
    assert "cannot be used" in str(error.value)
    assert "secret" not in str(error.value)


def test_a_server_that_went_away_is_no_fault_of_the_program() -> None:
    classes = Classes("postgresql+psycopg://strata:secret@127.0.0.1:1/links?connect_timeout=2")
    with pytest.raises(Unavailable, match="does not answer"):
        classes.get("x" * 12)
