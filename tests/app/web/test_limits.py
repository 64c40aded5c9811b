"""What the limits around a request let through, and what they refuse, at their edges."""

from __future__ import annotations

import msgspec
import pytest
from flask.testing import FlaskClient
from limits import RateLimitItemPerMinute

from app.errors import Busy, TooLarge
from app.web.rates import Rate
from app.web.requests import MAX_VALUES, check_values
from app.web.security import host_check


def test_a_check_refuses_what_a_charge_would_and_charges_nothing(one_moment: None) -> None:
    rate = Rate(RateLimitItemPerMinute(5), "bytes")
    mine = rate.of("me")
    mine.check(5)
    mine.charge(4)
    mine.check(1)
    with pytest.raises(Busy, match="too many bytes") as refused:
        mine.check(2)
    assert refused.value.expected == "at most 5 bytes a minute"
    mine.charge(1)
    with pytest.raises(Busy):
        mine.charge(1)
    rate.of("another").check(5)


def test_what_costs_nothing_is_never_refused(one_moment: None) -> None:
    mine = Rate(RateLimitItemPerMinute(1), "requests").of("me")
    mine.charge(1)
    mine.check(0)
    mine.charge(0)
    for _ in range(2):
        with pytest.raises(Busy):
            mine.charge(1)
    mine.check(0)
    mine.charge(0)


def test_a_name_with_a_dot_in_front_matches_what_is_below_it() -> None:
    trusts = host_check(["example.org", ".school.test"])
    trusted = ("example.org", "EXAMPLE.org:8000", "school.test", "room.school.test", "a.b.school.test:80")
    foreign = ("room.example.org", "oldschool.test", "school.test.evil", "")
    assert [host for host in trusted if not trusts(host)] == []
    assert [host for host in foreign if trusts(host)] == []


def test_as_many_values_as_are_allowed_pass_and_one_more_does_not() -> None:
    def body(commas: int) -> bytes:
        return msgspec.json.encode({"view": [0] * (commas + 1)})

    check_values(body(MAX_VALUES))
    with pytest.raises(TooLarge, match=f"about {MAX_VALUES + 1:,} values"):
        check_values(body(MAX_VALUES + 1))


def test_commas_of_a_script_are_no_values() -> None:
    def body(values: int) -> bytes:
        return msgspec.json.encode({"script": "f(a, b)", "view": [0] * values})

    check_values(body(MAX_VALUES))
    with pytest.raises(TooLarge, match=f"about {MAX_VALUES + 1:,} values"):
        check_values(body(MAX_VALUES + 1))


@pytest.mark.parametrize("body", [b"{", b'{"script": "\xff"}', b""])
def test_what_is_not_json_is_told_so(client: FlaskClient, body: bytes) -> None:
    answer = client.post("/api/compile", data=body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "malformed_json"


@pytest.mark.parametrize(
    ("file", "accepts", "compressed"),
    [
        ("js/compile.js", "gzip", True),
        ("js/compile.js", "identity", False),
        ("js/compile.js", "gzip;q=0", False),
        ("img/screenshot.png", "gzip", False),
    ],
)
def test_texts_are_compressed_for_who_reads_that(
    client: FlaskClient, file: str, accepts: str, compressed: bool
) -> None:
    answer = client.get(f"/static/any/{file}", headers={"Accept-Encoding": accepts})
    assert answer.status_code == 200
    assert (answer.headers.get("Content-Encoding") == "gzip") == compressed
    assert answer.data.startswith(b"\x1f\x8b") == compressed
