"""Instruments: objects whose methods the compiler calls as it works: ``tvm.instrument``, and events beyond TVM's."""

from compiler.ir.instrument import active, pass_instruments
from compiler.ir.instrument.active import *  # noqa: F403
from compiler.ir.instrument.derivations import Derivation, DerivationLog
from compiler.ir.instrument.interface import CodeForm, Instrument, PassInstrument
from compiler.ir.instrument.pass_instruments import *  # noqa: F403

__all__ = [
    *pass_instruments.__all__, *active.__all__, "CodeForm", "Derivation", "DerivationLog", "Instrument",
    "PassInstrument",
]  # fmt: skip
