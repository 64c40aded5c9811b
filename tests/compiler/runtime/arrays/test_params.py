"""Parameters as bytes: what is written is read, and what is damaged is refused."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from compiler.ir.error import ArgumentError
from compiler.runtime import load_param_dict, save_param_dict

_DTYPES = st.sampled_from(["float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool"])
_ARRAYS = _DTYPES.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)))


@given(st.dictionaries(st.text(max_size=8), _ARRAYS, max_size=4))
def test_what_is_saved_is_loaded(params: dict[str, Any]) -> None:
    loaded = load_param_dict(save_param_dict(params))
    assert list(loaded) == list(params)
    for name, value in params.items():
        assert loaded[name].dtype == str(value.dtype)
        np.testing.assert_array_equal(loaded[name].numpy(), value)


def test_layout_is_that_of_tvm() -> None:
    """Written out by hand: magic numbers, names, then a device, rank, type, extents and bytes for each array."""
    written = save_param_dict({"ab": np.array([[1.0, 2.0]], "float32")})
    expected = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, 1) + struct.pack("<Q", 2) + b"ab" + struct.pack("<Q", 1)
    expected += struct.pack("<QQiiiBBHqqq", 0xDD5E40F096B4A13F, 0, 1, 0, 2, 2, 32, 1, 1, 2, 8)
    assert bytes(written) == expected + struct.pack("<2f", 1.0, 2.0)


@given(st.integers(0, 200), st.binary(max_size=12))
def test_damaged_bytes_are_refused_or_read(at: int, damage: bytes) -> None:
    content = bytearray(save_param_dict({"weight": np.ones((3, 2), "float32"), "b": np.zeros(4, "int8")}))
    content[at : at + len(damage)] = damage
    try:
        load_param_dict(content[: at + 40])
    except ArgumentError:
        return


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="not written by save_param_dict"):
        load_param_dict(b"x" * 64)
    with pytest.raises(ArgumentError, match="end too early"):
        load_param_dict(b"short")
    with pytest.raises(ArgumentError, match="params must be a dict"):
        save_param_dict(3)  # type: ignore[arg-type]
