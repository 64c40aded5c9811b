"""Words about graphs: what a pass did to operators, kernels and memory traffic."""

from __future__ import annotations

import pytest

from app.artifacts import Step, Unit
from app.panes.numbers import graph_fact
from app.panes.page import timeline
from app.panes.steps import timeline_steps


def graph() -> Unit:
    facts = {"operators": 12.0, "kernels": 12.0, "bytes read": 345_592.0}
    fused = {"operators": 12.0, "kernels": 7.0, "bytes read": 148_944.0}
    return Unit(
        name="main",
        kind="graph",
        steps=[
            Step(group="graph", name="Graph", delta={"operators": 12, "kernels": 12, "lines": 14}, facts=facts),
            Step(group="graph", name="InferType", changed=False, facts=facts),
            Step(group="graph", name="SimplifyInference", changed=False, facts=facts),
            Step(group="graph", name="FuseOps", detail="Fuse", delta={"kernels": -5, "lines": 21}, facts=fused),
        ],
    )


def test_passes_that_changed_nothing_are_folded() -> None:
    [group] = timeline(timeline_steps(graph()))
    assert [(button.label, button.caption, button.dim) for button in group.buttons] == [
        ("Graph", "+12 operators", False),
        ("2 passes", "no change", True),
        ("FuseOps", "−5 kernels", False),
    ]


def test_passes_that_the_context_leaves_out_are_off() -> None:
    step = Step(group="graph", name="FoldConstant", detail="disabled by the context", changed=False, applied=False)
    unit = Unit(name="main", kind="graph", steps=[Step(group="graph", name="Graph"), step])
    [group] = timeline(timeline_steps(unit))
    assert [(button.label, button.caption, button.dim) for button in group.buttons][1] == ("FoldConstant", "off", True)
    assert timeline_steps(unit)[1].summary == "FoldConstant\u2003disabled by the context"


def test_a_step_compares_the_graph_before_and_after_it() -> None:
    last = timeline_steps(graph())[-1]
    assert last.summary == "FuseOps\u2003−5 kernels"
    assert last.tooltip == "Fuse\noperators 12\nkernels 12 → 7\nbytes read 337 KB → 145 KB"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("kernels", 1234.0, "1,234"), ("bytes read", 12.0, "12 B"), ("bytes written", 5.5e9, "5.12 GB")],
)
def test_facts_as_people_read_them(name: str, value: float, text: str) -> None:
    assert graph_fact(name, value) == text
