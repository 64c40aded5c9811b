"""Runs single operators: the type by inference, the value by the reference and by generated code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import compiler
from compiler import relay, te
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TupleType

Array = np.ndarray[Any, Any]


def random(*shape: int, dtype: str = "float32", seed: int = 0) -> Array:
    """Return random numbers, whole ones for an integer type."""
    rng = np.random.default_rng(seed + sum(shape))
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0 if dtype.startswith("u") else -20, 20, shape).astype(dtype)


def variables(arrays: list[Array]) -> list[Any]:
    """Return a variable of each array's type."""
    return [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]


def compiled(call: Any, arrays: list[Array], target: str = "llvm") -> list[Array]:
    """Return what the operator's tensor expression computes, by its own schedule where it has one."""
    op, attrs = call.op, call.attrs
    inputs = [te.placeholder(a.shape, str(a.dtype), name=f"x{i}") for i, a in enumerate(arrays)]
    with compiler.target.Target(target) as machine:
        outputs = op.compute(attrs, inputs, call.checked_type)
        rule = op.schedule
        schedule = rule(attrs, outputs, machine) if rule else te.create_schedule([o.op for o in outputs])
        function = compiler.build(schedule, [*inputs, *outputs], target=machine)
    results = [compiler.nd.empty(tuple(int(d) for d in o.shape), o.dtype) for o in outputs]
    function(*[compiler.nd.array(a) for a in arrays], *results)
    return [r.numpy() for r in results]


def check(
    make: Callable[..., Any], arrays: list[Array], wanted: Any = None, tolerance: float = 1e-5, target: str = "llvm"
) -> list[Array]:
    """Compare type, reference and compiled code of ``make(*variables)`` with each other and with ``wanted``."""
    call = make(*variables(arrays))
    while not isinstance(call, relay.Call):
        call = call.tuple_value
    found = infer_expr(call)
    types = found.fields if isinstance(found, TupleType) else (found,)
    reference = call.op.reference(call.attrs, *arrays)
    references = list(reference) if isinstance(reference, tuple) else [reference]
    for t, r in zip(types, references, strict=True):
        assert (t.concrete_shape, t.dtype) == (r.shape, str(r.dtype))
    if wanted is not None:
        np.testing.assert_allclose(references[0], wanted, rtol=tolerance, atol=tolerance)
    for c, r in zip(compiled(call, arrays, target), references, strict=True):
        np.testing.assert_allclose(c, r, rtol=tolerance, atol=tolerance)
    return references
