"""The steps, the most valuable first; their modules are imported where they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import NamedTuple

from tests.outside.device.cases import SHARDS, Case


class Step(NamedTuple):
    """A step.

    Attributes
    ----------
    place : str
        Module below this package and function in it, which yields the cases.
    seconds : int
        The time limit.
    measures : bool
        Whether it needs the machine for itself.
    """

    name: str
    place: str
    seconds: int
    measures: bool = False
    arguments: tuple[int, ...] = ()

    def load(self) -> Callable[[], Iterator[Case]]:
        """Return the function that yields the cases."""
        module, _, function = self.place.partition(":")
        return partial(getattr(import_module(f"tests.outside.device.{module}"), function), *self.arguments)


STEPS = (
    Step("facts", "facts:cases", 40),
    Step("gallery", "gallery:cases", 150),
    *(Step(f"programs-{at}", "programs:cases", 200, arguments=(at,)) for at in range(SHARDS)),
    Step("ways", "ways:cases", 200),
    Step("resnet18", "models:residual", 200),
    Step("bert", "models:bert", 200),
    Step("int8", "models:quantised", 200),
    *(Step(f"operators-{at}", "operators:cases", 200, arguments=(at,)) for at in range(SHARDS)),
    *(Step(f"tests-{at}", "suite:cases", 230, arguments=(at,)) for at in range(SHARDS)),
    Step("products", "products:cases", 75, measures=True),
    Step("predictions", "predictions:cases", 75, measures=True),
    Step("search", "search:cases", 75, measures=True),
)
