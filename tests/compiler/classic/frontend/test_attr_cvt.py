"""Converters that rename: AttrCvt and Renamer of tvm.relay.frontend.common."""

from __future__ import annotations

from typing import Any

import pytest

from compiler import relay
from compiler.classic.frontend.attr_cvt import AttrCvt, Renamer
from compiler.ir.error import OpAttributeInvalid, OpAttributeRequired, OpAttributeUnImplemented

X = relay.var("x", shape=(1, 3, 8, 8))


def test_the_public_names() -> None:
    common: Any = relay.frontend.common
    assert (common.AttrCvt, common.Renamer) == (AttrCvt, Renamer)


def test_a_renamer_drops_attributes() -> None:
    assert Renamer("nn.relu")([X], {"alpha": 1}).op.name == "nn.relu"


def test_attributes_are_renamed_and_dropped() -> None:
    convert = AttrCvt("nn.leaky_relu", transforms={"slope": "alpha"}, ignores=["q"], disables=["d"])
    assert convert([X], {"slope": 0.5, "q": 1}).attrs.alpha == 0.5
    with pytest.warns(UserWarning, match="d is disabled"):
        assert convert([X], {"slope": 0.25, "d": 1}).attrs.alpha == 0.25


def test_values_are_transformed_and_have_defaults() -> None:
    convert = AttrCvt("nn.max_pool2d", {"k": ("pool_size", (2, 2), lambda k: (k, k))}, extras={"ceil_mode": True})
    assert tuple(convert([X], {"k": 3}).attrs.pool_size) == (3, 3)
    assert tuple(convert([X], {"k": None}).attrs.pool_size) == (2, 2)
    assert convert([X], {"k": 3}).attrs.ceil_mode


def test_the_operator_may_depend_on_the_attributes() -> None:
    convert = AttrCvt(lambda attrs: "nn.relu" if attrs["k"] else "tanh", ignores=["k"])
    assert [convert([X], {"k": k}).op.name for k in (0, 1)] == ["tanh", "nn.relu"]


def test_what_is_refused() -> None:
    convert = AttrCvt(
        "nn.leaky_relu", {"slope": "alpha"}, excludes=["z"], custom_check=(lambda attrs: "bad" not in attrs, "a reason")
    )
    with pytest.raises(OpAttributeUnImplemented, match="Attribute z in operator"):
        convert([X], {"z": 1})
    with pytest.raises(OpAttributeRequired, match="slope"):
        convert([X], {"slope": None})
    with pytest.raises(OpAttributeInvalid, match="a reason"):
        convert([X], {"bad": 1})
