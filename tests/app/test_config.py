"""Settings: from a mapping, from the environment, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config import Config, ConfigurationError


def test_what_is_said_comes_before_the_environment() -> None:
    config = Config.read({"PORT": 1}, {"STRATA_PORT": "2", "STRATA_POOL": "3", "OTHER": "4", "STRATA_DATA_DIR": "/x"})
    assert (config.port, config.pool, config.data_dir) == (1, 3, Path("/x"))
    assert str(config.links_database) == "sqlite:////x/strata.sqlite3"
    assert Config.read({"database": "postgresql://x/y"}, {}).links_database == "postgresql://x/y"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"PORT": "many"}, "Expected `int`.* for STRATA_PORT"),
        ({"PORT": 70_000}, r"<= 65535.* for STRATA_PORT"),
        ({"PROT": 1}, "prot"),
        ({"DATA_DIR": 3}, "Expected `Path`"),
    ],
)
def test_wrong_settings(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Config.read(settings, {})


def test_what_is_empty_in_the_environment_says_nothing() -> None:
    empty = dict.fromkeys(("STRATA_HOST", "STRATA_LOG", "STRATA_PORT", "STRATA_SCHEDULER", "STRATA_DATA_DIR"), "")
    assert Config.read({}, empty) == Config.read({}, {})


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("x.y", False)]
)
def test_loopback(host: str, loopback: bool) -> None:
    config = Config(host=host)
    assert config.loopback is loopback
    assert (config.trusted_hosts is None) is not loopback
    assert Config(host=host, hosts="a.example, b.example").trusted_hosts == ["a.example", "b.example"]


def test_secrets_are_read_from_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("postgresql://me:secret@host/x\n")
    assert Config.read({}, {"STRATA_DATABASE_FILE": str(secret)}).database == "postgresql://me:secret@host/x"
    assert Config.read({}, {"STRATA_PORT_FILE": "", "STRATA_PORT": "1"}).port == 1
    with pytest.raises(ConfigurationError, match="STRATA_DATABASE and STRATA_DATABASE_FILE are both set"):
        Config.read({}, {"STRATA_DATABASE_FILE": str(secret), "STRATA_DATABASE": "sqlite://"})
    with pytest.raises(ConfigurationError, match=r"STRATA_DATABASE_FILE: .*nothing cannot be read"):
        Config.read({}, {"STRATA_DATABASE_FILE": str(tmp_path / "nothing")})
