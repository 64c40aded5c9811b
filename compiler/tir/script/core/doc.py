"""The Python syntax tree: ``tvm.script.parser.core.doc``.

Classic TVM has classes of its own, because the trees of several Python versions differed; here they are those of
:mod:`ast`, so that a tree of either needs no translation.
"""

import ast
from ast import AST

_CLASSES = """
    AST Add And AnnAssign Assert Assign Attribute AugAssign BinOp BitAnd BitOr BitXor BoolOp Break Call ClassDef
    Compare Constant Continue Del Delete Dict DictComp Div Eq ExceptHandler Expr Expression FloorDiv For
    FormattedValue FunctionDef GeneratorExp Global Gt GtE If IfExp Import ImportFrom In Interactive Invert Is
    IsNot JoinedStr LShift Lambda List ListComp Load Lt LtE MatMult Mod Module Mult Name NamedExpr NodeTransformer
    NodeVisitor Nonlocal Not NotEq NotIn Or Pass Pow RShift Raise Return Set SetComp Slice Starred Store Sub
    Subscript Try Tuple UAdd USub UnaryOp While With Yield YieldFrom alias arg arguments boolop cmpop
    comprehension excepthandler expr expr_context keyword mod operator stmt unaryop withitem
"""
globals().update((name, getattr(ast, name)) for name in _CLASSES.split())

__all__ = [*_CLASSES.split(), "from_doc", "parse", "to_doc"]


def parse(source: str, filename: str = "<unknown>", mode: str = "exec") -> AST:
    """Parse Python source: a program (mode ``"exec"``) or an expression (``"eval"``).

    Raises SyntaxError if it is not Python.
    """
    return ast.parse(source, filename, mode)


def to_doc(node: AST) -> AST:
    """Return the node of a tree of :mod:`ast` in this module's classes: itself."""
    return node


def from_doc(node: AST) -> AST:
    """Return the node of a tree of this module's classes in those of :mod:`ast`: itself."""
    return node
