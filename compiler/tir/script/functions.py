"""Parsing of TVMScript functions and modules, from text or from Python definitions."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, SimpleNamespace
from typing import Any, TypeVar

from compiler.ir.diagnostics import rendered
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import Call, ExprLike, PrimExpr, Var, as_exprs
from compiler.ir.function import DefinedName, GlobalVar
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.ir.types import PrimType, Type
from compiler.tir.script.definitions import DataType, Declaration, reading, unwrapped
from compiler.tir.script.macros import Macro
from compiler.tir.script.source import Source, without_collections
from compiler.tir.script.statements import Statements
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

__all__ = ["from_source", "ir_module", "macro", "module_attrs", "module_global_infos", "prim_func"]

_IS_TIRX = re.compile(r"^# from tvm\.script import tirx as T$", re.M)
"""The first lines of a program that TVM 0.27 printed."""
Program = TypeVar("Program", bound=PrimFunc | IRModule)


def prim_func(
    func: Callable[..., object] | None = None,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = True,
) -> Any:
    """Read a Python function as TVMScript; a decorator.

    The body of the function is never run. A ``private`` function has no name outside of its module: no
    ``global_symbol``. In the body of a class the function itself is returned, which :func:`ir_module` reads. TVM 0.27
    says with ``s_tir`` that a function has blocks; here any may. Raises ScriptError if the function is not TVMScript,
    with the line.

    Examples
    --------
    >>> @T.prim_func
    ... def double(A: T.Buffer((16,)), B: T.Buffer((16,))):
    ...     for i in range(16):
    ...         B[i] = A[i] * 2.0
    """
    if func is None:
        return lambda function: prim_func(function, private=private, check_well_formed=check_well_formed)
    if not isinstance(func, FunctionType):
        raise ArgumentError(f"T.prim_func: expected a function, got {show(func)}")
    if _is_method(func):
        return func
    environment = _environment(func, _caller_names())
    with rendered(), without_collections():
        source = Source.of_object(func)
        return _announced(_Function(source, environment).read(_definition(source), private))


def macro(func: Callable[..., object] | None = None, *, hygienic: bool = True) -> Any:
    """Read a Python function as a piece of programs, which is read anew wherever it is used; a decorator.

    The body of the function is never run. With ``hygienic``, names that are not parameters mean what they do where the
    macro is defined, instead of where it is used. Raises ArgumentError if it is given anything but a function.

    Examples
    --------
    >>> @T.macro
    ... def store(A, i, value):
    ...     A[i] = value
    """
    if func is None:
        return lambda function: macro(function, hygienic=hygienic)
    if not isinstance(func, FunctionType):
        raise ArgumentError(f"T.macro: expected a function, got {show(func)}")
    with rendered():
        source = Source.of_object(func)
        environment = _environment(func, _caller_names())
        return Macro(source, _definition(source), inspect.signature(func), environment, hygienic)


def ir_module(mod: type | None = None, *, check_well_formed: bool = True) -> Any:
    """Read a class of TVMScript functions as a module; a decorator.

    Raises ScriptError if a function is not TVMScript, with the line.

    Examples
    --------
    >>> @tvm.script.ir_module
    ... class Module:
    ...     @T.prim_func
    ...     def main(A: T.Buffer((16,))):
    ...         A[0] = 1.0
    """
    if mod is None:
        return lambda cls: ir_module(cls, check_well_formed=check_well_formed)
    if not isinstance(mod, type):
        raise ArgumentError(f"ir_module: expected a class, got {show(mod)}")
    environment = _caller_names()
    for member in vars(mod).values():
        if isinstance(member, FunctionType):
            environment = _environment(member, environment)
    with rendered(), without_collections():
        return _announced(_read(Source.of_object(mod), environment))


def from_source(
    program: str | Callable[..., object] | type,
    extra_vars: Mapping[str, object] | None = None,
    check_well_formed: bool = True,
) -> Any:
    """Read a program that is given as text; ``str`` of a function or module is such a text.

    The text is one function or one module, in which ``T`` and ``I`` need not be imported. Raises ScriptError if the
    text is not TVMScript, with the line.

    Examples
    --------
    >>> tvm.script.from_source(str(func))
    """
    given = dict(extra_vars or {})
    if isinstance(program, FunctionType):
        given = {**_environment(program, {}), **given}
    namespaces = {
        name: importlib.import_module(f"{__package__}.{module}")
        for name, module in (("T", "tirx" if _IS_TIRX.search(str(program)) else "tir"), ("I", "ir"))
    }
    with rendered(), without_collections():
        source = Source.of_text(program) if isinstance(program, str) else Source.of_object(program)
        return _announced(_read(source, {**namespaces, **given}))


def from_method(func: FunctionType) -> PrimFunc:
    """Read a function in the body of a class, which needs no decorator."""
    with rendered(), without_collections():
        source = Source.of_object(func)
        definition = _definition(source)
        private = None if definition.decorator_list else False
        return _Function(source, _environment(func, {})).read(definition, private)


def _announced(program: Program) -> Program:
    """Return a program that instruments have heard of."""
    for instrument in active_instruments():
        instrument.program_parsed(program)
    return program


def _is_method(func: FunctionType) -> bool:
    """Return whether a function is defined in the body of a class."""
    outer = func.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def _caller_names() -> dict[str, object]:
    """Return the local names of the user's code that a decorator stands in."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return {**frame.f_globals, **frame.f_locals}


def _environment(func: FunctionType, around: Mapping[str, object]) -> dict[str, object]:
    """Return the names that a function sees."""
    names = {**func.__globals__, **around}
    for name, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not yet defined, such as the module that the function is in
            names[name] = cell.cell_contents
    return names


def _definition(source: Source) -> ast.FunctionDef:
    """Return the function that a text defines."""
    for n in source.tree.body:
        if isinstance(n, ast.FunctionDef):
            return n
    raise source.error(source.tree, "expected a function")


def _read(source: Source, environment: Mapping[str, object]) -> PrimFunc | IRModule:
    """Return the one function or module of a text."""
    names = dict(environment)
    result: PrimFunc | IRModule | None = None
    for n in source.tree.body:
        if isinstance(n, ast.ImportFrom):
            names.update(_imported(source, n))
        elif isinstance(n, (ast.FunctionDef, ast.ClassDef)) and result is None:
            result = _module(source, n, names) if isinstance(n, ast.ClassDef) else _Function(source, names).read(n)
        else:
            raise source.error(n, "expected one function or one module")
    if result is None:
        raise ArgumentError("from_source: expected a function or a module, got neither")
    return result


def _imported(source: Source, n: ast.ImportFrom) -> dict[str, object]:
    """Return what ``from tvm.script import tir as T`` imports."""
    if n.module != "tvm.script":
        raise source.error(n, "a program may import from tvm.script only; pass other names as extra_vars")
    script = importlib.import_module(__package__ or "")
    return {alias.asname or alias.name: getattr(script, alias.name) for alias in n.names}


def _module(source: Source, n: ast.ClassDef, environment: Mapping[str, object]) -> IRModule:
    functions = [f for f in n.body if isinstance(f, ast.FunctionDef)]
    variables = {f.name: GlobalVar(f.name) for f in functions}
    outer = _Function(source, environment)
    with reading(outer):
        types = {f.name: _return_type(outer, f) for f in functions}
    callees = SimpleNamespace(**{name: _callee(variables[name], ret_type) for name, ret_type in types.items()})
    names = {**environment, n.name: callees, "Module": callees, "cls": callees}
    facts: dict[str, dict[str, Any]] = {"attrs": {}, "global_infos": {}}
    for other in n.body:
        if not isinstance(other, (ast.FunctionDef, ast.Pass)) and not _is_docstring(other):
            stated = _module_facts(source, other, names)
            facts[stated.kind].update(stated.facts)
    return IRModule({variables[f.name]: _Function(source, names).read(f) for f in functions}, **facts)


def _module_facts(source: Source, n: ast.stmt, names: Mapping[str, object]) -> ModuleFacts:
    """Return what ``I.module_attrs({…})`` or ``I.module_global_infos({…})`` says."""
    value = _Function(source, names).value(n.value) if isinstance(n, ast.Expr) else None
    if not isinstance(value, ModuleFacts):
        raise source.error(n, "a module may contain only functions, I.module_attrs and I.module_global_infos")
    return value


@dataclass(frozen=True)
class ModuleFacts:
    """``I.module_attrs({…})`` or ``I.module_global_infos({…})``; ``kind`` is the field of the module."""

    kind: str
    facts: Mapping[str, object]


def module_attrs(attrs: Mapping[str, object]) -> ModuleFacts:
    """State facts about the module, in the body of its class: ``I.module_attrs({"version": 1})``."""
    return ModuleFacts("attrs", unwrapped(attrs))


def module_global_infos(global_infos: Mapping[str, Sequence[object]]) -> ModuleFacts:
    """State what the functions of the module refer to together: ``I.module_global_infos({"vdevice": [...]})``."""
    return ModuleFacts("global_infos", global_infos)


def _is_docstring(n: ast.stmt) -> bool:
    return isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)


def _callee(var: GlobalVar, ret_type: Type | None) -> Callable[..., PrimExpr]:
    """Return what makes calls of a function of the module: they have the type that it returns."""
    dtype = ret_type.dtype if isinstance(ret_type, PrimType) else "void" if ret_type is None else "handle"

    def call(*args: ExprLike) -> PrimExpr:
        return Call(dtype, var, as_exprs(args))

    return call


def _return_type(reader: _Function, n: ast.FunctionDef) -> Type | None:
    """Return the type behind the arrow of a definition; None if there is none, or ``None``."""
    described_by = None if n.returns is None else reader.value(n.returns)
    if described_by is None:
        return None
    if isinstance(described_by, DataType):
        return PrimType(described_by.dtype)
    var = described_by.make(n.name) if isinstance(described_by, Declaration) else None
    if not isinstance(var, Var) or var.type_annotation is None:
        raise reader.source.error(
            n.returns or n, f"{n.name!r} must be annotated with a return type such as T.int32 or T.handle"
        )
    return var.type_annotation


class _Function(Statements):
    """Reads one function."""

    def read(self, n: ast.FunctionDef, private: bool | None = None) -> PrimFunc:
        """Return the function; without ``private``, its decorator says whether it is."""
        with reading(self), self.at(n), self._depth_limit(n):
            private = self._private(n) if private is None else private
            self.attrs, self.buffer_map, self._free = {}, {}, set()
            self.begin_blocks(n)
            params = self._parameters(n.args)
            body = self.with_root(self.sequence(n.body))
            symbol = {} if private else {"global_symbol": DefinedName(n.name)}
            ret_type = _return_type(self, n)
            return PrimFunc(params, body, ret_type, self.buffer_map, {**symbol, **self.attrs})

    @contextlib.contextmanager
    def _depth_limit(self, n: ast.AST) -> Iterator[None]:
        """Let a program that is nested deeper than Python can follow end in a message."""
        try:
            yield
        except (RecursionError, MemoryError) as error:
            raise self.source.error(n, "the program is nested too deeply, or too large") from error

    def _private(self, n: ast.FunctionDef) -> bool:
        """Return whether the decorator says ``private=True``; there must be just the one."""
        decorator = n.decorator_list[0] if len(n.decorator_list) == 1 else None
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if function is None or self.value(function) is not prim_func:
            raise self.source.error(n, f"{n.name!r} needs the decorator @T.prim_func, and no other")
        options = decorator.keywords if isinstance(decorator, ast.Call) else []
        return any(k.arg == "private" and self.value(k.value) for k in options)

    def _parameters(self, n: ast.arguments) -> tuple[Var, ...]:
        if n.vararg or n.kwarg or n.kwonlyargs or n.posonlyargs or n.defaults:
            odd = next(iter([*n.kwonlyargs, *n.posonlyargs, *n.defaults]), n.vararg or n.kwarg)
            raise self.source.error(odd or n, "parameters must be plain names with types")
        params: list[Var] = []
        for position, arg in enumerate(n.args):
            if any(arg.arg == other.arg for other in n.args[:position]):
                raise self.source.error(arg, f"there is already a parameter {arg.arg!r}")
            with self.at(arg):
                value = self.variable(arg.annotation, arg.arg, arg)
                param = Var(f"{arg.arg}_handle", "handle") if isinstance(value, Buffer) else value
            self.names[arg.arg] = value
            params.append(param)
            if isinstance(value, Buffer):
                self.buffer_map[param] = value
                self.declare_buffer(value)
        return tuple(params)
