"""Drawings of schedules in Graphviz' language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compiler import te
from compiler.classic.contrib import tedd
from compiler.ir.error import ArgumentError, UnavailableError
from compiler.te.scheduling.schedule import Schedule


def sum_of_rows() -> tuple[Schedule, te.Tensor]:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), B


def tiled() -> Schedule:
    A = te.placeholder((128, 64), name="A")
    B = te.compute((128, 64), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((128, 64), lambda i, j: te.exp(B[i, j]) < 2.0, name="C")
    s = te.create_schedule(C.op)
    row, column, _, lane = s[C].tile(C.op.axis[0], C.op.axis[1], 8, 8)
    s[C].bind(row, te.thread_axis("blockIdx.x"))
    s[C].vectorize(lane)
    s[B].compute_at(s[C], column)
    s[B].fuse(*B.op.axis)
    return s.normalize()


def edges(text: str | None) -> set[str]:
    assert text is not None
    return {line.strip().split(" [")[0] for line in text.splitlines() if "->" in line}


def labels(text: str | None) -> str:
    """Return the labels without colours and spans, so that ports, names and texts can be looked for."""
    assert text is not None
    return re.sub(r' (BGCOLOR|COLSPAN|ROWSPAN|PORT)="[^"]*"', "", text)


def test_the_dataflow_has_an_edge_for_each_tensor_that_is_read_and_written() -> None:
    A = te.placeholder((8,), name="A")
    pair = te.compute((8,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="T")
    U = te.compute((8,), lambda i: pair[0][i] + pair[1][i], name="U")
    text = tedd.viz_dataflow_graph(te.create_schedule(U.op), output_dot_string=True)
    assert edges(text) == {
        *("Stage_0:O_0 -> Tensor_0_0", "Tensor_0_0 -> Stage_1:I_0"),
        *("Stage_1:O_0 -> Tensor_1_0", "Stage_1:O_1 -> Tensor_1_1"),
        *("Tensor_1_0 -> Stage_2:I_0", "Tensor_1_1 -> Stage_2:I_1", "Stage_2:O_0 -> Tensor_2_0"),
    }
    assert text is not None
    assert text.startswith('digraph "Dataflow Graph" {')
    assert 'label="[8]\\nfloat32"' in text


def test_a_split_leads_from_its_axis_to_two_loops() -> None:
    s, B = sum_of_rows()
    s[B].split(B.op.reduce_axis[0], factor=16)
    text = tedd.viz_itervar_relationship_graph(s, output_dot_string=True)
    assert edges(text) == {
        "IterVar_1_1:itervar -> Split_Relation_1_0:Input",
        "Split_Relation_1_0:Outer -> IterVar_1_2:itervar",
        "Split_Relation_1_0:Inner -> IterVar_1_3:itervar",
    }
    drawn = labels(text)
    assert "i(kDataPar)<br/>range(min=0, ext=n)" in drawn
    assert "<TD>-1</TD><TD>k(kCommReduce)<br/>range(min=0, ext=m)" in drawn, "k is no loop any more"
    assert "<TD>2</TD><TD>k_inner(kCommReduce)<br/>range(min=0, ext=16)" in drawn
    assert "subgraph cluster_legend" in drawn
    assert "A_placeholder [style=invis]" in drawn


def test_the_tree_leads_from_each_stage_to_the_loop_that_it_is_computed_in() -> None:
    text = tedd.viz_schedule_tree(tiled(), output_dot_string=True)
    assert edges(text) == {"Stage_0 -> ROOT", "Stage_1 -> Stage_2:IterVar_2_4", "Stage_2 -> ROOT"}
    drawn = labels(text)
    assert 'i_outer(kDataPar)<br/><font color="#2980B9">(blockIdx_x)</font><br/>range(min=0, ext=16)' in drawn
    assert "<TD>3</TD><TD>j_inner(kVectorized)<br/>range(min=0, ext=8)" in drawn
    assert "[T.exp(B[i, j]) &lt; T.float32(" in drawn, "what the label says is not read as markup"


def test_axes_that_count_from_elsewhere_are_drawn_once() -> None:
    text = tedd.viz_itervar_relationship_graph(tiled(), output_dot_string=True)
    drawn = labels(text)
    assert "Rebase" not in drawn
    assert "<TD>-1</TD><TD>i(kDataPar)<br/>range(min=blockIdx.x * 8, ext=8)" in drawn
    assert "Fuse_Relation_1_0:Fused -> IterVar_1_2:itervar" in edges(text)


def test_ranges_are_left_out_with_a_warning_where_a_stage_is_inlined() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    with pytest.warns(UserWarning, match=r"ranges are not known: .*'B' is inlined"):
        text = tedd.viz_schedule_tree(s, output_dot_string=True)
    assert "range(N/A)" in labels(text)


def test_a_drawing_is_written_into_a_file(tmp_path: Path) -> None:
    s, _ = sum_of_rows()
    assert tedd.viz_dataflow_graph(s, dot_file_path=str(tmp_path / "rows.dot")) is None
    assert (tmp_path / "rows.dot").read_text() == tedd.viz_dataflow_graph(s, output_dot_string=True)


def test_what_cannot_be_drawn_is_refused() -> None:
    s, _ = sum_of_rows()
    with pytest.raises(UnavailableError, match=r"viz_schedule_tree: images are not rendered; .*dot -Tsvg"):
        tedd.viz_schedule_tree(s, show_svg=True)
    with pytest.raises(ArgumentError, match=r"viz_dataflow_graph: expected a schedule of te.create_schedule, got int"):
        tedd.viz_dataflow_graph(3)  # type: ignore[arg-type]


def test_a_stage_with_the_name_of_a_keyword_is_quoted() -> None:
    A = te.placeholder((4,), name="Graph")
    text = tedd.viz_itervar_relationship_graph(
        te.create_schedule(te.compute((4,), lambda i: A[i], name="edges").op), output_dot_string=True
    )
    assert text is not None
    assert 'label="Graph"' in text
    assert "label=edges" in text
