"""What a client stores on the server: uploaded files that a workspace names, links, and its quota."""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator

import msgspec

from tests.benchmarks.availability.attack import ADDRESS, Attack, Attacker
from tests.benchmarks.serving.client import HOST

MIB = 1 << 20


def one_upload_by_many_names(attacker: Attacker) -> None:
    """Name a stored file of 16 MiB sixty times, and one of 100 MiB a thousand times."""
    files = [(attacker.upload(os.urandom(16 * MIB)), 60), (attacker.upload(os.urandom(100 * MIB - 1024)), 1000)]

    def name(number: int) -> None:
        stored, names = files[number % 2]
        uploads = {f"name{n}": stored for n in range(names)}
        script = f"import time; time.sleep(1)  # {number} {attacker.left}"
        attacker.post("/api/compile", {"script": script, "uploads": uploads})

    attacker.swarm(6, name)


def large_bodies(attacker: Attacker) -> None:
    """Send workspaces with as many attached files as they may have, which wait for their turn."""
    body = msgspec.json.encode({"script": "import time; time.sleep(5)", "files": {"file": os.urandom(31 * MIB)}})
    headers = {"Content-Type": "application/json"}
    attacker.swarm(12, lambda number: attacker.send("POST", "/api/run", body, headers))


def many_large_uploads(attacker: Attacker) -> None:
    """Upload large files, a dozen at a time."""
    contents = [os.urandom(50 * MIB) for _ in range(2)]
    attacker.swarm(12, lambda number: attacker.upload(contents[number % 2] + str(number).encode()))


def big_links(attacker: Attacker) -> None:
    """Save links whose files compress well, and open them all the time."""
    saved = []
    for letter, size in (("0", 72 * MIB), ("1", 31 * MIB)):
        state = {"workspace": {"script": "", "files": {"file": letter.encode() * size}}}
        reply = attacker.post("/api/links", state)
        if reply is not None and reply.status == 201:
            saved.append(msgspec.json.decode(reply.body)["id"])
    paths = [path for link in saved for path in (f"/z/{link}", f"/api/links/{link}", f"/z/{link}/code")]
    if paths:
        attacker.swarm(8, lambda number: attacker.send("GET", paths[number % len(paths)], patience=20.0))


def _chunks(content: bytes) -> Iterator[bytes]:
    yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n'
    for start in range(0, len(content), 1 << 16):
        yield content[start : start + (1 << 16)]
    yield b"\r\n--x--\r\n"


def _chunked_upload(attacker: Attacker, content: bytes) -> None:
    connection = http.client.HTTPConnection(HOST, attacker.port, timeout=30.0, source_address=(ADDRESS, 0))
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Transfer-Encoding": "chunked"}
    try:
        connection.request("POST", "/api/uploads", _chunks(content), headers, encode_chunked=True)
        attacker.count(str(connection.getresponse().status))
    except (OSError, http.client.HTTPException) as error:
        attacker.count(type(error).__name__)
    finally:
        connection.close()


QUOTA = 3 * MIB


def chunked_uploads(attacker: Attacker) -> None:
    """Upload without saying how much, against a daily quota of 3 MiB."""
    attacker.swarm(2, lambda number: _chunked_upload(attacker, os.urandom(MIB)))
    stored = sum(path.stat().st_size for path in (attacker.data / "uploads").iterdir())
    if stored > QUOTA:
        attacker.broken.append(f"{stored / MIB:.0f} MiB are stored, against a quota of {QUOTA // MIB} MiB")


ATTACKS = (
    Attack("D1", "one stored file by 60 and 1000 names", one_upload_by_many_names),
    Attack("D1", "12 requests with files of 31 MiB wait", large_bodies),
    Attack("D1", "uploads of 50 MiB, 12 at a time", many_large_uploads),
    Attack("D10", "links with files of 72 and 31 MiB, opened", big_links),
    Attack("D11", "chunked uploads against a quota", chunked_uploads, {"STRATA_STORED_BYTES": str(QUOTA)}),
)
