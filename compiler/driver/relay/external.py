"""External compilers: who makes code of functions with the attribute ``Compiler``."""

from __future__ import annotations

from compiler.ir.error import BuildError
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.function import Function
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.inline import Inline

__all__ = ["compiled_here", "with_functions_compiled_here"]

OWN_COMPILERS = ("ccompiler",)
"""Compilers that TVM brings along, whose functions this compiler compiles with everything else."""


def with_functions_compiled_here(mod: IRModule) -> IRModule:
    """Return a module in which the functions of :data:`OWN_COMPILERS` stand where they are called.

    Parameters
    ----------
    mod : IRModule
        The functions that other compilers get have the attribute ``Compiler``.

    Returns
    -------
    IRModule
        ``mod`` itself where there are none.

    Raises
    ------
    BuildError
        If a function is another compiler's.
    """
    external = {var: func for var, func in mod.items() if isinstance(func, Function) and func.attrs.get("Compiler")}
    if not external:
        return mod
    for var, func in external.items():
        if func.attrs["Compiler"] not in OWN_COMPILERS:
            raise BuildError(
                f"no code can be made for function {var.name_hint!r} by the external compiler "
                f"{func.attrs['Compiler']!r}: there is {' and '.join(OWN_COMPILERS)}"
            )
    functions = {var: compiled_here(func) if var in external else func for var, func in mod.items()}
    with PassContext(opt_level=max(PassContext.current().opt_level, 1)):
        return InferType()(Inline()(mod.with_functions(functions)))


def compiled_here(func: Function) -> Function:
    """Return a function without what makes it a kernel of another compiler.

    Parameters
    ----------
    func : Function

    Returns
    -------
    Function
        Inlined where it is called.
    """
    for name in ("Compiler", "Primitive", "global_symbol"):
        func = func.without_attr(name)
    return func.with_attr("Inline", 1)
