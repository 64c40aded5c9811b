"""A scheduler that is reached by TLS: who has a certificate of the cluster's own authority uses it, nobody else."""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections.abc import Iterator
from pathlib import Path

import dask
import distributed
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from app.cluster.runner import Cluster
from app.config import ConfigurationError


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "cluster")])
    today = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "cluster.pem"
    pem = serialization.Encoding.PEM
    written = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(written + signed.public_bytes(pem))
    return path


@pytest.fixture
def trusted(certificate: Path) -> Iterator[None]:
    """What the variables of the environment in the README set."""
    file = str(certificate)
    roles = {
        f"distributed.comm.tls.{role}.{kind}": file for role in ("scheduler", "client") for kind in ("cert", "key")
    }
    with dask.config.set({"distributed.comm.tls.ca-file": file, **roles}):
        yield


@pytest.fixture
def scheduler(trusted: None) -> Iterator[str]:
    """The address of a scheduler without machines, in a thread of its own."""
    loop, ending, addresses = asyncio.new_event_loop(), asyncio.Event(), []
    ready = threading.Event()

    async def run() -> None:
        async with distributed.Scheduler(protocol="tls", host="127.0.0.1", port=0, dashboard=False) as running:
            addresses.append(running.address)
            ready.set()
            await ending.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert ready.wait(20)
    yield addresses[0]
    loop.call_soon_threadsafe(ending.set)
    thread.join()
    loop.close()


def test_only_who_has_a_certificate_connects(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scheduler.startswith("tls://")
    monkeypatch.setattr("app.cluster.runner.MACHINE_SECONDS", 0.0)
    monkeypatch.setattr("app.cluster.runner.CONNECT_SECONDS", 5.0)
    with pytest.raises(ConfigurationError, match="has no machine of Strata"):
        Cluster(scheduler, "0")
    nothing = {"distributed.comm.tls.client.cert": None, "distributed.comm.tls.client.key": None}
    with dask.config.set(nothing), pytest.raises(ConfigurationError, match=r"the scheduler tls://.* cannot be used"):
        Cluster(scheduler, "0")
