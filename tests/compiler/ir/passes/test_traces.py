"""Traces of passes that try several ways, kept by a context."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler.ir.error import ArgumentError


def test_traces_are_a_stack() -> None:
    ctx = tvm.transform.PassContext(trace="first", make_traceable=["FoldConstant"], num_evals=2)
    assert (ctx.get_trace_stack_size(), ctx.get_current_trace(), ctx.make_traceable) == (1, "first", ["FoldConstant"])
    ctx.push_trace("second")
    assert ctx.get_trace_stack() == ["first", "second"]
    assert ctx.pop_trace() == "second"
    assert ctx.pop_trace(return_current=False) is None
    with pytest.raises(ArgumentError, match="there is no trace"):
        ctx.pop_trace()
    ctx.set_trace_stack(["other"])
    ctx.inc_num_evals(3)
    assert (ctx.get_current_trace(), ctx.num_evals) == ("other", 5)


def test_a_context_is_written_with_what_it_holds() -> None:
    config = {"tir.disable_vectorize": True}
    ctx = tvm.transform.PassContext(opt_level=1, required_pass=["FoldConstant"], config=config)
    assert str(ctx).splitlines() == [
        "Pass context information: ",
        "\topt_level: 1",
        "\trequired passes: [FoldConstant]",
        "\tdisabled passes: []",
        "\tinstruments: []",
        "\tconfig: {'tir.disable_vectorize': True}",
        "\ttrace stack: []",
    ]
