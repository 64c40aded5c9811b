"""Passes and pass contexts: ``tvm.transform``.

To write a pass, derive a class from the kind of pass that it is: :class:`ModulePass` for whole modules,
``relay.transform.FunctionPass`` for the functions of graphs, ``tir.transform.PrimFuncPass`` for those of loop IR.  Its
options are annotated fields with defaults; its facts are said where the class begins; the work is one method::

    class UnrollLoop(PrimFuncPass, opt_level=1):
        auto_max_step: int = 0

        def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
            ...

That registers the pass: ``UnrollLoop(auto_max_step=16)`` is what ``repr`` writes and :func:`parse_pass` reads, its name
(here ``tir.UnrollLoop``) may stand in ``required`` and in a context, and instruments see it.  One that returns the very
function that it was given has changed nothing.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.passes.apply_pass_to_function import ApplyPassToFunction
from compiler.ir.passes.base import Pass, check_option_names, pass_class, registered_passes, required_pass
from compiler.ir.passes.context import PassContext, PassInfo, config_options, register_config_option
from compiler.ir.passes.options import check_options, options_text, value_text
from compiler.ir.passes.print_ir import PrintIR
from compiler.ir.passes.text import read_calls

__all__ = [
    "ApplyPassToFunction", "ModulePass", "Pass", "PassContext", "PassInfo", "PrintIR", "Sequential", "config_options",
    "module_pass", "parse_pass", "pass_class", "register_config_option", "registered_passes", "required_pass",
]  # fmt: skip


class ModulePass(Pass, abstract=True):
    """A pass over whole modules, implemented by ``transform_module(mod, ctx) -> mod``.

    The method gets a copy of the module that it may change; where nothing changed, the pass returns the module that
    it was given.
    """

    method: ClassVar[str] = "transform_module"

    @abstractmethod
    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the transformed module, made of ``mod``, a copy that the method may change."""

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Run ``transform_module`` on a copy of the module.

        Raises ArgumentError if the method returns no module.
        """
        result = self.transform_module(mod.shallow_copy(), ctx)
        if not isinstance(result, IRModule):
            raise ArgumentError(f"pass {self.info.name}: must return an IRModule, returned {type(result).__name__}")
        return mod if _same(mod, result) else result


def _same(a: IRModule, b: IRModule) -> bool:
    return (
        len(a.functions) == len(b.functions)
        and all(b.functions.get(var) is func for var, func in a.functions.items())
        and a.attrs == b.attrs
        and a.type_definitions == b.type_definitions
    )


class Sequential(Pass):
    """A sequence of passes, each of which runs if the context lets it.

    Inside another sequence, it runs when the context's level is at least ``opt_level``, after the passes that
    ``required`` names.  ``name`` is what timings and traces call it; no tuner records it (``traceable``).

    Examples
    --------
    >>> tvm.transform.Sequential([tir.transform.Simplify(), tir.transform.UnrollLoop()])(mod)
    """

    passes: Sequence[Pass] = ()
    opt_level: int = 0
    name: str = "sequential"
    required: Sequence[str] | None = None
    traceable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "passes", tuple(self.passes))
        object.__setattr__(self, "required", tuple(self.required or ()))
        for item in self.passes:
            if not isinstance(item, Pass):
                raise ArgumentError(f"Sequential: expected passes, got {type(item).__name__} {show(item)}")
        check_options(self, "Sequential")

    @property
    def info(self) -> PassInfo:
        return PassInfo(self.opt_level, self.name, tuple(self.required or ()), self.traceable)

    def options(self) -> dict[str, object]:
        """Return the passes, and the options that differ from the defaults."""
        usual = {"opt_level": 0, "name": "sequential", "required": (), "traceable": False}
        given = {option: value for option, value in super().options().items() if usual.get(option) != value}
        return {**given, "passes": list(self.passes)}

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for item in self.passes:
            mod = item.run_if_enabled(mod)
        return mod

    def __repr__(self) -> str:
        options = self.options()
        passes = value_text(options.pop("passes"))
        return f"Sequential({', '.join([passes, *filter(None, [options_text(options)])])})"


def module_pass(
    pass_func: Callable[..., IRModule] | type | None = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Create a module pass from a function ``f(mod, ctx) -> mod``, or a class with such a method ``transform_module``.

    Of a class it is what makes a pass of the arguments of the class.  Without ``pass_func``, this is a decorator with
    options; the name is that of what is decorated.

    Parameters
    ----------
    opt_level : int
        The pass runs when the context's level is at least this.
    required : sequence of str, optional
        Names of passes that run before.

    Examples
    --------
    >>> @tvm.transform.module_pass(opt_level=1)
    ... def keep_main(mod, ctx):
    ...     return tvm.IRModule({"main": mod["main"]})
    >>> keep_main(mod)
    """
    return ModulePass.made_of(pass_func, opt_level, name, required)


def parse_pass(text: str) -> Pass:
    """Parse a pass from its text form, which is its ``repr``; several, separated by commas, are a :class:`Sequential`.

    Raises ArgumentError if there is no such pass, if it has no such option, or if an option is of the wrong type.

    Examples
    --------
    >>> parse_pass("VectorizeLoop(enable_vectorize=False)")
    VectorizeLoop(enable_vectorize=False)
    >>> parse_pass("Simplify(), tir.UnrollLoop(auto_max_step=16)")
    """
    if not isinstance(text, str):
        raise ArgumentError(f"parse_pass: expected a text, got {show(text)}")
    passes = read_calls(text, _make_pass)
    return passes[0] if len(passes) == 1 else Sequential(passes)


def _make_pass(name: str, args: Sequence[object], options: Mapping[str, object]) -> Pass:
    cls = pass_class(name)
    signature = inspect.signature(cls)
    check_option_names(name, cls, options)
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        raise ArgumentError(f"{name}{signature}: {error}") from None
    return cls(*args, **options)
