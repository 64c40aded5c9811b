"""Functions take their arguments under the names that TVM's own have."""

from compiler import arith, tir
from compiler.ir.passes.context import PassInfo
from compiler.ir.transform import Sequential
from compiler.tir.script import tir as T

i = tir.Var("i", "int32")
A = tir.decl_buffer((8,), "float32", "A")


def test_of_expressions() -> None:
    assert tir.address_of(buffer_load=A[0]).args[0].buffer is A
    assert T.float32(expr=1.0).value == 1.0
    add = tir.CommReducer([i], [tir.Var("y", "int32")], [i], [tir.IntImm("int32", 0)])
    axis = tir.IterVar((0, 4), "k", tir.IterVar.CommReduce)
    total = tir.Reduce(combiner=add, src=[axis.var], rdom=[axis], condition=tir.const(True), value_index=0)
    assert (total.source, total.axis) == ((axis.var,), (axis,))


def test_of_functions() -> None:
    func = tir.PrimFunc([], tir.Evaluate(0)).with_attr("kept", 1).with_attr("dropped", 2)
    assert list(func.without_attr(attr_key="dropped").attrs) == ["kept"]


def test_of_the_analyzer() -> None:
    analyzer = arith.Analyzer()
    with analyzer.constraint_scope(constraint=i > 3):
        assert analyzer.can_prove(expr=i > 2)
    assert not analyzer.can_prove(expr=i > 2)


def test_of_the_ir_builder() -> None:
    memory = tir.ir_builder.create().allocate("float32", (4, 8), axis_separators=[1])
    assert [int(cut) for cut in memory.buffer.axis_separators] == [1]


def test_of_passes() -> None:
    assert not PassInfo(1, "p", ()).traceable
    assert Sequential([], name="s", traceable=True).info.traceable
    assert "traceable" not in repr(Sequential([]))
