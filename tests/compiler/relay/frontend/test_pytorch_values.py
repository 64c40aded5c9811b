"""Values of PyTorch programs: each is narrowed to the kind that an operator needs, or refused with its text."""

from collections.abc import Callable

import pytest

from compiler import relay
from compiler.relay.frontend.pytorch.values import as_expr, as_items, as_key, as_number, item_of
from compiler.relay.frontend.shared.errors import ConversionError


@pytest.mark.parametrize(
    ("narrow", "value", "expected"),
    [
        (as_expr, 3, "a tensor is expected, got 3"),
        (as_number, "same", "a number is expected, got 'same'"),
        (as_items, 2.5, "a list or tuple is expected, got 2.5"),
        (as_key, None, "a number is expected, got None"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_text(
    narrow: Callable[[object], object], value: object, expected: str
) -> None:
    with pytest.raises(ConversionError, match=f"^{expected}$"):
        narrow(value)


def test_an_item_is_found_by_its_place_or_its_key() -> None:
    x = relay.var("x", shape=(2,))
    assert item_of([1, x], -1) is x
    assert item_of({"ids": x}, "ids") is x
    assert item_of({3: x}, 3) is x
    with pytest.raises(ConversionError, match="a place in a list is expected, got 'ids'"):
        item_of([x], "ids")
