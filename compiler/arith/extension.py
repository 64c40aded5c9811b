"""Optional rewrites of analyzers."""

from enum import IntFlag


class Extension(IntFlag):
    """Rewrites that an analyzer does not try by default, as they take longer.

    Attributes
    ----------
    NoExtensions : int
        None of them.
    TransitivelyProveInequalities : int
        Comparisons that follow from several known ones: ``i < k`` from ``i < j`` and ``j < k``.
    ApplyConstraintsToBooleanBranches : int
        One side of ``and`` is simplified as the other one holds, of ``or`` as the other one does not.
    ComparisonOfProductAndSum : int
        A product of two sums is compared with a sum of them.
    """

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


BOOLEAN_EXTENSIONS = Extension.ConvertBooleanToAndOfOrs | Extension.ApplyConstraintsToBooleanBranches
"""Those that rewrite whole conditions."""
