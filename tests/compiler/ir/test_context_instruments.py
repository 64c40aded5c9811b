"""Instruments of a context: replaced while it is current, told of its end where another one fails; PrintIR."""

from __future__ import annotations

from typing import Any

import pytest

import compiler as tvm
import compiler.relay
from compiler.ir.error import AttrsError
from compiler.ir.expr.scalars import IntImm
from compiler.ir.instrument import pass_instrument
from compiler.ir.transform import PassContext, PrintIR, config_options

relay: Any = compiler.relay


def instrument(name: str, events: list[str], fails: str = "") -> Any:
    class Listener:
        def enter_pass_ctx(self) -> None:
            events.append(f"enter {name}")
            if fails == "enter":
                raise KeyError(name)

        def exit_pass_ctx(self) -> None:
            events.append(f"exit {name}")
            if fails == "exit":
                raise KeyError(name)

    return pass_instrument(Listener)()


def test_instruments_that_are_replaced_leave_the_context() -> None:
    events: list[str] = []
    with PassContext(instruments=[instrument("a", events)]) as context:
        context.override_instruments([instrument("b", events)])
        context.override_instruments(None)
        assert context.instruments == []
    assert events == ["enter a", "exit a", "enter b", "exit b"]


def test_where_one_cannot_enter_those_before_it_leave() -> None:
    events: list[str] = []
    context = PassContext(instruments=[instrument("a", events), instrument("b", events, "enter")])
    outer = PassContext.current()
    with pytest.raises(KeyError), context:
        pass
    assert events == ["enter a", "enter b", "exit a"]
    assert context.instruments == []
    assert PassContext.current() is outer


def test_where_one_cannot_leave_the_context_has_none_any_more() -> None:
    events: list[str] = []
    context = PassContext(instruments=[instrument("a", events, "exit"), instrument("b", events)])
    with pytest.raises(KeyError), context:
        pass
    assert events == ["enter a", "enter b", "exit a"]
    assert context.instruments == []


def test_options_are_listed_with_their_types() -> None:
    options = PassContext.list_configs()
    assert options.keys() == config_options().keys()
    assert options["relay.backend.use_auto_scheduler"] == {"type": "IntImm"}


def test_print_ir_writes_the_module_between_passes(capsys: pytest.CaptureFixture[str]) -> None:
    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.multiply(relay.add(x, x), relay.const(2.0)))
    assert tvm.transform.Sequential([PrintIR("now")])(mod) is mod
    written = capsys.readouterr().err
    assert written.startswith("PrintIR(now):\n")
    assert "multiply" in written
    assert PrintIR().info.name == "PrintIR"


def test_numbers_are_truth_values_of_options() -> None:
    given = {"relay.backend.use_auto_scheduler": 0, "tir.disable_vectorize": IntImm("bool", 1)}
    config = PassContext(config=given).config
    for option, truth in (("relay.backend.use_auto_scheduler", False), ("tir.disable_vectorize", True)):
        assert config[option] == truth
        assert (config[option].value, config[option].dtype, str(config[option])) == (int(truth), "bool", str(truth))
    depth = PassContext(config={"relay.FuseOps.max_depth": 3}).config["relay.FuseOps.max_depth"]
    assert (depth, depth.value, depth.dtype) == (3, 3, "int32")
    with pytest.raises(AttrsError):
        PassContext(config={"relay.backend.use_auto_scheduler": 2})


def test_what_a_program_raises_is_an_error_of_its_class_and_of_tvm() -> None:
    class Refused(KeyError):
        """An error of a program, which knows more than its message."""

        def __init__(self, what: str, code: int) -> None:
            super().__init__(what)
            self.code = code

    @tvm.transform.module_pass(opt_level=0, name="Refusing")
    def refusing(mod: Any, ctx: Any) -> Any:
        raise Refused("no", 7)

    with pytest.raises(Refused, match="no") as caught:
        refusing(tvm.IRModule())
    assert isinstance(caught.value, tvm.TVMError)
    assert caught.value.code == 7
    with pytest.raises(tvm.TVMError), PassContext(instruments=[instrument("a", [], "enter")]):
        pass
