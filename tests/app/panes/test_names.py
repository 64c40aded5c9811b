"""Long names: what tells them apart is shown."""

from __future__ import annotations

import pytest

from app.panes.names import MAX_LAYER, elided, layer_name


@pytest.mark.parametrize("name", ["", "Relu_3", "x" * MAX_LAYER])
def test_a_name_that_fits_is_whole(name: str) -> None:
    assert layer_name(name) == name


def test_long_names_that_begin_alike_are_told_apart_by_their_ends() -> None:
    names = [f"/model/transformer/encoder/layers/attention/self_attention/query.{n}/MatMul" for n in (1, 11)]
    assert [elided(name, 30) for name in names] == ["/model/tr…ntion/query.1/MatMul", "/model/tr…tion/query.11/MatMul"]
    assert [len(layer_name(name)) for name in names] == [MAX_LAYER] * 2


@pytest.mark.parametrize("most", range(1, 12))
def test_a_name_is_never_longer_than_there_is_room(most: int) -> None:
    assert len(elided("abcdefghijkl", most)) == most
