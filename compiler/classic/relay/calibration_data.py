"""``relay.analysis.get_calibration_data``: inputs and outputs of the functions of external compilers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.driver.relay.executor import create_executor
from compiler.driver.relay.params import bind_params
from compiler.ir.attrs.dict_attrs import NO_ATTRS
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, Tuple, TupleGetItem
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.transform.rewriter import type_of
from compiler.relay.ty import TupleType
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray


def get_calibration_data(mod: IRModule, data: Mapping[str, ArrayLike]) -> dict[GlobalVar, dict[str, list[NDArray]]]:
    """Run a partitioned graph on the inputs and parameters of ``main``; return inputs and outputs of each of its parts.

    Its ``main`` calls functions with the attribute ``Compiler``, which are computed here.
    """
    external = {var for var, func in mod.items() if isinstance(func, Function) and func.attrs.get("Compiler")}
    plain = mod.with_functions({var: _plain(func) for var, func in mod.items()})
    main = infer_module(plain)["main"]
    calls = [(e.op, e) for e in post_order(main.body) if isinstance(e, Call) and e.op in external]
    wanted = [list(values) for _, call in calls for values in (_parts(call.args), _parts([call]))]
    outputs = Function(main.params, Tuple(tuple(value for values in wanted for value in values)))
    observed = infer_module(plain.with_functions({**plain.functions, plain.get_global_var("main"): outputs}))
    results = iter(create_executor("vm", mod=bind_params(observed, data)).evaluate()())
    taken = [[next(results) for _ in values] for values in wanted]
    pairs = zip(taken[::2], taken[1::2], strict=True)
    return {var: {"inputs": i, "outputs": o} for (var, _), (i, o) in zip(calls, pairs, strict=True)}


def _plain(func: RelayExpr) -> RelayExpr:
    """Return a function that no external compiler gets."""
    return rebuild(func, attrs=NO_ATTRS) if isinstance(func, Function) else func


def _parts(values: list[RelayExpr] | tuple[RelayExpr, ...]) -> Iterator[RelayExpr]:
    """Yield the tensors of values, of which some are tuples."""
    for value in values:
        t = type_of(value)
        if isinstance(t, TupleType):
            yield from _parts([TupleGetItem(value, i) for i in range(len(t.fields))])
        else:
            yield value
