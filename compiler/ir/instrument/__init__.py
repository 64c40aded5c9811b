"""Instruments: objects whose methods the compiler calls as it works: ``tvm.instrument``, and events beyond TVM's."""

from compiler.ir.instrument.active import (
    active_instruments,
    first_answer,
    instrumented,
    report_rewrite,
    uninstrumented,
)
from compiler.ir.instrument.derivations import Derivation, DerivationLog
from compiler.ir.instrument.interface import CodeForm, Instrument, PassInstrument
from compiler.ir.instrument.pass_instruments import (
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)

__all__ = [
    "CodeForm",
    "Derivation",
    "DerivationLog",
    "Instrument",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "active_instruments",
    "first_answer",
    "instrumented",
    "pass_instrument",
    "report_rewrite",
    "uninstrumented",
]
