"""Every operator of graphs is whole: all of its fields are there or waived with a reason, and they agree."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.relay.operator import RelayOp, relay_ops
from tests.compiler.relay.op.example import by_code, by_reference, check_gradient
from tests.compiler.relay.op.examples import EXAMPLES

OPERATORS = relay_ops()
_FIELDS = ("doc", "relation", "compute", "reference", "gradient")
_CASES = [pytest.param(name, i, id=f"{name}-{i}") for name, examples in EXAMPLES.items() for i in range(len(examples))]
_SMOOTH = [
    pytest.param(name, i, id=f"{name}-{i}")
    for name, examples in EXAMPLES.items()
    for i, example in enumerate(examples)
    if OPERATORS[name].gradient and example.smooth
]


@pytest.mark.parametrize("op", OPERATORS.values(), ids=str)
def test_every_field_is_filled_or_waived(op: RelayOp) -> None:
    missing = {field for field in _FIELDS if not getattr(op, field)}
    assert missing == set(op.waived), "exactly what is missing is waived"
    assert all(len(reason) > 10 for reason in op.waived.values())
    assert op.doc.endswith(".")
    assert len(set(op.inputs)) == len(op.inputs)


def test_every_operator_has_examples() -> None:
    assert set(OPERATORS) == set(EXAMPLES)


@pytest.mark.parametrize(("name", "index"), _CASES)
def test_reference_and_code_agree(name: str, index: int) -> None:
    example = EXAMPLES[name][index]
    call = example.call(example.variables)
    assert call.op.name == name
    references = by_reference(example)
    if example.wanted is not None:
        wanted = example.wanted if len(references) > 1 else [example.wanted]
        for found, w in zip(references, wanted, strict=True):
            np.testing.assert_allclose(found, w, rtol=1e-5, atol=1e-6)
    if call.op.compute is not None:
        for found, reference in zip(by_code(example), references, strict=True):
            assert (found.shape, found.dtype) == (reference.shape, reference.dtype)
            np.testing.assert_allclose(found, reference, rtol=example.tolerance, atol=example.tolerance)


@pytest.mark.parametrize(("name", "index"), _SMOOTH)
def test_gradients_are_slopes(name: str, index: int) -> None:
    check_gradient(EXAMPLES[name][index])
