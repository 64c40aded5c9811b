"""Passes: functions from module to module, with their options as values, and the context that they run in.

``Pass.__call__`` is the one funnel: deciding whether a pass runs, instruments and timing all happen there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.extension import extension_point
from compiler.ir.instrument import PassInstrument, active_instruments
from compiler.ir.module import IRModule


@dataclass(frozen=True, slots=True)
class PassInfo:
    """What the funnel knows about a pass.

    Attributes
    ----------
    opt_level : int
        The pass runs when the context's level is at least this.
    name : str
    required : tuple of str
        Names of passes that must have run before.
    """

    opt_level: int
    name: str
    required: tuple[str, ...] = ()


_CONFIG_OPTIONS: dict[str, type | tuple[type, ...]] = {}


def register_config_option(key: str, kind: type | tuple[type, ...]) -> None:
    """Let ``PassContext(config={key: …})`` take values of type ``kind``."""
    _CONFIG_OPTIONS[key] = kind


def config_options() -> dict[str, type | tuple[type, ...]]:
    """Return every known configuration key with the type of its values."""
    return dict(_CONFIG_OPTIONS)


def _check_config(config: Mapping[str, Any]) -> dict[str, Any]:
    if not config.keys() <= _CONFIG_OPTIONS.keys():
        extension_point("passes").load_rooms()
    for key, value in config.items():
        kind = _CONFIG_OPTIONS.get(key)
        if kind is None:
            near = difflib.get_close_matches(key, _CONFIG_OPTIONS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(f"PassContext: there is no configuration option {key!r}{hint}")
        if not isinstance(value, kind):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = " or ".join(k.__name__ for k in kinds)
            raise ArgumentError(f"PassContext: option {key!r} must be of type {names}, got {show(value)}")
    return dict(config)


class PassContext:
    """What passes run in: optimisation level, configuration, instruments.

    Parameters
    ----------
    opt_level : int
        Passes above this level are skipped, unless required.
    required_pass, disabled_pass : sequence of str
        Names of passes that always or never run.
    instruments : sequence of PassInstrument
    config : mapping of str to object
        Options of single passes, e.g. ``{"tir.add_lower_pass": [(1, f)]}``.

    Raises
    ------
    ArgumentError
        If ``config`` names an unknown option or gives a value of the wrong type.
    """

    _stack: list[PassContext] = []

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level = opt_level
        self.required_pass = frozenset(required_pass or ())
        self.disabled_pass = frozenset(disabled_pass or ())
        self.instruments: list[PassInstrument] = list(instruments or ())
        self.config = _check_config(config or {})

    @staticmethod
    def current() -> PassContext:
        """Return the innermost context, or the default one."""
        return PassContext._stack[-1] if PassContext._stack else _DEFAULT

    def __enter__(self) -> PassContext:
        for instrument in self.instruments:
            instrument.enter_pass_ctx()
        PassContext._stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        PassContext._stack.pop()
        for instrument in self.instruments:
            instrument.exit_pass_ctx()

    def enabled(self, info: PassInfo) -> bool:
        """Return whether a pass runs in this context."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def why_not(self, info: PassInfo) -> str:
        """Return why a pass does not run in this context, in words."""
        if info.name in self.disabled_pass:
            return "disabled by the context"
        return f"needs opt_level {info.opt_level}, the context has {self.opt_level}"


_DEFAULT = PassContext()


class Pass:
    """A function from module to module with a name and a level."""

    info: PassInfo

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the transformed module; subclasses do their work here."""
        raise TypeError(f"{type(self).__name__} does not say what it does")

    def __call__(self, mod: IRModule) -> IRModule:
        """Run the pass if the current context lets it."""
        ctx = PassContext.current()
        if not isinstance(mod, IRModule):
            raise ArgumentError(f"pass {self.info.name}: expected an IRModule, got {type(mod).__name__}")
        instruments = (*ctx.instruments, *active_instruments())
        if reason := self._reason_to_skip(mod, ctx, instruments):
            for instrument in instruments:
                instrument.pass_skipped(mod, self.info, reason)
            return mod
        for name in self.info.required:
            mod = required_pass(name)(mod)
        for instrument in instruments:
            instrument.run_before_pass(mod, self.info)
        result = self.transform_module(mod, ctx)
        for instrument in instruments:
            instrument.run_after_pass(result, self.info)
        return result

    def _reason_to_skip(self, mod: IRModule, ctx: PassContext, instruments: Sequence[PassInstrument]) -> str:
        """Return why the pass does not run on ``mod``; empty where it runs."""
        if not ctx.enabled(self.info):
            return ctx.why_not(self.info)
        # Every instrument is asked, even after one said no, as in TVM.
        verdicts = [instrument.should_run(mod, self.info) for instrument in instruments]
        return "" if all(verdicts) else "an instrument said no"

    def __repr__(self) -> str:
        return f"Pass({self.info.name}, opt_level={self.info.opt_level})"


_NAMED_PASSES: dict[str, Callable[[], Pass]] = {}


def register_named_pass(name: str, make: Callable[[], Pass]) -> None:
    """Let other passes require this one by name."""
    _NAMED_PASSES[name] = make


def required_pass(name: str) -> Pass:
    """Return a fresh pass of that name.

    Raises
    ------
    ArgumentError
        If no pass of that name is registered.
    """
    make = _NAMED_PASSES.get(name)
    if make is None:
        raise ArgumentError(f"pass {name!r} is required but unknown")
    return make()


class ModulePass(Pass):
    """A pass made of a function ``f(mod, ctx) -> mod``."""

    def __init__(self, transform: Callable[[IRModule, PassContext], IRModule], info: PassInfo) -> None:
        self.transform = transform
        self.info = info

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = self.transform(mod.shallow_copy(), ctx)
        if not isinstance(result, IRModule):
            raise ArgumentError(f"pass {self.info.name}: must return an IRModule, returned {type(result).__name__}")
        # A pass may change the module that it was given; where it did not, this is still the same one.
        return mod if _same(mod, result) else result


def _same(a: IRModule, b: IRModule) -> bool:
    return (
        len(a.functions) == len(b.functions)
        and all(b.functions.get(var) is func for var, func in a.functions.items())
        and a.attrs == b.attrs
        and a.type_definitions == b.type_definitions
    )


class Sequential(Pass):
    """Passes one after the other.

    Parameters
    ----------
    passes : iterable of Pass
    opt_level : int
    name : str
    """

    def __init__(
        self,
        passes: Iterable[Pass],
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ) -> None:
        self.passes = list(passes)
        self.info = PassInfo(opt_level, name, tuple(required or ()))
        for item in self.passes:
            if not isinstance(item, Pass):
                raise ArgumentError(f"Sequential: expected passes, got {type(item).__name__} {show(item)}")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for item in self.passes:
            mod = item(mod)
        return mod


PassMaker = Callable[[Callable[..., Any], PassInfo], Pass]


def pass_decorator(make: PassMaker, method: str) -> Callable[..., Any]:
    """Return a decorator in TVM's manner for one kind of pass.

    The decorator takes a function, or a class whose instances have the method ``method``; it can be used with or
    without arguments.
    """

    def decorate(
        pass_func: Any = None,
        opt_level: int = 0,
        name: str | None = None,
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> Any:
        def wrap(target: Any) -> Any:
            info = PassInfo(opt_level, name or target.__name__, tuple(required or ()))
            return _class_pass(target, make, method, info) if isinstance(target, type) else make(target, info)

        return wrap if pass_func is None else wrap(pass_func)

    return decorate


def _class_pass(cls: type, make: PassMaker, method: str, info: PassInfo) -> Any:
    """Return a callable that makes a pass of an instance of ``cls``; further attributes come from the instance."""
    if not callable(getattr(cls, method, None)):
        raise ArgumentError(f"pass {info.name}: class {cls.__name__} needs a method {method}")

    class ClassPass(Pass):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.instance = cls(*args, **kwargs)
            self.info = info
            self._inner = make(getattr(self.instance, method), info)

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            return self._inner.transform_module(mod, ctx)

        def __getattr__(self, attribute: str) -> Any:
            return getattr(self.__dict__["instance"], attribute)

    ClassPass.__name__ = ClassPass.__qualname__ = cls.__name__
    ClassPass.__doc__ = cls.__doc__
    return ClassPass


module_pass = pass_decorator(ModulePass, "transform_module")
"""Make a module pass of a function ``f(mod, ctx) -> mod`` or of a class with ``transform_module``."""
