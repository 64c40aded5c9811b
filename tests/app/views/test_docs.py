"""The documentation as pages."""

from __future__ import annotations

from flask.testing import FlaskClient


def test_the_list_names_every_page(client: FlaskClient) -> None:
    listed = client.get("/docs").get_data(as_text=True)
    for name in ("start", "explorer", "gpus", "contributing"):
        assert f'href="/docs/{name}"' in listed
        assert client.get(f"/docs/{name}").status_code == 200


def test_a_page_that_is_not_there_is_named(client: FlaskClient) -> None:
    answer = client.get("/docs/nowhere")
    assert answer.status_code == 404
    assert "nowhere" in answer.get_data(as_text=True)


def test_the_search_links_sections(client: FlaskClient) -> None:
    found = client.get("/docs?q=cluster scheduler").get_data(as_text=True)
    assert 'href="/docs/server#scaling-out"' in found
    assert "<mark>cluster</mark>" in found


def test_what_is_searched_for_is_shown_as_text(client: FlaskClient) -> None:
    found = client.get("/docs", query_string={"q": "<script>alert(1)</script>"}).get_data(as_text=True)
    assert "<script>alert" not in found
    assert "No section has" in found
