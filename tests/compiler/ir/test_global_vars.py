"""The functions of a module by their names: who calls whom, other names, facts that hold for all of them."""

import pytest

import compiler as tvm
from compiler.classic.ir.analysis import collect_call_map
from compiler.tir.script import ir as I
from compiler.tir.script import tir as T


@I.ir_module
class Doubling:
    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        A[0] = Doubling.twice(A[0]) + Doubling.twice(T.float32(1))

    @T.prim_func(private=True)
    def twice(x: T.float32) -> T.float32:
        return x * T.float32(2)


def names(module):
    return {caller.name_hint: [callee.name_hint for callee in called] for caller, called in module.items()}


def test_each_callee_is_found_once():
    assert names(collect_call_map(Doubling)) == {"main": ["twice"], "twice": []}
    x = tvm.relay.var("x", shape=(3,))
    graph = tvm.IRModule()
    callee = tvm.ir.GlobalVar("double")
    graph[callee] = tvm.relay.Function([x], x + x)
    y = tvm.relay.var("y", shape=(3,))
    graph["main"] = tvm.relay.Function([y], callee(callee(y)))
    assert names(collect_call_map(graph)) == {"double": [], "main": ["double"]}


def test_functions_get_other_names_where_they_are_called_too():
    renamed = Doubling.replace_global_vars({"twice": "times_two", "main": "entry"})
    assert names(collect_call_map(renamed)) == {"entry": ["times_two"], "times_two": []}
    assert renamed["entry"].attrs["global_symbol"] == "entry"
    assert "global_symbol" not in renamed["times_two"].attrs
    assert names(collect_call_map(Doubling)) == {"main": ["twice"], "twice": []}


def test_two_functions_never_get_one_name():
    with pytest.raises(tvm.TVMError, match="two functions would be named 'main'"):
        Doubling.replace_global_vars({"twice": "main"})


def test_global_infos_are_part_of_a_module():
    module = Doubling.shallow_copy()
    module.update_global_info("vdevice", [tvm.ir.VDevice("llvm"), tvm.ir.VDevice("cuda", 1, "shared")])
    assert not tvm.ir.structural_equal(module, Doubling)
    kept = module.with_attr("version", 1).without_attr("version")
    tvm.ir.assert_structural_equal(kept, module)
    assert 'I.vdevice({"keys": ["cuda", "gpu"], "kind": "cuda"}, 1, "shared")' in module.script()


def test_functions_are_removed_by_name_or_variable():
    module = tvm.IRModule({name: tvm.tir.PrimFunc([], tvm.tir.Evaluate(i)) for i, name in enumerate("abc")})
    del module["a"]
    del module[module.get_global_var("c")]
    assert [var.name_hint for var in module.functions] == ["b"]
    with pytest.raises(ValueError, match="no function is named 'a'"):
        del module["a"]
