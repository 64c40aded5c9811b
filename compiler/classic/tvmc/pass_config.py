"""Parses pass configuration options of the command line."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from compiler.classic.tvmc.errors import TVMCException
from compiler.ir.passes.context import PassContext

_LOWER_PASSES = "tir.add_lower_pass"
_TRUTH = {"true": True, "false": False}


def load_function(full_name: str) -> Callable[..., object]:
    """Return a Python function."""
    module, _, name = full_name.rpartition(".")
    try:
        function: Callable[..., object] = getattr(importlib.import_module(module), name)
    except (ImportError, ValueError):
        raise TVMCException(f"No module '{module}' found, of which {full_name!r} were a function.") from None
    except AttributeError:
        raise TVMCException(f"No function '{name}' found in module '{module}'.") from None
    return function


def get_pass_config_value(name: str, value: str, config_type: str) -> object:
    """Return the value of an option."""
    if config_type == "IntImm":
        try:
            return _TRUTH[value.lower()] if value.lower() in _TRUTH else int(value)
        except ValueError:
            raise TVMCException(f"Invalid value '{value}' for configuration '{name}'.") from None
    if config_type == "runtime.String":
        return value
    if config_type == "Array" and name == _LOWER_PASSES:
        return _lower_passes(value)
    raise TVMCException(f"Unsupported configuration '{name}' for '{config_type}' type.")


def _lower_passes(text: str) -> list[tuple[int, object]]:
    """Return the phases and passes of ``1,my_passes.first,3,my_passes.second``."""
    words = text.split(",")
    if len(words) % 2 or not all(phase.isdigit() for phase in words[::2]):
        raise TVMCException(
            f"The configuration of '{_LOWER_PASSES}' must be of the form"
            f" '{_LOWER_PASSES}=opt_level1,pass1,opt_level2,pass2', got {text!r}"
        )
    return [(int(phase), load_function(function)) for phase, function in zip(words[::2], words[1::2], strict=True)]


def parse_configs(input_configs: Sequence[str] | None) -> dict[str, object]:
    """Return the configuration that texts ask for."""
    known = PassContext.list_configs()
    configs = {}
    for text in input_configs or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise TVMCException(f"Invalid format for configuration '{text}', use <config>=<value>")
        if name not in known:
            raise TVMCException(
                f"Configuration '{name}' is not defined in TVM."
                f" These are the existing configurations: {', '.join(known)}"
            )
        configs[name] = get_pass_config_value(name, value, known[name]["type"])
    return configs
