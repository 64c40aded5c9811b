"""Servers that several explorers share, on loopback: a PostgreSQL, and an object store that speaks S3."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

_NUMBERS = count()


@pytest.fixture(scope="session")
def object_store() -> Iterator[str]:
    """The address of a server that speaks S3."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    with subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", "0"], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        address = next(line.split()[-1] for line in server.stderr if "Running on http" in line)
        yield address
        server.terminate()


def credentials(address: str) -> dict[str, str]:
    """Return the environment in which a client of S3 finds the object store."""
    return {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_ENDPOINT_URL": address}


def point_at(address: str, patch: pytest.MonkeyPatch) -> None:
    """Let clients of S3 find an object store, also those of this process that others made before."""
    for name, value in credentials(address).items():
        patch.setenv(name, value)
    importlib.import_module("s3fs").S3FileSystem.clear_instance_cache()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL server of the tests' own."""
    pgserver = pytest.importorskip("pgserver")
    directory = Path(tempfile.mkdtemp(prefix="strata-postgresql-"))
    directory.chmod(0o755)  # PostgreSQL runs as a user of its own where the tests run as root
    running = pgserver.get_server(directory, cleanup_mode="stop")
    yield running.get_uri().replace("postgresql://", "postgresql+psycopg://")
    running.cleanup()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def database(postgresql: str) -> str:
    """The URL of a new database."""
    name = f"links{next(_NUMBERS)}"
    engine = create_engine(postgresql, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return make_url(postgresql).set(database=name).render_as_string(hide_password=False)
