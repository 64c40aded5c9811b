"""How the two sides of a connection introduce themselves, and prove that they share a secret.

::

    client                                      server
      Hello(role, key, timeout, nonce) ──────────→
      ←──────────────────────────── Challenge(nonce)     with a secret only
      Proof(HMAC of both nonces and the hello) ──→
      ←──────────────────── Accepted(HMAC of the same), or Refused(reason)

Then each frame is signed with a key for its direction that is made of the secret and both nonces, so that none can be
forged, left out or repeated.  This is no TLS: certificates would have to be made and handed out for each board, while a
secret is one line of text; who also wants that nobody can read along tunnels the port through SSH.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from compiler.ir.error import ArgumentError, RPCError
from compiler.runtime.rpc.frames import Channel

VARIABLE = "STRATA_RPC_SECRET"
"""The environment variable with the secret of those whose program names none."""
_LEAST = 16
_CONNECTING = 10.0
"""Seconds that a connection may take to come about."""
MAX_TIMEOUT, MAX_TEXT = 1e8, 256

Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
Nonce = Annotated[bytes, msgspec.Meta(min_length=16, max_length=64)]
Role = Literal["session", "tracker", "server"]


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """Who connects: to be served, to speak with a tracker, or to wait at a proxy for who is to be served."""

    role: Role
    key: Text
    """The kind of machine that is wanted, or the ticket that a tracker gave."""
    nonce: Nonce
    timeout: Annotated[float, msgspec.Meta(ge=0, le=MAX_TIMEOUT)] = 0.0
    """Seconds that the session may take; 0 for no limit."""
    version: Literal[1] = 1


class Challenge(msgspec.Struct, frozen=True, tag="challenge"):
    """A server asks for a proof."""

    nonce: Nonce


class Proof(msgspec.Struct, frozen=True, tag="proof"):
    """That a client has the secret."""

    mac: bytes


class Accepted(msgspec.Struct, frozen=True, tag="accepted"):
    """The server accepts, and proves that it has the secret as well."""

    key: str
    mac: bytes = b""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The server does not accept."""

    reason: str


def shared_secret(given: str | None) -> bytes:
    """Return the secret of a program, else that of the environment; empty if there is none.

    Raises ArgumentError if it is short enough to be guessed.
    """
    text = os.environ.get(VARIABLE, "") if given is None else given
    if text and len(text) < _LEAST:
        raise ArgumentError(f"rpc: a secret needs at least {_LEAST} characters, got {len(text)}")
    return text.encode()


def warning_of(host: str, secret: bytes) -> str:
    """Return what to say of an address that anyone may connect to; empty where nobody can from outside."""
    if secret or is_loopback(host):
        return ""
    return (
        f"warning: {host or 'every address'} can be reached from other machines, and whoever connects may run any code"
        f" as this user; set {VARIABLE} on both sides"
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host or "0.0.0.0", None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in found)


def ports_from(port: int, end: int) -> range:
    """Return the ports of which the first free one is taken: up to an end, or any for port 0."""
    return range(port, max(end, port + 1)) if port else range(1)


def listen(host: str, ports: Sequence[int], secret: bytes) -> socket.socket:
    """Return a socket that listens on the first port of several that is free, and warn if anyone may run code here.

    Raises RPCError if none is.
    """
    error: Exception | None = None
    if warning := warning_of(host, secret):
        print(warning, file=sys.stderr, flush=True)
    for port in ports:
        try:
            family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
            return socket.create_server((host, port), family=family, backlog=64)
        except (OSError, OverflowError) as exc:
            error = exc
    tried = f"port {ports[0]}" if len(ports) == 1 else f"ports {ports[0]} to {ports[-1]}"
    raise RPCError(f"{host}: cannot listen on {tried}: {error}")


def connected(host: str, port: int, asked: str) -> Channel:
    """Return a connection; RPCError if nobody listens there."""
    try:
        sock = socket.create_connection((host, port), timeout=_CONNECTING)
    except (OSError, OverflowError) as exc:
        raise RPCError(f"{host}:{port}: {asked}: nobody answers ({getattr(exc, 'strerror', None) or exc})") from None
    return Channel(sock, f"{host}:{port}")


def introduce(channel: Channel, role: Role, key: str, secret: bytes, timeout: float = 0.0) -> str:
    """Introduce this side, the client, and return the key of the server.

    Raises RPCError if the server refuses, or the secrets differ.
    """
    hello = Hello(role, key, secrets.token_bytes(32), float(timeout))
    channel.send(hello)
    answer, _ = channel.receive(Challenge | Accepted | Refused)  # type: ignore[arg-type]
    if not isinstance(answer, Challenge):
        if isinstance(answer, Accepted) and secret:
            raise RPCError(f"{channel.peer} does not prove that it has the secret: it was started without one")
        channel.trust()
        return _accepted(channel, answer).key
    if not secret:
        raise RPCError(f"{channel.peer} asks for a secret: set {VARIABLE} to that of the server")
    made = _material(hello, answer)
    channel.send(Proof(_mac(secret, b"client", made)))
    accepted = _accepted(channel, channel.receive(Accepted | Refused)[0])  # type: ignore[arg-type]
    if not hmac.compare_digest(accepted.mac, _mac(secret, b"server", made)):
        raise RPCError(f"{channel.peer} has another secret")
    channel.trust(_mac(secret, b"to server", made), _mac(secret, b"to client", made))
    return accepted.key


def _accepted(channel: Channel, answer: object) -> Accepted:
    if isinstance(answer, Refused):
        raise RPCError(f"{channel.peer}: {answer.reason}")
    assert isinstance(answer, Accepted)
    return answer


def welcome(channel: Channel, role: Role, expected: str | None, key: str, secret: bytes) -> Hello | None:
    """Answer who connects: this side is the server.  Return None if they were refused.

    They must have the key ``expected``, if one is given.
    """
    hello, _ = channel.receive(Hello)
    made = b""
    if secret:
        challenge = Challenge(secrets.token_bytes(32))
        channel.send(challenge)
        proof, _ = channel.receive(Proof)
        made = _material(hello, challenge)
        if not hmac.compare_digest(proof.mac, _mac(secret, b"client", made)):
            channel.send(Refused("the secret is another one"))
            return None
    if hello.role != role:
        what = "a tracker" if role == "tracker" else "a server of sessions"
        channel.send(Refused(f"this is {what}, which does not serve a connection as {hello.role!r}"))
        return None
    if expected is not None and hello.key != expected:
        wrong = "it is lent by its tracker: ask there" if expected != key else f"its key is {key!r}, not {hello.key!r}"
        channel.send(Refused(f"this server does not take the connection: {wrong}"))
        return None
    channel.send(Accepted(key, _mac(secret, b"server", made) if secret else b""))
    channel.trust(*((_mac(secret, b"to client", made), _mac(secret, b"to server", made)) if secret else ()))
    return hello


def _material(hello: Hello, challenge: Challenge) -> bytes:
    return msgspec.msgpack.encode(hello) + challenge.nonce


def _mac(secret: bytes, purpose: bytes, material: bytes) -> bytes:
    return hmac.digest(secret, purpose + b"\0" + material, hashlib.sha256)
