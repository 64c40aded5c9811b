"""Layouts: reading their names, and where elements stand."""

import numpy as np
import pytest

from compiler.ir.error import ArgumentError
from compiler.tir.layout.data_layout import BijectiveLayout, bijective_layout, layout


def test_blocks_of_channels() -> None:
    blocked = layout("NCHW4c")
    assert blocked.letters == "NCHW"
    assert blocked.extents((1, 2, 5, 6, 4)) == {"N": 1, "C": 8, "H": 5, "W": 6}
    assert blocked.shape({"N": 1, "C": 8, "H": 5, "W": 6}) == (1, 2, 5, 6, 4)
    assert blocked.indices({"N": 0, "C": 7, "H": 2, "W": 3}) == (0, 1, 2, 3, 3)
    assert blocked.point((0, 1, 2, 3, 3)) == {"N": 0, "C": 7, "H": 2, "W": 3}


@pytest.mark.parametrize("name", ["NHWC", "NCHW4c", "OIHW4i2o", "OIHW2i4o2i"])
def test_every_element_is_where_the_layout_says(name: str) -> None:
    there = layout(name)
    letters = there.letters
    plain = np.arange(8 * 8 * 2 * 3).reshape(8, 8, 2, 3)
    moved = there.from_plain(plain, letters)
    for at in ((0, 0, 0, 0), (5, 6, 1, 2), (7, 3, 0, 1)):
        point = dict(zip(letters, at, strict=True))
        assert moved[there.indices(point)] == plain[at]
        assert there.point(there.indices(point)) == point
    np.testing.assert_array_equal(there.to_plain(moved, letters), plain)


@pytest.mark.parametrize("name", ["N4c", "NCHWC", "NCHW0c", "NC-HW", "nchw"])
def test_names_that_are_no_layouts(name: str) -> None:
    with pytest.raises(ArgumentError, match="expected a layout such as NCHW"):
        layout(name)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match="has 5 axes"):
        layout("NCHW4c").extents((1, 2, 3, 4))
    with pytest.raises(ArgumentError, match="requires blocks of 4"):
        layout("NCHW4c").extents((1, 2, 3, 4, 8))
    with pytest.raises(ArgumentError, match="not a multiple of 4"):
        layout("NCHW4c").shape({"N": 1, "C": 6, "H": 1, "W": 1})


def test_axes_by_name() -> None:
    blocked = layout("NCHW16c")
    assert [blocked.factor_of(axis) for axis in "cCHO"] == [16, 16, -1, -1]
    assert [blocked.index_of(axis) for axis in "NCHWcO"] == [0, 1, 2, 3, 4, -1]
    assert "c" in blocked
    assert "O" not in blocked
    assert list(blocked) == ["N", "C", "H", "W", "c"]
    assert [len(layout(name)) for name in ("NCHW16c", "", "__undef__")] == [5, 0, 0]


def test_mappings_between_layouts() -> None:
    mapping = bijective_layout("NCHW", layout("NCHW16c"))
    assert isinstance(mapping, BijectiveLayout)
    assert mapping.forward_shape((1, 32, 7, 7)) == (1, 2, 7, 7, 16)
    assert mapping.backward_shape((1, 2, 7, 7, 16)) == (1, 32, 7, 7)
    assert mapping.forward_index([0, 18, 6, 6]) == (0, 1, 6, 6, 2)
    assert mapping.backward_index([0, 1, 6, 6, 2]) == (0, 18, 6, 6)
    for src, dst in (("NCHW", "ABCD"), ("", "NCHW"), ("NCHW", "__undef__"), ("", "")):
        assert bijective_layout(src, dst) is None
