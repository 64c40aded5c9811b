"""``tvm.contrib``."""

from compiler.ir.extension import lazy_package

_MODULES = (*("cblas", "cc", "clang", "debugger", "download", "pickle_memoize", "popen_pool"), *("tar", "utils"))

__getattr__, __dir__ = lazy_package("tvm.contrib", {}, [f"{__name__}.{module}" for module in _MODULES])
