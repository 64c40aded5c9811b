"""The search for schedules: one core, which knows nothing of the names under which programs call it.

::

    choices    named decisions; a mutation or a crossing makes them again          machine   registers, caches, cores
    blocks     what the rules ask about a block                                    rules     the table of rules
    space      the candidates: what the rules derive with some choices
    features   what is seen of a program        cost_model   what is expected of it
    pairing    which of two kernels is faster   measurer     candidates in processes of their own
    database   the log                          search       rounds       tuning   from a function to its schedule
    models     all kernels of a model, by expected gain     ledger     where the time went      fastest   of records
    parts      what those that a program defines return is held against what they are to return

No search returns what is slower than what was there: the default is the first reference, and the winner is compared
with it once more.
"""

from compiler.search.choices import Wishes
from compiler.search.cost_model import CostModel, LearnedModel, rank_correlation
from compiler.search.database import Database, Record
from compiler.search.machine import Machine
from compiler.search.measurer import Limits, Measurement, Measurer
from compiler.search.pairing import Pairing, Patience, paired
from compiler.search.rules import RULES
from compiler.search.search import Evolution, Search, Trial
from compiler.search.space import Numbers, ScheduleSpace, filled, is_of_template
from compiler.search.tuning import Outcome, Progress, tune

__all__ = [
    "RULES", "CostModel", "Database", "Evolution", "LearnedModel", "Limits", "Machine", "Measurement", "Measurer",
    "Numbers", "Outcome", "Pairing", "Patience", "Progress", "Record", "ScheduleSpace", "Search", "Trial", "Wishes",
    "filled", "is_of_template", "paired", "rank_correlation", "tune",
]  # fmt: skip
