"""The weights of layers among the parameters of a network."""

from __future__ import annotations

from collections.abc import Container, Mapping, MutableMapping
from typing import TypeAlias

from compiler.classic.relay.sparse_weights import BlockRows, SparseAnalysisResult
from compiler.ir.module import IRModule
from compiler.ir.transform import Pass
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr, Var
from compiler.relay.function import Function
from compiler.relay.operator import op_name
from compiler.runtime.arrays.ndarray import NDArray, array

Params: TypeAlias = MutableMapping[str, NDArray]


def weights_of(expr: GraphExpr, operator: str, params: Container[str]) -> list[str]:
    """Return the names of the parameters that are weights of an operator's calls, each once."""
    calls = [part for part in post_order(expr) if isinstance(part, Call) and op_name(part) == operator]
    weights = [call.args[1] for call in calls]
    return list(dict.fromkeys(w.name_hint for w in weights if isinstance(w, Var) and w.name_hint in params))


def store_blocks(params: Params, stored: Mapping[str, BlockRows]) -> SparseAnalysisResult:
    """Replace parameters by the parts of their sparse forms; return what they are called and their shapes."""
    for name, blocks in stored.items():
        del params[name]
        params.update({f"{name}.{part}": array(value) for part, value in blocks._asdict().items()})
    return SparseAnalysisResult(list(stored), [[part.shape for part in blocks] for blocks in stored.values()])


def params_of(func: Function, given: Mapping[str, NDArray], stored: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Return the parameters of a function some of whose layers are sparse.

    A dense weight stays where something else reads it, and parts that nothing reads are left out.
    """
    read = {param.name_hint for param in func.params}
    changed = given.keys() ^ stored.keys()
    return {name: value for name, value in {**given, **stored}.items() if name in read or name not in changed}


def run_pass(rewrite: Pass, func: Function) -> Function:
    """Return what a pass makes of a function."""
    result: Function = rewrite(IRModule.from_expr(func))["main"]
    return result
