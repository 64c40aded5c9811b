"""Language features that a program uses."""

from __future__ import annotations

from enum import IntEnum

from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.relay.adt import Constructor, Match
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.reference import RefCreate, RefRead, RefWrite


class Feature(IntEnum):
    """A feature of the language, with TVM's names and numbers."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    """A value that is not a leaf has several users."""
    fLetRec = 16
    """A function that a let binds calls itself."""


_FEATURE_OF: dict[type, Feature] = {
    Var: Feature.fVar,
    GlobalVar: Feature.fGlobalVar,
    Constant: Feature.fConstant,
    Tuple: Feature.fTuple,
    TupleGetItem: Feature.fTupleGetItem,
    Function: Feature.fFunction,
    Call: Feature.fCall,
    Let: Feature.fLet,
    If: Feature.fIf,
    RefCreate: Feature.fRefCreate,
    RefRead: Feature.fRefRead,
    RefWrite: Feature.fRefWrite,
    Constructor: Feature.fConstructor,
    Match: Feature.fMatch,
}


def detect_feature(a: GraphExpr | IRModule, b: GraphExpr | IRModule | None = None) -> set[Feature]:
    """Return the features that an expression, or all functions of a module, use.

    Of an expression and a module, in either order, the module does not matter.
    """
    if isinstance(a, IRModule) and b is not None:
        a = b
    if isinstance(a, IRModule):
        return {feature for func in a.functions.values() for feature in detect_feature(func)}
    return _features(a) if isinstance(a, (Op, *_FEATURE_OF)) else set()


def _features(expr: GraphExpr) -> set[Feature]:
    parts = post_order(expr)
    features = {Feature.fOp if isinstance(part, Op) else _FEATURE_OF[type(part)] for part in parts}
    used = [operand for part in parts for operand in operands(part) if operands(operand)]
    if len(used) != len(set(used)):
        features.add(Feature.fGraph)
    if any(isinstance(part, Let) and part.var in post_order(part.value) for part in parts):
        features.add(Feature.fLetRec)
    return features
