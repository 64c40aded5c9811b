"""Example calls of operators, and what runs them: inference, the NumPy reference, generated code, gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import compiler
from compiler import relay, te
from compiler.relay.inference import infer_expr
from compiler.relay.ty import tensor_types
from compiler.topi.schedules import schedule_rule_for

Array = np.ndarray[Any, Any]


@dataclass
class Example:
    """A call of one operator on arrays.

    Attributes
    ----------
    make : callable
        Takes a variable for each array and returns the call, or a tuple wrapper around it.
    arrays : list of array
    wanted : array, list of array or None
        What must come out, as computed by other means.
    tolerance : float
        Of generated code against the reference, relative and absolute.
    smooth : bool
        Whether the operator's gradient holds here; some refuse rare attributes, or assume that indices differ.
    """

    make: Callable[..., Any]
    arrays: list[Array]
    wanted: Any = None
    tolerance: float = 1e-5
    smooth: bool = True

    @property
    def variables(self) -> list[Any]:
        return [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(self.arrays)]

    def call(self, variables: Sequence[Any]) -> Any:
        made = self.make(*variables)
        return made.astuple() if hasattr(made, "astuple") else made


def floats(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0, dtype: str = "float32") -> Array:
    """Return random numbers of a range, all different from each other."""
    rng = np.random.default_rng(seed + sum(shape))
    return np.asarray(rng.uniform(low, high, shape), dtype)


def ints(*shape: int, low: int = -9, high: int = 9, seed: int = 0, dtype: str = "int32") -> Array:
    """Return random whole numbers from ``low`` up to, and without, ``high``."""
    return np.asarray(np.random.default_rng(seed + sum(shape)).integers(low, high, shape), dtype)


def truths(*shape: int, seed: int = 0) -> Array:
    """Return random truth values."""
    return np.asarray(np.random.default_rng(seed + sum(shape)).random(shape) > 0.5)


def evaluate(expr: Any, values: dict[Any, Any]) -> Any:
    """Return the value of an expression of calls, tuples and constants by the references of its operators."""
    if expr in values:
        return values[expr]
    match expr:
        case relay.Constant():
            found: Any = expr.value
        case relay.Tuple():
            found = tuple(evaluate(f, values) for f in expr.fields)
        case relay.expr.TupleGetItem():
            found = evaluate(expr.tuple_value, values)[expr.index]
        case relay.Call():
            found = expr.op.reference(expr.attrs, *[evaluate(a, values) for a in expr.args])
        case _:
            raise AssertionError(f"{type(expr).__name__} is not expected in a gradient")
    values[expr] = found
    return found


def results(value: Any) -> list[Array]:
    """Return one or several arrays as a list."""
    return list(value) if isinstance(value, tuple) else [np.asarray(value)]


def by_reference(example: Example) -> list[Array]:
    """Return the reference's results after comparing their types with what inference says."""
    variables = example.variables
    call = example.call(variables)
    types = tensor_types([infer_expr(call)])
    found = results(evaluate(call, dict(zip(variables, example.arrays, strict=True))))
    assert len(types) == len(found)
    for t, r in zip(types, found, strict=True):
        extents = [d if isinstance(d, int) else None for d in t.dims]
        assert [None if e is None else s for e, s in zip(extents, r.shape, strict=True)] == extents
        assert t.dtype == str(r.dtype)
    return found


def by_code(example: Example, target: str = "llvm") -> list[Array]:
    """Return what the operator's tensor expressions compute when they are built and run."""
    call = example.call(example.variables)
    infer_expr(call)
    with compiler.target.Target(target) as machine:
        placeholders = [te.placeholder(a.shape, str(a.dtype), name=f"x{i}") for i, a in enumerate(example.arrays)]
        inputs = list(zip(placeholders, example.arrays, strict=True))
        outputs = _expressions(call, inputs)
        rule = call.op.schedule
        plain = schedule_rule_for(call.op.pattern)
        schedule = rule(call.attrs, outputs, machine) if rule else plain(outputs, machine)
        function = compiler.build(schedule, [*[t for t, _ in inputs], *outputs], target=machine)
    found = [compiler.nd.empty(tuple(int(d) for d in o.shape), o.dtype) for o in outputs]
    function(*[compiler.nd.array(a) for _, a in inputs], *found)
    return [f.numpy() for f in found]


def _expressions(arg: Any, inputs: list[tuple[Any, Array]]) -> list[Any]:
    """Return the tensors of an argument; constants become inputs too."""
    match arg:
        case relay.Tuple():
            return [t for f in arg.fields for t in _expressions(f, inputs)]
        case relay.Constant():
            inputs.append((te.placeholder(arg.data.shape, arg.data.dtype, name=f"c{len(inputs)}"), arg.value))
            return [inputs[-1][0]]
        case relay.Call():
            args = [t for a in arg.args for t in _expressions(a, inputs)]
            return list(arg.op.compute(arg.attrs, args, arg.checked_type))
    return [inputs[int(arg.name_hint[1:])][0]]


def check_gradient(example: Example, seed: int = 3) -> None:
    """Compare the operator's gradient with finite differences of its reference, in double precision.

    Each float input is moved in a random direction; so is the weight of each result.
    """
    arrays = [a.astype("float64") if a.dtype.kind == "f" else a for a in example.arrays]
    wide = Example(example.make, arrays)
    variables = wide.variables
    call = wide.call(variables)
    infer_expr(call)
    rng = np.random.default_rng(seed)
    values: dict[Any, Any] = dict(zip(variables, arrays, strict=True))
    outputs = results(evaluate(call, dict(values)))
    weights = [rng.standard_normal(o.shape) if o.dtype.kind == "f" else np.zeros(o.shape, o.dtype) for o in outputs]
    grads = [relay.var(f"g{i}", shape=w.shape, dtype=str(w.dtype)) for i, w in enumerate(weights)]
    several = isinstance(evaluate(call, dict(values)), tuple)
    parts = call.op.gradient(call, relay.Tuple(tuple(grads)) if several else grads[0])
    assert len(parts) == len(call.args)
    values |= dict(zip(grads, weights, strict=True))
    for part, arg in zip(parts, call.args, strict=True):
        pairs = zip(results(evaluate(part, values)), _leaves(arg), strict=True)
        for found, variable in pairs:
            if not isinstance(variable, relay.Var) or values[variable].dtype.kind != "f":
                continue
            assert found.shape == values[variable].shape
            direction = rng.standard_normal(found.shape)
            slope = _slope(call, values, variable, direction, weights)
            np.testing.assert_allclose(np.sum(found * direction), slope, rtol=1e-4, atol=1e-5)


def _leaves(arg: Any) -> list[Any]:
    return list(arg.fields) if isinstance(arg, relay.Tuple) else [arg]


def _slope(call: Any, values: dict[Any, Any], variable: Any, direction: Array, weights: list[Array]) -> float:
    step = 1e-6
    inputs = {v: a for v, a in values.items() if isinstance(v, relay.Var)}

    def total(by: float) -> float:
        moved = inputs | {variable: inputs[variable] + by * direction}
        return sum(float(np.sum(w * o)) for w, o in zip(weights, results(evaluate(call, moved)), strict=True))

    return (total(step) - total(-step)) / (2 * step)
