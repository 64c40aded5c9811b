"""What is shared by turns: slots that scripts run in, and the addresses that turns go by."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.availability.attack import ADDRESS, Attack, Attacker, crowd


def sleepers(addresses: int, path: str = "/api/compile") -> Callable[[Attacker], None]:
    """Return an attack of forty scripts at a time that sleep, sent from some addresses in turn."""

    def attack(attacker: Attacker) -> None:
        def ask(number: int) -> None:
            address = crowd(number % addresses) if addresses > 1 else ADDRESS
            script = f"import time; time.sleep(60)  # {number} {attacker.left}"
            attacker.post(path, {"script": script}, address=address)

        attacker.swarm(40, ask)

    return attack


def spinners(attacker: Attacker) -> None:
    """Send scripts that compute all the time."""
    attacker.swarm(40, lambda number: attacker.post("/api/compile", {"script": f"while True: pass  # {attacker.left}"}))


LIMIT = 20
"""Requests a minute of each client; the user who is watched meanwhile sends fewer."""


def _statuses(attacker: Attacker, forwarded: list[str], address: str) -> list[int]:
    """Return the statuses of requests that come through a proxy which names these addresses."""
    out = []
    for number, claim in enumerate(forwarded):
        headers = {"Content-Type": "application/json", "X-Forwarded-For": claim}
        body = f'{{"script": "x = {number}"}}'.encode()
        reply = attacker.send("POST", "/api/compile", body, headers, address=address)
        out.append(reply.status if reply is not None else 0)
    return out


def believed_proxy(attacker: Attacker) -> None:
    """Send requests of six clients through one proxy, and of one client that forges where it comes from."""
    six = _statuses(attacker, [f"192.0.2.{n % 6}" for n in range(LIMIT + 4)], ADDRESS)
    if set(six) != {200}:
        attacker.broken.append(f"six clients behind a proxy got {six}")
    liar = _statuses(attacker, [f"198.51.100.{n}, 192.0.2.77" for n in range(LIMIT + 2)], ADDRESS)
    if liar != [200] * LIMIT + [429, 429]:
        attacker.broken.append(f"a client that forges its address behind a proxy got {liar}")


def disbelieved_header(attacker: Attacker) -> None:
    """Send requests that name another client each, where no proxy is configured."""
    liar = _statuses(attacker, [f"192.0.2.{n}" for n in range(LIMIT + 2)], ADDRESS)
    if liar != [200] * LIMIT + [429, 429]:
        attacker.broken.append(f"a client that forges its address got {liar}")


LIMITED = {"STRATA_RATE_LIMIT": str(LIMIT)}

ATTACKS = (
    Attack("D12", "X-Forwarded-For, one proxy", believed_proxy, {**LIMITED, "STRATA_PROXIES": "1"}),
    Attack("D12", "X-Forwarded-For, no proxy", disbelieved_header, LIMITED),
    Attack("D13", "40 sleeping scripts of one address", sleepers(1)),
    Attack("D13", "40 sleeping scripts of ten addresses", sleepers(10)),
    Attack("D13", "40 computing scripts of one address", spinners),
    Attack("D13", "40 sleeping runs of ten addresses", sleepers(10, "/api/run")),
)
