"""Expressions of which nothing says where they come from are counted."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from compiler import relay
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, recording
from compiler.relay.parser import SpanCheck
from compiler.relay.transform import AnnotateSpans

public: Any = relay


def test_expressions_have_no_span_until_they_are_annotated() -> None:
    x = relay.var("x", shape=(3,))
    mod = IRModule.from_expr(relay.Function([x], public.exp(public.add(x, x))))
    with recording(OriginTable()):
        with pytest.warns(UserWarning, match="2 calls and tuples of @main have no span"):
            assert SpanCheck()(mod)["main"] is mod["main"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SpanCheck()(AnnotateSpans()(mod))
