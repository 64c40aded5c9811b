"""Builder functions of TIR: ``from tvm.script.ir_builder import tir as T``.

They are those of :mod:`compiler.tir.script.tir`; here they act at once on the builder whose ``with`` block runs.
Words that are not below, such as operators and data types, mean what they do there; ``T.int32()`` is a new variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from compiler.classic.tir.script_builder import frame as frame
from compiler.classic.tir.script_builder.base import IRBuilder
from compiler.classic.tir.script_builder.frame import (
    AllocateConstFrame,
    AllocateFrame,
    AssertFrame,
    AttrFrame,
    BlockFrame,
    BlockInitFrame,
    DeclBufferFrame,
    ElseFrame,
    ForFrame,
    IfFrame,
    LaunchThreadFrame,
    LetFrame,
    PrimFuncFrame,
    RealizeFrame,
    ScopeFrame,
    ThenFrame,
    WhileFrame,
)
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, IterVar, PrimExpr, Range, Var, const, convert
from compiler.ir.types import Type
from compiler.tir.script import tir as words
from compiler.tir.script.blocks import AxisDeclaration, BlockFact
from compiler.tir.script.definitions import Declaration, Loop, Scope
from compiler.tir.statements.block import MatchBufferRegion
from compiler.tir.statements.buffer import Buffer as BufferNode
from compiler.tir.statements.buffer import BufferRegion
from compiler.tir.statements.stmt import Stmt

__all__ = [
    "Buffer", "Else", "If", "Then", "While", "alloc_buffer", "arg", "axis", "block", "block_attr", "buffer_store",
    "env_thread", "evaluate", "func_attr", "func_name", "func_ret", "init", "match_buffer", "prefetch", "prim_func",
    "reads", "where", "writes",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    word = getattr(words, name)
    is_node_class = isinstance(word, type) and issubclass(word, PrimExpr)
    return _acting(word, _FRAMES.get(name, ScopeFrame)) if callable(word) and not is_node_class else word


def __dir__() -> list[str]:
    return sorted({*dir(words), *__all__})


_FRAMES: dict[str, type[ScopeFrame]] = {
    "Assert": AssertFrame,
    "LetStmt": LetFrame,
    "allocate": AllocateFrame,
    "allocate_const": AllocateConstFrame,
    "attr": AttrFrame,
    "decl_buffer": DeclBufferFrame,
    "launch_thread": LaunchThreadFrame,
    "let": LetFrame,
    "realize": RealizeFrame,
}
"""The frames that words open which stand around statements."""


def _acting(word: Callable[..., object], frame: type[ScopeFrame]) -> Callable[..., object]:
    """Return a word that opens a frame, or makes what it declares, instead of describing it.

    A data type that is called without a value declares a variable.
    """

    @wraps(word)
    def act(*args: object, **options: object) -> object:
        return _made(word(*args, **options), frame)

    return act


def _described(word: Callable[..., object], args: Sequence[object], options: Mapping[str, object]) -> Any:
    """Return what a word of the parser describes; it checks the arguments itself."""
    return word(*args, **options)


def _made(described: object, frame: type[ScopeFrame]) -> object:
    """Return what a description of the parser's words stands for here."""
    if isinstance(described, Scope):
        return frame(described)
    if isinstance(described, Loop) or (isinstance(described, list) and described and isinstance(described[0], Loop)):
        return ForFrame(described)
    if isinstance(described, Declaration):
        return described.make("v")
    return described


# functions


def prim_func(is_private: bool = False) -> PrimFuncFrame:
    """Begin a function: ``with T.prim_func():``; a private one has no name outside of its module."""
    return PrimFuncFrame(is_private)


def _function(word: str) -> PrimFuncFrame:
    frame = IRBuilder.current().enclosing(PrimFuncFrame)
    if frame is None:
        raise ArgumentError(f"T.{word}: must be inside of T.prim_func")
    return frame


def arg(name: str, obj: Var | BufferNode) -> Var | BufferNode:
    """Give the function a parameter, ``T.handle()``, ``T.int32()`` or ``T.Buffer(…)``, and that the name."""
    frame = _function("arg")
    named: Var | BufferNode = IRBuilder.name(name, obj)  # type: ignore[type-var]
    if isinstance(named, BufferNode):
        handle = Var(f"{name}_handle", "handle")
        frame.buffer_map[handle] = named
        frame.params.append(handle)
    else:
        frame.params.append(named)
    return named


def func_name(name: str) -> None:
    """Give the function a name.

    Raises ArgumentError if it has one.
    """
    frame = _function("func_name")
    if frame.name:
        raise ArgumentError(f"T.func_name: the function is already named {frame.name!r}")
    frame.name = name


def func_attr(attrs: Mapping[str, object]) -> None:
    """State facts about the function.

    Raises ArgumentError if one was stated before.
    """
    frame = _function("func_attr")
    repeated = set(attrs) & set(frame.attrs)
    if repeated:
        raise ArgumentError(f"T.func_attr: the function already has an attribute {min(repeated)!r}")
    frame.attrs.update(words.func_attr(attrs).attrs)


def func_ret(ret_type: Type) -> Type:
    """Say what the function returns."""
    _function("func_ret").ret_type = ret_type
    return ret_type


# buffers


class _BufferWord:
    """``T.Buffer``: a new buffer."""

    def __call__(self, *args: object, **options: object) -> BufferNode:
        made: BufferNode = _described(words.Buffer, args, options)
        return made

    def __getitem__(self, args: object) -> BufferNode:
        made = words.Buffer[args]
        assert isinstance(made, BufferNode)
        return made


Buffer = buffer = buffer_decl = _BufferWord()


def match_buffer(param: Var | BufferRegion, *args: object, **options: object) -> BufferNode:
    """Say which buffer a parameter points to, or let one stand for a region within a block.

    Other parameters are those of :func:`Buffer`. Raises ArgumentError if it is neither a parameter of the function nor
    a region.
    """
    matched = _described(words.match_buffer, (param, *args), options)
    made = matched.make("buffer")
    assert isinstance(made, BufferNode)
    if isinstance(matched.source, BufferRegion):
        _block("match_buffer").match_buffers.append(MatchBufferRegion(made, matched.source))
        return made
    frame = _function("match_buffer")
    if not any(matched.source is known for known in frame.params):
        raise ArgumentError(f"T.match_buffer: expected a parameter of the function, got {show(param)}")
    frame.buffer_map[matched.source] = made
    return made


def alloc_buffer(*args: object, **options: object) -> BufferNode:
    """Allocate a buffer for the block or, outside of blocks, for the function.

    The parameters are those of :func:`Buffer`.
    """
    made: BufferNode = _described(words.alloc_buffer, args, options).make("buffer")
    block = IRBuilder.current().innermost(BlockFrame)
    (block.alloc_buffers if block else _function("alloc_buffer").root_alloc_buffers).append(made)
    return made


def buffer_store(
    buffer: BufferNode, value: ExprLike, indices: Sequence[ExprLike | slice], predicate: PrimExpr | None = None
) -> None:
    """Store to an element of a buffer.

    The value is converted to the type of the elements; lanes are stored where the predicate is true. Raises DTypeError
    if the predicate is no vector of as many truth values.
    """
    IRBuilder.current().emit(words.buffer_store(buffer, value, indices, predicate))


# blocks


def block(name: str = "", no_realize: bool = False) -> BlockFrame:
    """Begin a block: ``with T.block("C"):``; with ``no_realize``, it stands alone, without values of its axes."""
    return BlockFrame(name, no_realize)


def init() -> BlockInitFrame:
    """Begin what the block does before the first iteration of its reduction axes."""
    return BlockInitFrame()


def _block(word: str) -> BlockFrame:
    frame = IRBuilder.current().innermost(BlockFrame)
    if frame is None:
        raise ArgumentError(f"T.{word}: must be called at the top of a T.block()")
    return frame


def _state(word: str, fact: BlockFact) -> None:
    facts = _block(word).facts
    if fact.field in facts:
        raise ArgumentError(f"T.{word}: duplicate declaration, the previous one is {show(facts[fact.field])}")
    facts[fact.field] = fact.value


def where(predicate: ExprLike) -> None:
    """Say where the block runs."""
    _state("where", words.where(predicate))


def reads(*buffer_slices: object) -> None:
    """Say which elements the block reads, e.g. ``A[0:16, j]``, by one or more regions; none for nothing."""
    _state("reads", words.reads(*buffer_slices))


def writes(*buffer_slices: object) -> None:
    """Say which elements the block writes, e.g. ``A[0:16, j]``, by one or more regions; none for nothing."""
    _state("writes", words.writes(*buffer_slices))


def block_attr(attrs: Mapping[str, object]) -> None:
    """Annotate the block."""
    _state("block_attr", words.block_attr(attrs))


class _Axes:
    """``T.axis``: the axes of a block; each word adds one, and returns its variable."""

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        word = getattr(words.axis, kind)

        @wraps(word)
        def declare(*args: object, **options: object) -> Var | list[Var]:
            declared = word(*args, **options)
            several = isinstance(declared, list)
            axes = [_axis(one) for one in (declared if several else [declared])]
            return axes if several and len(axes) != 1 else axes[0]

        return declare


axis = _Axes()


def _axis(declared: AxisDeclaration) -> Var:
    frame = _block("axis")
    var = Var("v", declared.value.dtype)
    dom = declared.dom or _domain_of_loop(declared.value)
    frame.iter_vars.append(IterVar(dom, var, declared.iter_type))
    frame.iter_values.append(declared.value)
    return var


def _domain_of_loop(value: PrimExpr) -> Range:
    for opened in IRBuilder.current().frames:
        for var, dom in zip(opened.vars, opened.doms, strict=True) if isinstance(opened, ForFrame) else ():
            if var is value:
                return dom
    raise ArgumentError(f"T.axis.remap takes loop variables, got {value}")


# statements


def evaluate(value: ExprLike) -> None:
    """Evaluate an expression for its effect."""
    IRBuilder.current().emit(words.evaluate(value))


def prefetch(buffer: BufferNode, bounds: Sequence[Range]) -> None:
    """Hint that a region of a buffer is read soon."""
    hint = words.prefetch(buffer, bounds)
    assert isinstance(hint, Stmt)
    IRBuilder.current().emit(hint)


def env_thread(thread_tag: str, dtype: str = "int32") -> IterVar:
    """Declare the axis of threads that ``T.launch_thread`` begins."""
    _function("env_thread")
    declared = words.env_thread(thread_tag, dtype).make("v")
    assert isinstance(declared, IterVar)
    return declared


def While(condition: PrimExpr) -> WhileFrame:
    """Begin a loop that runs while a condition holds."""
    return WhileFrame(convert(condition))


def If(condition: PrimExpr) -> IfFrame:
    """Begin a branch, whose ``T.Then`` and ``T.Else`` stand inside."""
    is_constant = isinstance(condition, (bool, int))
    return IfFrame(const(bool(condition), "bool") if is_constant else convert(condition))


def Then() -> ThenFrame:
    """Begin what runs where the condition of the ``T.If`` around it holds."""
    return ThenFrame()


def Else() -> ElseFrame:
    """Begin what runs where the condition of the ``T.If`` around it does not hold."""
    return ElseFrame()
