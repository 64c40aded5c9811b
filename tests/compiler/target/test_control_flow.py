"""Control-flow graphs of printed code: blocks, jumps, loops, against LLVM's own view and against hand-made texts."""

from __future__ import annotations

import random
import re

import pytest
from llvmlite import binding

import compiler as tvm
from compiler import te
from compiler.target.assembly_targets import assembly_targets
from compiler.target.codegen.llvm import codegen, pipeline
from compiler.target.control_flow import FlowGraph, _dominators, control_flow, hot_loop
from compiler.target.target import Target
from compiler.topi.nn.matmul import batch_matmul
from compiler.topi.schedules.x86.matmul import schedule_matmul

LOOP = """\
double:
        testq %rdi, %rdi
        je .LBB0_3
.LBB0_2:
        addq $1, %rax
        cmpq %rdi, %rax
        jne .LBB0_2
.LBB0_3:
        retq
""".splitlines()


def edges(graph: FlowGraph) -> list[tuple[str, str, str, bool]]:
    names = [block.name for block in graph.blocks]
    return [(block.name, names[j.target], j.kind, j.back) for block in graph.blocks for j in block.jumps]


def test_jumps_lead_to_labels_and_below() -> None:
    (graph,) = control_flow(LOOP, "gas")
    assert graph.function == "double"
    assert [(block.name, block.instructions, block.depth, block.hot) for block in graph.blocks] == [
        ("double", 2, 0, False),
        (".LBB0_2", 3, 1, True),
        (".LBB0_3", 1, 0, False),
    ]
    assert edges(graph) == [
        ("double", ".LBB0_3", "true", False),
        ("double", ".LBB0_2", "false", False),
        (".LBB0_2", ".LBB0_2", "true", True),
        (".LBB0_2", ".LBB0_3", "false", False),
    ]
    assert graph.hot_lines == [3, 4, 5, 6]


@pytest.mark.parametrize(
    "target", ["llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512", "llvm -mtriple=riscv64 -mcpu=sifive-x280"]
)
def test_of_loops_that_are_equally_deep_the_one_that_multiplies_is_hot(target: str) -> None:
    """Columns are transposed into panels by more instructions than rows are multiplied with them."""
    q, k = (te.placeholder((2, 128, 64), name=name) for name in "qk")
    with Target(target) as current:
        product = batch_matmul(q, k)
        emitted = codegen(tvm.lower(schedule_matmul(None, [product], current), [q, k, product]), current)
    for text, language, multiplies in (
        (emitted.optimised, "llvm", r"= fmul |@llvm\.fma"),
        (emitted.assembly, "gas", r"vfmadd|vfmacc"),
    ):
        lines = text.splitlines()
        graph = hot_loop(control_flow(lines, language))
        assert graph is not None
        hot = "\n".join(lines[number] for number in graph.hot_lines)
        assert len(re.findall(multiplies, hot)) >= 8, language


def test_the_function_that_multiplies_is_hot_where_another_one_is_nested_more_deeply() -> None:
    copy = ["copy:", ".LBB0_1:", "\txorl\t%ecx, %ecx", ".LBB0_2:", "\tmovss\t(%rdi,%rcx,4), %xmm0"]
    copy += ["\tmovss\t%xmm0, (%rsi,%rcx,4)", "\tincq\t%rcx", "\tcmpq\t$9, %rcx", "\tjne\t.LBB0_2", "\tincq\t%rax"]
    copy += ["\tcmpq\t$9, %rax", "\tjne\t.LBB0_1", "\tretq"]
    sums = ["sums:", ".LBB1_1:", "\tmulps\t(%rdi), %xmm0", "\taddps\t%xmm0, %xmm1", "\tdecq\t%rax"]
    sums += ["\tjne\t.LBB1_1", "\tretq"]
    graphs = control_flow([*copy, *sums], "gas")
    assert {graph.function: graph.depth for graph in graphs} == {"copy": 2, "sums": 1}
    found = hot_loop(graphs)
    assert found is not None
    assert found.function == "sums"
    deepest = hot_loop(graphs[:1])
    assert deepest is not None
    assert deepest.function == "copy"


def matmul(target: Target) -> tuple[list[str], list[str]]:
    """Return the optimised LLVM IR and the assembly of a matrix multiplication with three loops, never unrolled."""
    n = te.var("n")
    a, b = (te.placeholder((n, n), name=name) for name in "ab")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    emitted = codegen(tvm.lower(te.create_schedule(c.op), [a, b, c], name="matmul"), target)
    return emitted.optimised.splitlines(), emitted.assembly.splitlines()


MACHINES = [key for key in assembly_targets() if not key.startswith(("host", "wasm"))]


@pytest.mark.parametrize("machine", MACHINES)
def test_three_loops_are_three_deep_in_llvm_ir_and_in_assembly(machine: str) -> None:
    optimised, assembly = matmul(assembly_targets()[machine].target)
    for lines, language in ((optimised, "llvm"), (assembly, "gas")):
        graphs = control_flow(lines, language)
        graph = hot_loop(graphs)
        assert graph is not None
        assert graph.function == "matmul"
        assert graph.depth == 3, machine
        hot = "\n".join(lines[number] for number in graph.hot_lines)
        assert re.search(r"fmul|fma|vfmadd|fmadd|mulss|mulps|fmla|vfmul", hot), (machine, language)


def test_webassembly_has_no_jumps_to_labels() -> None:
    _, assembly = matmul(assembly_targets()["wasm32-simd128"].target)
    assert control_flow(assembly, "gas") == []


def test_loops_are_those_that_llvm_finds() -> None:
    optimised, _ = matmul(Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"))
    module = pipeline.parse("\n".join(optimised))
    (graph,) = [graph for graph in control_flow(optimised, "llvm") if graph.function == "matmul"]
    function = module.get_function("matmul")
    dot = binding.get_function_cfg(function, show_inst=False)
    assert len(graph.blocks) == len(list(function.blocks))
    arrows = len(re.findall(r"->", dot))
    assert sum(len(block.jumps) for block in graph.blocks) == arrows


def test_a_switch_leads_to_each_of_its_cases() -> None:
    text = """\
define i32 @choose(i32 %x) {
  switch i32 %x, label %other [
    i32 0, label %zero
    i32 7, label %seven
  ]

zero:
  ret i32 1

"with space":
  ret i32 4

seven:
  br label %other

other:
  ret i32 2
}""".splitlines()
    (graph,) = control_flow(text, "llvm")
    assert edges(graph) == [
        ("entry", "other", "case", False),
        ("entry", "zero", "case", False),
        ("entry", "seven", "case", False),
        ("seven", "other", "next", False),
    ]
    assert [block.depth for block in graph.blocks] == [0] * 5


def test_dominators_are_the_blocks_without_which_nothing_is_reached() -> None:
    draw = random.Random(8)
    for _ in range(200):
        count = draw.randint(1, 9)
        successors = [[draw.randrange(count) for _ in range(draw.randint(0, 3))] for _ in range(count)]
        immediate = _dominators(successors)

        def reached(without: int | None, successors: list[list[int]] = successors) -> set[int]:
            seen, todo = set[int](), [0]
            while todo:
                block = todo.pop()
                if block not in seen and block != without:
                    seen.add(block)
                    todo += successors[block]
            return seen

        everything = reached(None)
        assert set(immediate) == everything
        for block in everything:
            chain = {block, 0}
            at = block
            while at != immediate[at]:
                at = immediate[at]
                chain.add(at)
            assert chain == {other for other in everything if other == block or block not in reached(other)}


def test_two_labels_of_one_place_are_one_block() -> None:
    lines = ["f:", "    testq %rdi, %rdi", "    je .LBB0_2", "    nop", ".LBB0_1:", ".LBB0_2:", "    retq"]
    (graph,) = control_flow(lines, "gas")
    assert edges(graph) == [
        ("f", ".LBB0_2", "true", False),
        ("f", "f+", "false", False),
        ("f+", ".LBB0_2", "next", False),
    ]


def test_what_is_no_code_has_no_flow() -> None:
    assert control_flow([], "gas") == []
    assert control_flow(["for i in range(3):"], "python") == []
    assert control_flow([".LCPI0_0:", "    .long 0x3f800000"], "gas") == []
    assert hot_loop([]) is None
