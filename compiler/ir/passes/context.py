"""``PassContext``, and the pass properties it uses to decide what runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from compiler.ir.attrs.integer import BoolAttr, IntAttr
from compiler.ir.context_stack import ContextStack
from compiler.ir.error import AttrsError, did_you_mean, errors_of_program, show
from compiler.ir.expr.scalars import IntImm
from compiler.ir.extension import extension_point
from compiler.ir.instrument import PassInstrument


@dataclass(frozen=True, slots=True)
class PassInfo:
    """Name, level and requirements of a pass, as contexts and instruments see them."""

    opt_level: int
    name: str
    required: tuple[str, ...] = ()
    traceable: bool = False

    def __str__(self) -> str:
        names = "\n" + "".join(f"{name}, " for name in self.required) if self.required else ""
        return (
            f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level},"
            f" required passes: [{names}]\n"
        )


ConfigType = type | tuple[type, ...]
_CONFIG_OPTIONS: dict[str, ConfigType] = {}
_USUAL_OPTIONS: dict[str, Callable[[], Mapping[str, object]]] = {}
"""Of the options that hold those of one pass: what all of the pass's options are where nobody gives them."""


def register_config_option(key: str, kind: ConfigType, usual: Callable[[], Mapping[str, object]] | None = None) -> None:
    """Declare a configuration option, beside the pass that reads it, and the types of its values.

    Where the value is a mapping of a pass's options, ``usual`` returns all of them with their usual values.
    """
    _CONFIG_OPTIONS[key] = kind
    if usual is not None:
        _USUAL_OPTIONS[key] = usual


class GivenOptions(dict[str, Any]):
    """What a context gives for one pass: the options that are given, as items; all that the pass has, as attributes."""

    def __init__(self, owner: str, given: Mapping[str, object]) -> None:
        super().__init__(given)
        self._usual = _USUAL_OPTIONS[owner]()
        for option in given:
            if option not in self._usual:
                raise AttrsError(f"{owner}: there is no option {option!r}{did_you_mean(str(option), self._usual)}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._usual:
            raise AttributeError(f"the options of a pass have no {name!r}")
        return self.get(name, self._usual[name])


def config_options() -> dict[str, ConfigType]:
    """Return all configuration options with the types of their values."""
    extension_point("passes").load_modules()
    return dict(_CONFIG_OPTIONS)


def _type_name(key: str, kind: ConfigType) -> str:
    """Return what TVM calls the type of an option."""
    if key in _USUAL_OPTIONS:
        level, name = key.split(".")
        return f"{level}.transform.{name}Config"
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return next((name for each, name in _TYPE_NAMES.items() if each in kinds), kinds[0].__name__)


_TYPE_NAMES: dict[type, str] = {bool: "IntImm", int: "IntImm", str: "runtime.String", list: "Array", dict: "Map"}


def _check_config(config: Mapping[str, object]) -> dict[str, Any]:
    """Return a copy of a configuration whose options exist and have values of their types."""
    options = _CONFIG_OPTIONS if config.keys() <= _CONFIG_OPTIONS.keys() else config_options()
    given = {key: _number(value) for key, value in config.items()}
    for key, value in given.items():
        kind = options.get(key)
        if kind is None:
            raise AttrsError(f"PassContext: there is no configuration option {key!r}{did_you_mean(key, options)}")
        if kind is bool and type(value) is int and value in (0, 1):
            given[key] = bool(value)
        elif not isinstance(value, kind):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = " or ".join(k.__name__ for k in kinds)
            raise AttrsError(f"PassContext: option {key!r} must be of type {names}, got {show(value)}")
    return {key: _kept(key, value) for key, value in given.items()}


def _kept(key: str, value: object) -> object:
    """Return the value of an option in the form in which a context keeps it: numbers have a ``value``, as in TVM."""
    if key in _USUAL_OPTIONS and isinstance(value, Mapping):
        return GivenOptions(key, value)
    return BoolAttr(value) if isinstance(value, bool) else IntAttr(value) if type(value) is int else value


def _number(value: object) -> object:
    """Return the Python number that a constant is, and anything else as it is."""
    if isinstance(value, IntImm):
        return bool(value.value) if value.dtype == "bool" else value.value
    return value


class PassContext:
    """The context passes run in: optimisation level, configuration and instruments.

    The passes within ``with PassContext(…):`` run in it.  It is the current one of its thread and asyncio task alone;
    a new thread begins with the default context.

    Parameters
    ----------
    opt_level : int, 0 to 4
        Passes of a sequence, ``relay.build`` or ``lower`` are skipped above this level, unless ``required_pass``
        names them; a pass that is called directly runs.
    disabled_pass : sequence of str, optional
        Names of passes that do not run in a sequence either; stronger than ``required_pass``.
    config : mapping of str to object, optional
        Options of the build and of single passes, e.g. ``{"tir.disable_vectorize": True, "tir.UnrollLoop":
        {"auto_max_step": 16}}``; unknown ones are refused.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Sequence[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, object] | None = None,
    ) -> None:
        self.opt_level = opt_level
        self.required_pass = list(required_pass or ())
        self.disabled_pass = list(disabled_pass or ())
        self.instruments: list[PassInstrument] = list(instruments or ())
        self.config = _check_config(config or {})

    def __str__(self) -> str:
        return "\n\t".join(
            (
                "Pass context information: ",
                f"opt_level: {self.opt_level}",
                f"required passes: [{', '.join(self.required_pass)}]",
                f"disabled passes: [{', '.join(self.disabled_pass)}]",
                f"instruments: [{', '.join(map(str, self.instruments))}]",
                f"config: {self.config}",
            )
        )

    @staticmethod
    def current() -> PassContext:
        """Return the innermost context of the thread and task; the default one, of level 2, outside of all blocks."""
        return _STACK.current() or _DEFAULT

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Return the TVM name of the ``type`` of each configuration option."""
        return {key: {"type": _type_name(key, kind)} for key, kind in config_options().items()}

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Replace the instruments of this context; those before leave it first, as at its end."""
        self._leave()
        self.instruments = list(instruments or ())
        self._enter()

    def __enter__(self) -> PassContext:
        self._enter()
        _STACK.push(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _STACK.pop()
        self._leave()

    def _enter(self) -> None:
        """Tell the instruments that the context begins; where one fails, those before it hear of its end."""
        entered: list[PassInstrument] = []
        try:
            for instrument in self.instruments:
                with errors_of_program():
                    instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = entered
            self._leave()
            self.instruments = []
            raise

    def _leave(self) -> None:
        """Tell the instruments that the context ends; where one fails, the context has none any more."""
        try:
            for instrument in self.instruments:
                with errors_of_program():
                    instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise

    def enabled(self, info: PassInfo) -> bool:
        """Return whether a pass runs in this context."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def why_not(self, info: PassInfo) -> str:
        """Explain why a pass does not run in this context."""
        if info.name in self.disabled_pass:
            return "disabled by the context"
        return f"skipped: needs opt_level {info.opt_level} (current: {self.opt_level})"


_STACK: ContextStack[PassContext] = ContextStack("PassContext")
_DEFAULT = PassContext()
