"""The only place that strings levels together: ``lower``, ``build`` and, for models, :mod:`compiler.driver.relay`."""

from compiler.driver.build import build
from compiler.driver.lower import lower

__all__ = ["build", "lower"]
