"""ApplyPassToFunction: applies a pass to the functions whose names match a pattern."""

from __future__ import annotations

import re

from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.module import IRModule
from compiler.ir.passes.base import Pass
from compiler.ir.passes.context import PassContext, PassInfo
from compiler.ir.passes.options import check_options


class ApplyPassToFunction(Pass):
    """Apply a pass to the functions of a module whose names match a regular expression; level 0.

    ``transform`` sees a module of these functions alone; the others stay as they are, and so does one that it drops.

    Parameters
    ----------
    func_name_regex : str
        Has to match the beginning of a name, as for ``re.match``.
    error_if_no_function_matches_regex : bool
        Whether a module without such a function is refused; by default it stays as it is.
    """

    transform: Pass
    func_name_regex: str
    error_if_no_function_matches_regex: bool = False

    def __post_init__(self) -> None:
        check_options(self, "ApplyPassToFunction")
        try:
            re.compile(self.func_name_regex)
        except re.error as error:
            raise ArgumentError(
                f"ApplyPassToFunction: func_name_regex {show(self.func_name_regex)} is not a regular expression:"
                f" {error}"
            ) from None

    @property
    def info(self) -> PassInfo:
        """Level and name; the name says of which functions."""
        return PassInfo(0, f"ApplyPassTo{self.func_name_regex}", ())

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Apply the pass to the functions that are meant.

        Raises TVMError if there is none, and that is refused.
        """
        meant = {var: func for var, func in mod.functions.items() if re.match(self.func_name_regex, var.name_hint)}
        if not meant:
            if self.error_if_no_function_matches_regex:
                all_names = [var.name_hint for var in mod.functions]
                raise TVMError(f"No function matched regex {self.func_name_regex!r}, out of functions {all_names}")
            return mod
        made = self.transform(mod.with_functions(meant))
        if len(made.functions) == len(meant) and all(made.functions.get(var) is func for var, func in meant.items()):
            return mod
        by_name = {var.name_hint: var for var in mod.functions}
        changed = {by_name.get(var.name_hint, var): func for var, func in made.functions.items()}
        return mod.with_functions({**mod.functions, **changed})
