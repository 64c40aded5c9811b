"""Names of older releases do what took their places does."""

from __future__ import annotations

import pytest

from compiler.driver.older_names import build_config, context, relay_build_config
from compiler.ir.error import AttrsError
from compiler.ir.pass_context import PassContext
from compiler.runtime.device import cpu


def test_contexts_of_passes() -> None:
    with relay_build_config(opt_level=3, required_pass=["FastMath"], disabled_pass=["FuseOps"]) as chosen:
        assert PassContext.current() is chosen
        assert (chosen.opt_level, chosen.required_pass, chosen.disabled_pass) == (3, {"FastMath"}, {"FuseOps"})
    loops = build_config(disable_vectorize=True, auto_unroll_max_step=8)
    assert loops.config == {"tir.disable_vectorize": True, "tir.UnrollLoop": {"auto_max_step": 8}}
    with pytest.raises(AttrsError, match="no configuration option 'frobnicate'"):
        build_config(frobnicate=1)


def test_devices() -> None:
    assert context("cpu", 0) == cpu(0)
