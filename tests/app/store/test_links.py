"""Links: the same content has the same id, for ever; damage and foreign tokens are noticed."""

from __future__ import annotations

import re
import sqlite3
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateTable

from app.artifacts import Options, Workspace
from app.config import ConfigurationError
from app.errors import Busy, Damaged, Forbidden, FromNewerVersion, NotFound, TooLarge
from app.store import links as links_module
from app.store.links import ALPHABET, MIN_LENGTH, ROW_BYTES, SharedState
from app.store.tables import TABLES
from tests.app.store.doubles import CONTENT_BYTES, Meter, Store


def state(script: str = "print(1)", **view: str) -> SharedState:
    return SharedState(workspace=Workspace(script=script, files={"b": b"\0\xff", "a": b""}), view=dict(view))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'links.sqlite3'}"


@pytest.fixture
def links(url: str) -> Store:
    return Store(url)


def test_what_was_stored_comes_back(links: Store) -> None:
    saved = links.create(state(pane="asm"))
    opened = links.open(saved.id)
    assert opened.state == state(pane="asm")
    assert (opened.id, opened.compiler, opened.cpu) == (saved.id, "1.0", "Some CPU")
    assert len(saved.id) == MIN_LENGTH
    assert set(saved.id) <= set(ALPHABET)


def test_the_same_content_has_the_same_id(links: Store, url: str) -> None:
    first = links.create(state())
    reordered = Workspace(script="print(1)", files={"a": b"", "b": b"\0\xff"}, options=Options())
    again = Store(url, "2.0").create(SharedState(workspace=reordered))
    assert again.id == first.id
    assert again.delete_token != first.delete_token
    assert links.open(first.id).compiler == "1.0", "a link does not change"


def test_what_was_seen_is_kept_with_the_first_link(links: Store) -> None:
    first = links.create(state(), outputs={"Assembly": "abc"})
    assert links.create(state(), outputs={"Assembly": "def"}).id == first.id
    assert links.open(first.id).outputs == {"Assembly": "abc"}


def test_other_databases_have_other_ids(links: Store, tmp_path: Path) -> None:
    other = Store(f"sqlite:///{tmp_path / 'other.sqlite3'}")
    assert other.create(state()).id != links.create(state()).id


def test_colliding_prefixes_are_lengthened(links: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = links_module.spell
    monkeypatch.setattr(links_module, "spell", lambda digest: "2" * 10 + honest(digest)[10:])
    first, second, third = (links.create(state(script)) for script in ("a", "b", "c"))
    assert [first.id, second.id, third.id] == ["2" * 8, "2" * 9, "2" * 10]
    assert [links.open(link.id).state.workspace.script for link in (first, second, third)] == ["a", "b", "c"]
    assert links.create(state("b")).id == second.id
    links.delete(first.id, first.delete_token)
    assert links.create(state("b")).id == second.id, "a content keeps its id when a shorter one becomes free"


def test_damage_is_noticed(links: Store, tmp_path: Path) -> None:
    saved = links.create(state())
    with sqlite3.connect(tmp_path / "links.sqlite3") as database:
        forged = zlib.compress(links_module.canonical(state("another")))
        database.execute("UPDATE links SET content = ?", (forged,))
    with pytest.raises(Damaged, match="does not match its id"):
        links.open(saved.id)
    with sqlite3.connect(tmp_path / "links.sqlite3") as database:
        database.execute("UPDATE links SET content = ?", (b"rubbish",))
    with pytest.raises(Damaged, match="cannot be read"):
        links.open(saved.id)


@pytest.mark.parametrize("name", ["", "23456789", "2345678", "' OR 1=1 --", "\0", "../etc", "%00", "é" * 100])
def test_unknown_ids(links: Store, name: str) -> None:
    links.create(state())
    with pytest.raises(NotFound):
        links.open(name)


def test_a_link_goes_when_all_who_shared_it_took_it_back(links: Store) -> None:
    first, second = links.create(state()), links.create(state())
    with pytest.raises(Forbidden):
        links.delete(first.id, "guessed")
    links.delete(first.id, first.delete_token)
    assert links.exists(first.id)
    assert links.open(second.id).state == state()
    with pytest.raises(Forbidden):
        links.delete(first.id, first.delete_token)
    links.delete(second.id, second.delete_token)
    assert not links.exists(first.id)
    with pytest.raises(NotFound):
        links.open(first.id)
    with pytest.raises(NotFound):
        links.delete(first.id, first.delete_token)


def test_a_token_opens_only_its_own_link(links: Store) -> None:
    mine, other = links.create(state("mine")), links.create(state("other"))
    with pytest.raises(Forbidden):
        links.delete(other.id, mine.delete_token)
    assert links.open(other.id).state == state("other")


def test_many_at_once_lose_nothing(url: str) -> None:
    made: list[tuple[str, str]] = []

    def share(number: int) -> None:
        mine = Store(url)
        for index in range(5):
            script = f"script {(number + index) % 4}"
            made.append((mine.create(state(script)).id, script))

    threads = [threading.Thread(target=share, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    links = Store(url)
    assert len(made) == 20
    assert len({link for link, _ in made}) == 4
    assert all(links.open(link).state.workspace.script == script for link, script in made)


def test_a_database_that_another_server_creates_just_now_is_waited_for(url: str, tmp_path: Path) -> None:
    # SQLite refuses to switch to the write-ahead log at once while another connection is about to write.
    other = sqlite3.connect(tmp_path / "links.sqlite3", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    written = threading.Timer(0.2, other.execute, ("COMMIT",))
    written.start()
    links = Store(url)
    written.join()
    other.close()
    assert links.open(links.create(state()).id).state == state()


@pytest.mark.parametrize(
    "change",
    [
        lambda content: bytes([links_module.FORMAT + 1]) + content[1:],
        lambda content: content[:1] + msgspec.msgpack.encode({"workspace": {"script": "x", "from_tomorrow": 1}}),
    ],
    ids=["another format", "another field"],
)
def test_a_link_of_a_newer_version_says_so_and_is_no_damage(
    links: Store, monkeypatch: pytest.MonkeyPatch, change: Callable[[bytes], bytes]
) -> None:
    canonical = links_module.canonical
    monkeypatch.setattr(links_module, "canonical", lambda state: change(canonical(state)))
    saved = links.create(state())
    links.made_with["compiler"] = "0.9"
    with pytest.raises(FromNewerVersion, match=r"saved by version 1\.0 of Strata, whose links this server cannot read"):
        links.open(saved.id)
    assert links.damage is None


@pytest.mark.parametrize("version", ["2", "2.1"])
def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path, url: str, version: str) -> None:
    Store(url).close()
    with closing(sqlite3.connect(tmp_path / "links.sqlite3")) as database:
        assert database.execute("SELECT value FROM settings WHERE name = 'schema'").fetchall() == [(b"1",)]
        database.execute("UPDATE settings SET value = ? WHERE name = 'schema'", (version.encode(),))
        database.execute("DROP TABLE class_steps")
        database.commit()
    words = rf"newer version of Strata: its tables have version '{re.escape(version)}', .* up to 1\."
    with pytest.raises(ConfigurationError, match=words):
        Store(url)
    with closing(sqlite3.connect(tmp_path / "links.sqlite3")) as database:
        assert not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'class_steps'").fetchall()


def test_links_of_the_first_format_open(links: Store) -> None:
    stored = bytes.fromhex(
        "0182a47669657781a470616e65a361736da9776f726b737061636583a566696c657381a16dc4020102a76f7074696f6e7381"
        "a77468726561647302a6736372697074a87072696e74283129"
    )
    opened = links_module.decode(stored)
    files, options = {"m": b"\1\2"}, Options(threads=2)
    workspace = Workspace(script="print(1)", files=files, options=options)
    assert opened == SharedState(workspace=workspace, view={"pane": "asm"})


def test_a_database_of_an_older_version_is_kept(links: Store, url: str, tmp_path: Path) -> None:
    old = links.create(state("old"))
    with sqlite3.connect(tmp_path / "links.sqlite3") as database:
        database.execute("ALTER TABLE links DROP COLUMN cpu")
        database.execute("ALTER TABLE links DROP COLUMN outputs")
    newer = Store(url, "2.0", "Newer CPU")
    opened = newer.open(old.id)
    assert (opened.state, opened.cpu, opened.outputs) == (state("old"), "", {})
    assert newer.open(newer.create(state("new")).id).cpu == "Newer CPU"


def test_a_quota_counts_what_is_stored(links: Store) -> None:
    quota = Meter()
    links.create(SharedState(workspace=Workspace(script="x" * 100_000)), quota)
    assert ROW_BYTES < quota.charged < ROW_BYTES + 500, "content is stored compressed"
    before = quota.charged
    links.create(SharedState(workspace=Workspace(script="x" * 100_000)), quota)
    assert quota.charged - before == ROW_BYTES, "the same content costs its token only"
    with pytest.raises(Busy):
        links.create(state("new"), Meter(ROW_BYTES))
    assert links.create(state("new"), quota).id, "what was refused is not there"


def bomb(links: Store, path: Path, size: int) -> str:
    """Store a link as an earlier version did, which had no limit; returns its id."""
    saved = links.create(state())
    with sqlite3.connect(path) as database:
        huge = links_module.canonical(SharedState(workspace=Workspace(script="x", files={"zeros": bytes(size)})))
        link = links._name(huge)[:MIN_LENGTH]
        row = (link, zlib.compress(huge), saved.id)
        database.execute("UPDATE links SET id = ?, content = ? WHERE id = ?", row)
    return link


def test_a_link_is_inflated_up_to_the_limit_only(links: Store, tmp_path: Path) -> None:
    link = bomb(links, tmp_path / "links.sqlite3", 200 * CONTENT_BYTES)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match="saved before there was a limit") as refused:
            links.open(link)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.expected == "at most 1,048,576 bytes"
    assert peak < 4 * CONTENT_BYTES
    assert links.damage is None


def test_what_is_large_as_it_is_stored_is_not_read(links: Store, tmp_path: Path) -> None:
    saved = links.create(state())
    with sqlite3.connect(tmp_path / "links.sqlite3") as database:
        database.execute("UPDATE links SET content = ?", (bytes(50 * CONTENT_BYTES),))
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            links.open(saved.id)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < CONTENT_BYTES


def test_what_could_not_be_opened_is_not_saved(links: Store) -> None:
    with pytest.raises(TooLarge, match="the link would hold"):
        links.create(SharedState(workspace=Workspace(script="x", files={"zeros": bytes(CONTENT_BYTES)})))


@given(content=st.binary(max_size=3000), limit=st.integers(0, 3000), cut=st.integers(0, 40))
def test_inflating_gives_the_content_or_an_error(content: bytes, limit: int, cut: int) -> None:
    compressed = zlib.compress(content)
    compressed = compressed[: len(compressed) - cut]
    try:
        inflated = links_module.inflate(compressed, limit)
    except TooLarge:
        assert len(content) > limit
    except zlib.error:
        assert cut
    else:
        assert inflated == content


@pytest.mark.parametrize("dialect", [postgresql.dialect(), sqlite.dialect()], ids=lambda dialect: dialect.name)
def test_the_tables_can_be_made_in_either_database(dialect: Dialect) -> None:
    texts = [str(CreateTable(table).compile(dialect=dialect)) for table in TABLES.sorted_tables]
    binary = "BYTEA" if dialect.name == "postgresql" else "BLOB"
    assert len(texts) == 9
    assert all(f" {binary}" in text for text in texts)


@pytest.mark.parametrize("number", [-(2**63) - 1, 2**63])
def test_a_number_that_cannot_be_stored_is_refused_where_it_is_read(number: int) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.view"):
        msgspec.json.decode(f'{{"workspace": {{"script": ""}}, "view": {{"row": {number}}}}}', type=SharedState)
