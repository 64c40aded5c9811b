"""Parses executor and runtime options of the command line."""

from __future__ import annotations

import argparse

from compiler.classic.tvmc.errors import TVMCException
from compiler.driver.relay.options import Executor, Runtime

Entity = type[Executor] | type[Runtime]


def _truth(text: str) -> bool:
    return text.lower() not in ("", "0", "false")


def _field(registry: Entity, *names: str) -> str:
    return "_".join((registry.__name__.lower(), *names)).replace("-", "_")


def generate_registry_args(parser: argparse.ArgumentParser, registry: Entity, default: str | None = None) -> None:
    """Add ``--executor``, ``--executor-aot-interface-api`` and so on to a parser."""
    kind = registry.__name__
    group = parser.add_argument_group(f"{kind.lower()} {default or ''}".strip())
    group.add_argument(f"--{kind.lower()}", default=default, help=f"{kind} to compile the model with")
    for name in registry.list_registered():
        for option, (value_type, _) in registry.kinds[name].items():
            read = _truth if value_type is bool else value_type
            group.add_argument(f"--{kind.lower()}-{name}-{option}", type=read, help=f"{kind} {name} {option}")


def reconstruct_registry_entity(args: argparse.Namespace, registry: Entity) -> Executor | Runtime | None:
    """Return the executor or the runtime that the arguments ask for."""
    kind, chosen = registry.__name__, getattr(args, _field(registry))
    if chosen is None:
        return None
    if chosen not in registry.list_registered():
        raise TVMCException(f'{kind} "{chosen}" is not registered; there are {", ".join(registry.list_registered())}')
    given = {}
    for name in registry.list_registered():
        for option in registry.list_registered_options(name):
            value = getattr(args, _field(registry, name, option), None)
            if value is None:
                continue
            if name != chosen:
                raise TVMCException(
                    f"Passed --{kind.lower()}-{name}-{option} but did not specify {name} {kind.lower()}"
                )
            given[option] = value
    return registry(chosen, given)
