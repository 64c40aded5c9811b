"""Graphs whose operators are lowered: LowerTE and RemoveStandaloneReshapes."""

from __future__ import annotations

from typing import Any

import numpy as np

import compiler as tvm
from compiler import relay
from compiler.ir.module import IRModule
from compiler.relay import transform
from compiler.target.virtual_device import CompilationConfig
from compiler.tir.statements.function import PrimFunc


def configuration() -> CompilationConfig:
    target = tvm.target.Target("llvm", host=tvm.target.Target("llvm"))
    return tvm.target.make_compilation_config(tvm.transform.PassContext(), target)


def lowered(text: str, fuse_opt_level: int = 0) -> IRModule:
    config = configuration()
    passes = [transform.PlanDevices(config), transform.FuseOps(fuse_opt_level), transform.InferType()]
    mod = tvm.transform.Sequential(passes)(relay.fromtext(f'#[version = "0.0.5"]\n{text}'))
    return tvm.get_global_func("relay.tec.LowerTE")("mod", config)(mod)


class TestLowerTE:
    def test_a_fused_function_becomes_loops(self) -> None:
        mod = lowered("def @main(%x: Tensor[(5, 7), float32]) { nn.relu(exp(%x)) }", 3)
        call = mod["main"].body
        function, arguments = call.args
        assert call.op.name == "call_lowered"
        assert function.name_hint == "mod_fused_exp_nn_relu"
        assert [a.name_hint for a in arguments.fields] == ["x"]
        assert call.attrs.metadata["relay_attrs"].Primitive == 1
        assert [v.name_hint for v in call.attrs.metadata["all_prim_fn_vars"]] == ["mod_fused_exp_nn_relu"]
        loops = mod["mod_fused_exp_nn_relu"]
        assert isinstance(loops, PrimFunc)
        assert loops.attrs["global_symbol"] == "mod_fused_exp_nn_relu"
        assert loops.attrs["target"].kind.name == "llvm"

    def test_the_loops_compute_what_the_operators_do(self) -> None:
        mod = lowered("def @main(%x: Tensor[(5, 7), float32]) { nn.relu(negative(%x)) }", 3)
        x = np.random.default_rng(0).uniform(-1, 1, (5, 7)).astype("float32")
        out = tvm.nd.array(np.zeros((5, 7), "float32"))
        tvm.build(mod["mod_fused_negative_nn_relu"], target="llvm")(tvm.nd.array(x), out)
        np.testing.assert_array_equal(out.numpy(), np.maximum(-x, 0))

    def test_equal_functions_share_loops(self) -> None:
        mod = lowered("def @main(%x: Tensor[(4), float32]) { exp(exp(tanh(%x))) }")
        assert {v.name_hint for v in mod.get_global_vars()} == {"main", "mod_fused_exp", "mod_fused_tanh"}

    def test_functions_bound_by_variables_are_lowered_where_they_are_called(self) -> None:
        mod = lowered(
            """
            def @main(%x: Tensor[(4), float32]) {
              let %f = fn (%p: Tensor[(4), float32], Primitive=1) { exp(%p) };
              %f(%x)
            }
            """
        )
        assert mod["main"].body.args[0].name_hint == "mod_fused_exp"


class TestRemoveStandaloneReshapes:
    def reshaped(self, body: str, fuse_opt_level: int = 0) -> Any:
        mod = lowered(f"def @main(%x: Tensor[(4, 5), float32]) {{ {body} }}", fuse_opt_level)
        return tvm.get_global_func("relay._transform.RemoveStandaloneReshapes")()(mod)["main"]

    def test_what_a_reshape_reads_is_used_instead(self) -> None:
        main = self.reshaped("let %a = reshape(%x, newshape=[20]); let %b = exp(%a); %b")
        function, arguments = main.body.value.args
        assert function.name_hint == "mod_fused_exp"
        assert arguments.fields == (main.params[0],)

    def test_reshapes_that_are_results_or_fused_stay(self) -> None:
        result = self.reshaped("let %a = exp(%x); let %b = reshape(%a, newshape=[20]); %b")
        assert "@mod_fused_reshape," in str(result)
        fused = self.reshaped("let %b = reshape(exp(%x), newshape=[20]); nn.relu(%b)", 1)
        assert "@mod_fused_exp_reshape," in str(fused)
