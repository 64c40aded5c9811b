"""Every class of nodes that is registered: written and read back, pickled, copied, hashed; loop IR as a script, too.

An example of a class is made from what its fields are annotated with, so that a new class is tested by being there.
"""

from __future__ import annotations

import copy
import enum
import pickle
import subprocess
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from compiler import relay, te, tir
from compiler.arith.int_constraints import IntConstraints, IntConstraintsTransform
from compiler.ir import load_json, save_json
from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import BinaryOp, CmpOp, PrimExpr, Range
from compiler.ir.node import Node, duplicate, structure
from compiler.ir.op import Op
from compiler.ir.serialization.type_keys import node_class, node_classes
from compiler.ir.structural import assert_structural_equal, structural_hash
from compiler.ir.types import PointerType, PrimType, Type
from compiler.relay.adt import Pattern
from compiler.runtime.arrays.ndarray import NDArray, array
from compiler.te.definition.tensor import Operation
from compiler.tir.analysis import undefined_vars
from compiler.tir.script import from_source
from compiler.tir.statements.stmt import Stmt

ABSTRACT = (BinaryOp, CmpOp, Operation)
"""Bases that have fields."""


def _is_abstract(kind: type[Node]) -> bool:
    return kind in ABSTRACT or (bool(kind.__subclasses__()) and not structure(kind)[0])


KEYS = [key for key, kind in sorted(node_classes().items()) if not _is_abstract(kind)]


def _sum() -> te.Tensor:
    a = te.placeholder((4, 4), "int32", "A")
    k = te.reduce_axis((0, 4), "k")
    return te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")


def _tensor_intrin() -> Any:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0)
    return te.decl_tensor_intrin(b.op, lambda ins, outs: tir.call_packed("f", ins[0], outs[0]))


def _extern() -> te.Tensor:
    return te.extern((4,), [te.placeholder((4,))], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]))


def _scan() -> te.Tensor:
    a, state = te.placeholder((4, 4)), te.placeholder((4, 4))
    init = te.compute((1, 4), lambda _, i: a[0, i])
    update = te.compute((4, 4), lambda t, i: state[t - 1, i] + a[t, i])
    return te.scan(init, update, state, inputs=[a])


def _hybrid() -> te.Tensor:
    @te.hybrid.script
    def copied(a):  # type: ignore[no-untyped-def]
        b = output_tensor((4,), "float32")  # type: ignore[name-defined]  # noqa: F821
        for i in range(4):
            b[i] = a[i]
        return b

    return copied(te.placeholder((4,)))  # type: ignore[no-any-return]


def _tensor_compute() -> Operation:
    a, intrin = te.placeholder((2, 4)), _tensor_intrin()
    return te.compute((2, 4), lambda i: intrin(a[i, 0:4])).op  # type: ignore[no-any-return]


def _constraints() -> IntConstraints:
    n = tir.Var("n", "int32")
    return IntConstraints([n], {n: Range(0, 4)}, [n > 1])


def _transformed_constraints() -> IntConstraintsTransform:
    n, m = tir.Var("n", "int32"), tir.Var("m", "int32")
    source, result = IntConstraints([n], {n: Range(0, 4)}, []), IntConstraints([m], {m: Range(1, 4)}, [])
    return IntConstraintsTransform(source, result, {n: m - 1}, {m: n + 1})


def _block() -> tir.Block:
    local = tir.decl_buffer((4, 4), "int32", "L")
    part = tir.BufferRegion(_buffer(), [Range(0, 2)] * 2)
    match = tir.MatchBufferRegion(tir.decl_buffer((2, 2), "int32", "M"), part)
    body = tir.BufferStore(match.buffer, tir.BufferLoad(local, [0, 1]), [1, 1])
    init = tir.BufferStore(match.buffer, 0, [1, 1])
    return tir.Block([], [], [part], "b", body, init, [local], [match], {"hint": 1})


def _reduction() -> Any:
    return _sum().op.body[0]


def _statement() -> Stmt:
    return tir.Evaluate(tir.Var("n", "int32") + 1)


def _function_of_a_buffer() -> tir.PrimFunc:
    buffer = _buffer()
    return tir.PrimFunc([buffer], tir.Evaluate(buffer.shape[1]))


def _buffer() -> tir.Buffer:
    return tir.decl_buffer((4, tir.Var("n", "int32")), "int32", "B")


EXAMPLES: Mapping[str, Callable[[], Any]] = {
    "ComputeOp": lambda: _sum().op,
    "ExternOp": lambda: _extern().op,
    "HybridOp": lambda: _hybrid().op,
    "PlaceholderOp": lambda: te.placeholder((4,), name="A").op,
    "ScanOp": lambda: _scan().op,
    "Tensor": _sum,
    "TensorComputeOp": _tensor_compute,
    "TensorIntrin": _tensor_intrin,
    "arith.IntConstraints": _constraints,
    "arith.IntConstraintsTransform": _transformed_constraints,
    "relay.Call": lambda: relay.nn.relu(relay.var("x", shape=(2,))),
    "relay.TensorType": lambda: relay.TensorType((2, relay.Any()), "float32"),
    "tir.AllocateConst": lambda: tir.AllocateConst(
        tir.Var("p", PointerType(PrimType("int32"))), "int32", [2], array(np.array([1, 2], "int32")), _statement()
    ),
    "tir.Allocate": lambda: tir.Allocate(_buffer().data, "int32", [4], True, _statement()),
    "tir.Block": _block,
    "tir.BlockRealize": lambda: tir.BlockRealize([], True, _block()),
    "tir.Buffer": _buffer,
    "tir.AttrStmt": lambda: tir.AttrStmt(_buffer().data, "key", 1, _statement()),
    "tir.For": lambda: tir.For(tir.Var("i", "int32"), 0, 4, tir.ForKind.VECTORIZED, _statement(), None, {"hint": 1}),
    "tir.SeqStmt": lambda: tir.SeqStmt([_statement(), _statement()]),
    "tir.SizeVar": lambda: tir.SizeVar("n", "int32"),
    "tir.Var": lambda: tir.Var("n", "int32"),
    "tir.BufferLoad": lambda: tir.BufferLoad(_buffer(), [1, 2]),
    "tir.BufferRealize": lambda: tir.BufferRealize(_buffer(), [Range(0, 4)] * 2, True, _statement()),
    "tir.BufferRegion": lambda: tir.BufferRegion(_buffer(), [Range(0, 4)] * 2),
    "tir.BufferStore": lambda: tir.BufferStore(_buffer(), 3, [1, 2]),
    "tir.Call": lambda: tir.exp(tir.Var("x", "float32")),
    "tir.CommReducer": lambda: _reduction().combiner,
    "tir.IndexMap": lambda: tir.IndexMap.from_func(lambda i, j: [j, i // 2, i % 2]),
    "tir.MatchBufferRegion": lambda: tir.MatchBufferRegion(
        tir.decl_buffer((4, 4), "int32"), tir.BufferRegion(_buffer(), [Range(0, 4)] * 2)
    ),
    "tir.PrimFunc": _function_of_a_buffer,
    "tir.Reduce": _reduction,
    "tir.Shuffle": lambda: tir.Shuffle([tir.Broadcast(tir.Var("x", "int32"), 2)], [1]),
}
"""Classes whose fields have to fit each other."""

VALUES: Mapping[Any, Callable[[], Any]] = {
    Any: _sum,
    tir.Var: lambda: tir.Var("n", "int32"),
    Attrs: lambda: DictAttrs({}),
    Pattern: relay.PatternWildcard,
    NDArray: lambda: array(np.array([1.0, 2.0], "float32")),
    PrimExpr: lambda: tir.Var("n", "int32") + 1,
    RelayExpr: lambda: relay.var("x", shape=(2,)),
    Range: lambda: Range(0, 4),
    Stmt: _statement,
    Type: lambda: PrimType("int32"),
    bool: lambda: True,
    float: lambda: 1.5,
    int: lambda: 2,
    str: lambda: "name",
}


def example_of(key: str) -> Any:
    """Return a node of a class, named by its type key."""
    if key in EXAMPLES:
        return EXAMPLES[key]()
    kind = node_class(key)
    names, make = structure(kind)
    hints = {"a": PrimExpr, "b": PrimExpr} if issubclass(kind, BinaryOp) else get_type_hints(kind)
    values = [_dtype(kind) if name == "dtype" else _value(hints[name]) for name in names]
    values = [
        value > 0 if name in ("condition", "predicate") else value for name, value in zip(names, values, strict=True)
    ]
    if issubclass(kind, (tir.And, tir.Or, tir.Not)):
        values = [value > 0 for value in values]
    return make(*values)


def _dtype(kind: type[Node]) -> str:
    return "float32" if kind is tir.FloatImm else "handle" if kind is tir.StringImm else "int32"


def _value(hint: Any) -> Any:
    """Return a value of the type that a field is annotated with."""
    if hint in VALUES:
        return VALUES[hint]()
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _value(next(arg for arg in args if arg is not type(None)))
    if origin is tuple:
        return (_value(args[0]),)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {} if args[0] is str else {_value(args[0]): _value(args[1])}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return next(iter(hint))
    if hint is Op:
        return Op.get("nn.relu")
    keys = [key for key in KEYS if issubclass(node_class(key), hint)]
    assert keys, f"no example is known for {hint}"
    return example_of(keys[0])


def _assert_equal(again: Any, node: Any) -> None:
    assert type(again) is type(node)
    assert again is not node
    assert_structural_equal(again, node, map_free_vars=True)
    assert structural_hash(again, map_free_vars=True) == structural_hash(node, map_free_vars=True)


_ALL_MODULES = """
import contextlib, importlib, pkgutil, compiler
from compiler.ir.serialization.type_keys import node_classes
registered = set(node_classes())
for module in pkgutil.walk_packages(compiler.__path__, "compiler."):
    if not module.name.endswith(("__main__", "child_path.tvm")):
        with contextlib.suppress(ImportError):  # of a package that is not installed
            importlib.import_module(module.name)
print(*(set(node_classes()) - registered))
"""


def test_all_are_registered_before_their_modules_are_used() -> None:
    done = subprocess.run([sys.executable, "-c", _ALL_MODULES], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


@pytest.mark.parametrize("key", KEYS)
def test_json(key: str) -> None:
    node = example_of(key)
    _assert_equal(load_json(save_json(node)), node)


@pytest.mark.parametrize("key", KEYS)
def test_pickles_and_copies(key: str) -> None:
    node = example_of(key)
    _assert_equal(pickle.loads(pickle.dumps(node)), node)
    _assert_equal(copy.deepcopy(node), node)
    _assert_equal(duplicate(node, {}), node)


UNSCRIPTED = frozenset(
    (
        "tir.AnyDim",
        "tir.Block",
        "tir.ProducerLoad",
        "tir.ProducerRealize",
        "tir.ProducerStore",
        "tir.Reduce",
        "tir.SizeVar",
    )
)
"""Of tensor expressions, which scripts of loop IR have no words for; a block stands in its realization, and a parameter
of a function is a plain variable."""
SCRIPTED = [
    key
    for key in KEYS
    if key not in UNSCRIPTED and issubclass(node_class(key), (PrimExpr, Stmt, tir.PrimFunc)) and "arith" not in key
]


@pytest.mark.parametrize("key", SCRIPTED)
def test_scripts(key: str) -> None:
    node = example_of(key)
    func = node if isinstance(node, tir.PrimFunc) else _function(node)
    again = from_source(func.script())
    assert_structural_equal(again, func)
    assert structural_hash(again) == structural_hash(func)


def _function(node: Any) -> tir.PrimFunc:
    body = tir.Evaluate(node) if isinstance(node, PrimExpr) else node
    return tir.PrimFunc(undefined_vars(body, []), body)
