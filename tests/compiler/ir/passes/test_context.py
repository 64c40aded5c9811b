"""Contexts say what they hold."""

import compiler as tvm


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
    ]
