"""The base class of passes: options as fields, a registry, and the single entry point that runs every pass.

``Pass.__call__`` is the one funnel: deciding whether a pass runs, what it requires and instruments all happen there.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, replace
from types import new_class
from typing import ClassVar, Self, dataclass_transform

from compiler.ir.error import ArgumentError, did_you_mean, errors_of_program, require_options, show
from compiler.ir.extension import extension_point
from compiler.ir.instrument import PassInstrument, active_instruments
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext, PassInfo, register_config_option
from compiler.ir.passes.options import check_options, option_types, options_text, usual_options

_PASSES: dict[str, type[Pass]] = {}
"""Every pass that can be written as text or required by name, under its name and under that of its class."""


@dataclass_transform(frozen_default=True)
class Pass:
    """A function from module to module, as a value: a frozen dataclass whose fields are the pass's options.

    A pass is one class, and defining it registers it::

        class UnrollLoop(PrimFuncPass):
            auto_max_step: int = 0

            def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
                ...

    Its facts are given with the class: ``class FoldConstant(FunctionPass, opt_level=2, required=("InferType",))``.
    Options are checked against their annotations, two passes are equal if their options are, and ``repr`` is the text
    that :func:`parse_pass` reads.

    Parameters
    ----------
    name : str, optional
        What instruments and contexts call the pass: the name of the class, after its level's prefix, if left out.
    opt_level : int, optional
        The pass runs when the context's level is at least this.
    required : tuple of str, optional
        Names of passes that run before it in a sequence; called directly it needs a module that they have seen, except
        that types are found wherever they are missing.
    configurable : bool, optional
        Whether ``PassContext(config={name: {option: value}})`` changes the pass's options.
    abstract : bool, optional
        Whether this is a kind of pass instead of a pass.
    """

    facts: ClassVar[PassInfo] = PassInfo(0, "Pass")
    """Level, name and requirements, the same for all passes of the class."""
    prefix: ClassVar[str] = ""
    """What the names of this kind of passes begin with."""
    method: ClassVar[str] = "apply"
    """The method in which a pass of this kind does its work."""
    annotates: ClassVar[bool] = False
    """Whether the program stays the same and more is known of it: run before a pass that requires it is called, too."""

    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        opt_level: int | None = None,
        required: Sequence[str] | None = None,
        configurable: bool = False,
        abstract: bool = False,
    ) -> None:
        super().__init_subclass__()
        if "__annotations__" in cls.__dict__:
            dataclass(frozen=True, eq=False, repr=False)(cls)
        if abstract:
            return
        if getattr(getattr(cls, cls.method), "__isabstractmethod__", False):
            raise ArgumentError(f"pass {cls.__name__}: a {cls.__mro__[1].__name__} needs a method {cls.method}")
        base = cls.facts
        cls.facts = PassInfo(
            base.opt_level if opt_level is None else opt_level,
            name or cls.prefix + cls.__name__,
            base.required if required is None else tuple(required),
        )
        if configurable:
            register_config_option(cls.facts.name, dict, lambda: usual_options(cls))
        _register(cls)

    def __post_init__(self) -> None:
        check_options(self, type(self).__name__)

    @property
    def info(self) -> PassInfo:
        """Level, name and requirements of the pass."""
        return self.facts

    def options(self) -> dict[str, object]:
        """Return the options by name, in the order in which the pass takes them."""
        return {option: getattr(self, option) for option in option_types(type(self))}

    def configured(self, ctx: PassContext) -> Self:
        """Return the pass with the options that a context gives under the pass's name."""
        given = ctx.config.get(self.info.name)
        if not given:
            return self
        check_option_names(self.info.name, type(self), given)
        return replace(self, **given)  # type: ignore[type-var]

    @classmethod
    def made_of(
        cls,
        target: Callable[..., object] | type | None,
        opt_level: int = 0,
        name: str | None = None,
        required: Sequence[str] | None = None,
    ) -> object:
        """Create a pass of this kind from a user's function or class, see :func:`module_pass`; a decorator without one.

        Raises ArgumentError if ``target`` cannot be called, or is a class without the method of this kind.
        """
        if target is None:
            return lambda decorated: cls.made_of(decorated, opt_level, name, required)
        own_name: str = getattr(target, "__name__", type(target).__name__)
        label = name or own_name
        if not callable(target):
            raise ArgumentError(f"pass {label}: expected a function or a class, got {show(target)}")
        members = {"__doc__": getattr(target, "__doc__", None), "__module__": getattr(target, "__module__", __name__)}
        if isinstance(target, type):
            members |= _members_of_class(target, cls.method, label)
        else:
            members[cls.method] = staticmethod(errors_of_program()(target))
            own_name = label if label.isidentifier() else own_name
        facts = {"name": label, "opt_level": opt_level, "required": required}
        made = new_class(own_name, (cls,), facts, lambda body: body.update(members))
        return made if isinstance(target, type) else made()

    @abstractmethod
    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the transformed module, the same one where nothing changed; implemented by each kind of pass."""

    def __call__(self, mod: IRModule) -> IRModule:
        """Run the pass, whatever its level, unless an instrument forbids it."""
        return self._run(mod, PassContext.current(), "", in_sequence=False)

    def run_if_enabled(self, mod: IRModule) -> IRModule:
        """Run the pass as part of a sequence, if the current context enables it."""
        ctx = PassContext.current()
        return self._run(mod, ctx, "" if ctx.enabled(self.info) else ctx.why_not(self.info))

    def _run(self, mod: IRModule, ctx: PassContext, reason_to_skip: str, in_sequence: bool = True) -> IRModule:
        if not isinstance(mod, IRModule):
            raise ArgumentError(f"pass {self.info.name}: expected an IRModule, got {type(mod).__name__}")
        instruments = (*ctx.instruments, *active_instruments())
        if reason := reason_to_skip or self._veto(mod, instruments):
            for instrument in instruments:
                instrument.pass_skipped(mod, self.info, reason)
            return mod
        for each in map(required_pass, self.info.required):
            if in_sequence or each.annotates:
                mod = each(mod)
        with errors_of_program():
            for instrument in instruments:
                instrument.run_before_pass(mod, self.info)
        try:
            result = self.apply(mod, ctx)
        except BaseException as error:
            for instrument in instruments:
                instrument.pass_failed(mod, self.info, error)
            raise
        with errors_of_program():
            for instrument in instruments:
                instrument.run_after_pass(result, self.info)
        return result

    def _veto(self, mod: IRModule, instruments: Sequence[PassInstrument]) -> str:
        """Return why the instruments do not let the pass run on ``mod``; empty if they do."""
        # Every instrument is asked, even after one said no, as in TVM.
        with errors_of_program():
            verdicts = [instrument.should_run(mod, self.info) for instrument in instruments]
        return "" if all(verdicts) else "vetoed by an instrument"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({options_text(self.options())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pass) and type(other) is type(self) and other.options() == self.options()

    def __hash__(self) -> int:
        # An option may be a list or a mapping.
        return hash(type(self))

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} is immutable: its options cannot be changed")


def _members_of_class(cls: type, method: str, name: str) -> dict[str, object]:
    """Return the members of a pass whose work an instance of ``cls`` does; further attributes come from that."""
    if not callable(getattr(cls, method, None)):
        raise ArgumentError(f"pass {name}: class {cls.__name__} needs a method {method}")

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        arguments = inspect.signature(cls).bind(*args, **kwargs)
        arguments.apply_defaults()
        object.__setattr__(self, "instance", cls(*args, **kwargs))
        object.__setattr__(self, "_options", dict(arguments.arguments))

    return {
        "__init__": __init__,
        "__getattr__": lambda self, attribute: getattr(self.__dict__["instance"], attribute),
        "__signature__": inspect.signature(cls),
        "options": lambda self: self._options,
        method: errors_of_program()(lambda self, *args: getattr(self.instance, method)(*args)),
    }


def _register(cls: type[Pass]) -> None:
    """Let text and requirements name a pass; what a program defines never takes the name of one of the compiler's."""
    for name in (cls.facts.name, cls.__name__):
        other = _PASSES.get(name)
        if other is None or _is_ours(cls) or not _is_ours(other):
            _PASSES[name] = cls


def _is_ours(cls: type[Pass]) -> bool:
    module: str | None = cls.__module__  # None for a class that is defined where nothing says what the module is
    return module is not None and module.startswith(_OURS)


_OURS = __name__.partition(".")[0] + "."


def pass_class(name: str) -> type[Pass]:
    """Return the pass class of a pass's name, ``"tir.VectorizeLoop"``, or a class's, ``"VectorizeLoop"``.

    Raises ArgumentError if no pass of that name is registered.
    """
    if name not in _PASSES:
        extension_point("passes").load_modules()
    cls = _PASSES.get(name)
    if cls is None:
        raise ArgumentError(f"there is no pass {name!r}{did_you_mean(name, _PASSES)}")
    return cls


def registered_passes() -> list[type[Pass]]:
    """Return all pass classes, sorted by pass name."""
    extension_point("passes").load_modules()
    return sorted(set(_PASSES.values()), key=lambda cls: cls.facts.name)


def check_option_names(name: str, cls: type[Pass], options: Mapping[str, object]) -> None:
    """Reject options that the constructor of a pass does not take."""
    require_options(name, options, inspect.signature(cls).parameters)


def required_pass(name: str) -> Pass:
    """Return the pass with a name, as in :func:`pass_class`, and its default options."""
    return pass_class(name)()
