"""What a test needs of the machine and of the build, as marks of pytest: ``requires_llvm``, ``requires_cuda``, …

The table at the end has a row for each feature.  What is not here is skipped with the reason.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

from compiler.classic.testing.environment import strtobool
from compiler.classic.testing.targets import is_runnable
from compiler.ir.error import ArgumentError, did_you_mean
from compiler.target.target import host_attributes

__all__ = [
    "Feature", "is_ampere_or_newer", "requires_cuda_compute_version", "requires_nvcc_version", "requires_package",
    "skip_if_32bit", "skip_if_no_reference_system", "skip_if_wheel_test", "uses_gpu", "uses_multi_gpu",
]  # fmt: skip

Test = TypeVar("Test", bound=Callable[..., object])
"""A test function or class."""
Check = Callable[[], bool | str]
"""Returns whether a feature is there, or why it is not."""
LEVELS = ("compile-only", "compile-and-run")
"""What a test does with a feature: only generate code for it, or run that too."""


_DOC = """Mark a test that needs {name}; it is skipped where that is missing.

Parameters
----------
test : callable, optional
    The test; without one, the decorator is returned.
support_required : str
    ``compile-only`` or ``compile-and-run``.

Returns
-------
callable
    The marked test, or the decorator that marks one.
"""


class Feature:
    """Something that a test needs; a decorator of tests.

    A test, or a class of tests, gets the mark of the feature's name, by which it can be selected with ``pytest -m``,
    and is skipped where the feature or one of its parents is missing. The checks return whether code can be generated,
    or run, here, or a str that says why not. No flags of CMake are there; they are kept for the marks.

    Examples
    --------
    >>> @tvm.testing.requires_llvm
    ... def test_vectors(): ...
    """

    _all: dict[str, Feature] = {}

    def __init__(
        self,
        name: str,
        long_name: str | None = None,
        cmake_flag: str | None = None,
        target_kind_enabled: str | None = None,
        compile_time_check: Check | None = None,
        target_kind_hardware: str | None = None,
        run_time_check: Check | None = None,
        parent_features: str | Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self.long_name = long_name or name
        self.cmake_flag = cmake_flag
        self.target_kind_enabled = target_kind_enabled
        self.target_kind_hardware = target_kind_hardware
        self.parent_features = [parent_features] if isinstance(parent_features, str) else list(parent_features or ())
        self._compile_time_check = compile_time_check
        self._run_time_check = run_time_check
        self.__doc__ = _DOC.format(name=self.long_name)
        Feature._all[name] = self

    @classmethod
    def require(cls, name: str, support_required: str = "compile-and-run") -> Callable[[Test], Test]:
        """Return the decorator of a feature, e.g. ``cuda``, by its name.

        Raises ArgumentError if there is no such feature.
        """
        if name not in cls._all:
            raise ArgumentError(f"Feature.require: there is no feature {name!r}{did_you_mean(name, cls._all)}")
        return lambda test: cls._all[name](test, support_required=support_required)

    @classmethod
    def all_features(cls) -> list[Feature]:
        """Return every feature that was made."""
        return list(cls._all.values())

    def missing(self, support_required: str = "compile-and-run") -> str:
        """Return why a test that needs the feature to compile, or to compile and run, cannot run; empty if it can.

        Raises ArgumentError if ``support_required`` is neither ``compile-only`` nor ``compile-and-run``.
        """
        if support_required not in LEVELS:
            raise ArgumentError(f"{self.name}: support_required must be one of {', '.join(LEVELS)}")
        for parent in self.parent_features:
            if reason := Feature._all[parent].missing(support_required):
                return reason
        checks = [self._compile_time_check] + [self._run_time_check] * (support_required == "compile-and-run")
        for check in checks:
            answer = True if check is None else check()
            if answer is not True:
                return answer or f"{self.long_name} is not available"
        hardware = self.target_kind_hardware if support_required == "compile-and-run" else None
        return f"no device runs {hardware} here" if hardware and not is_runnable(hardware) else ""

    def marks(self, support_required: str = "compile-and-run") -> list[pytest.MarkDecorator]:
        """Return the marks of a test: the feature's name, those of its parents, and one that may skip it."""
        parents = [mark for parent in self.parent_features for mark in Feature._all[parent].marks(support_required)]
        reason = self.missing(support_required)
        return [getattr(pytest.mark, self.name), *parents, pytest.mark.skipif(bool(reason), reason=reason)]

    def __call__(self, test: Test | None = None, *, support_required: str = "compile-and-run") -> Any:
        """Mark a test; without one, return the decorator that does."""
        if test is None:
            return lambda later: self(later, support_required=support_required)
        for mark in self.marks(support_required):
            test = mark(test)
        return test


def _cpu_flag(*flags: str) -> Check:
    """Return the check that this processor has all of the features that LLVM calls so."""
    return lambda: {f"+{flag}" for flag in flags} <= set(host_attributes()) or f"this CPU lacks {', '.join(flags)}"


def _machine(*names: str) -> Check:
    return lambda: platform.machine() in names or f"this machine is {platform.machine()}"


def _never(reason: str) -> Check:
    return lambda: reason


def requires_package(*packages: str) -> Callable[[Test], Test]:
    """Return the decorator of tests that are skipped unless all these modules can be imported."""
    lacking = [name for name in packages if importlib.util.find_spec(name) is None]
    reason = f"not installed: {', '.join(lacking)}" if lacking else "installed"
    return lambda test: pytest.mark.skipif(bool(lacking), reason=reason)(test)


def requires_cuda_compute_version(major_version: int, minor_version: int = 0) -> Callable[[Test], Test]:
    """Return the decorator of tests that need a GPU of at least a version; there is none here."""
    reason = f"no GPU of compute version {major_version}.{minor_version} here"
    return lambda test: pytest.mark.skip(reason=reason)(test)


def requires_nvcc_version(
    major_version: int, minor_version: int = 0, release_version: int = 0
) -> Callable[[Test], Test]:
    """Return the decorator of tests that need NVIDIA's compiler; it is not used here."""
    reason = f"no nvcc {major_version}.{minor_version}.{release_version} here"
    return lambda test: pytest.mark.skip(reason=reason)(test)


def is_ampere_or_newer() -> bool:
    """Return whether there is an NVIDIA GPU of the Ampere generation or later: no GPU runs anything here."""
    return False


def skip_if_32bit(reason: str | Test) -> Any:
    """Skip a test where Python has pointers of 32 bits: ``@skip_if_32bit`` or ``@skip_if_32bit(reason="…")``."""
    narrow = struct.calcsize("P") == 4
    if not isinstance(reason, str):
        return pytest.mark.skipif(narrow, reason="Python has 32 bits")(reason)
    return lambda test: pytest.mark.skipif(narrow, reason=reason)(test)


def skip_if_wheel_test(test: Test) -> Test:
    """Skip a test where only an installed package is tested, without the sources' own files."""
    on = strtobool(os.environ.get("WHEEL_TEST") or "off")
    marked: Test = pytest.mark.skipif(on, reason="the installed package is tested")(test)
    return marked


def skip_if_no_reference_system(test: Test) -> Test:
    """Skip a test that needs the simulator of an Arm board, which is not used here."""
    marked: Test = pytest.mark.skip(reason="there is no reference system here")(test)
    return marked


def uses_gpu(test: Test) -> Test:
    """Mark a test that uses a GPU where there is one; it runs in any case."""
    marked: Test = pytest.mark.gpu(test)
    return marked


def uses_multi_gpu(test: Test) -> Test:
    """Mark a test that uses several GPUs where there are some; it runs in any case."""
    marked: Test = pytest.mark.multi_gpu(test)
    return marked


_NO_GPU = "nothing runs on a GPU here"
_X86 = ("x86_64", "AMD64", "i686")
_ARM = ("aarch64", "arm64")

_ROWS: tuple[tuple[str, str, Check | None, Check | None, Sequence[str]], ...] = (
    # name, for people, why no code, why it does not run, what it builds on
    ("gpu", "a GPU", None, _never(_NO_GPU), ()),
    ("multi_gpu", "several GPUs", None, _never(_NO_GPU), ("gpu",)),
    ("cuda", "CUDA", None, _never(_NO_GPU), ("gpu",)),
    ("tensorcore", "NVIDIA Tensor Cores", None, _never(_NO_GPU), ("cuda",)),
    ("cudnn", "cuDNN", _never("cuDNN is not called from here"), None, ("cuda",)),
    ("cublas", "cuBLAS", _never("cuBLAS is not called from here"), None, ("cuda",)),
    ("nccl", "NCCL", _never("NCCL is not called from here"), None, ("cuda",)),
    ("cudagraph", "CUDA graphs", _never("CUDA graphs are not recorded here"), None, ("cuda",)),
    ("nvptx", "PTX", _never("no PTX is generated here"), None, ("cuda",)),
    ("opencl", "OpenCL", None, _never(_NO_GPU), ("gpu",)),
    ("adreno_opencl", "OpenCL on Adreno", None, _never(_NO_GPU), ("opencl",)),
    ("rocm", "ROCm", None, _never(_NO_GPU), ("gpu",)),
    ("matrixcore", "AMD Matrix Cores", None, _never(_NO_GPU), ("rocm",)),
    ("hipblas", "hipBLAS", _never("hipBLAS is not called from here"), None, ("rocm",)),
    ("metal", "Metal", None, _never(_NO_GPU), ("gpu",)),
    ("mps", "Metal Performance Shaders", _never("they are not called from here"), None, ("metal",)),
    ("vulkan", "Vulkan", None, _never(_NO_GPU), ("gpu",)),
    ("llvm", "LLVM", None, None, ()),
    ("x86", "an x86 CPU", None, _machine(*_X86), ()),
    ("x86_avx512", "AVX-512", None, _cpu_flag("avx512f", "avx512bw"), ("x86",)),
    ("x86_vnni", "AVX-512 VNNI", None, _cpu_flag("avx512vnni"), ("x86",)),
    ("x86_amx", "AMX", None, _cpu_flag("amx-int8"), ("x86",)),
    ("skylake_avx512", "a Skylake CPU with AVX-512", None, _cpu_flag("avx512f", "avx512bw"), ("x86",)),
    ("cascadelake", "AVX-512 VNNI", None, _cpu_flag("avx512vnni"), ("x86",)),
    ("aarch64", "a 64-bit Arm CPU", None, _machine(*_ARM), ()),
    ("arm_dot", "Arm's dot product", None, _cpu_flag("dotprod"), ("aarch64",)),
    ("arm_fp16", "Arm's half precision", None, _cpu_flag("fullfp16"), ("aarch64",)),
    ("aarch64_sve", "SVE", None, _cpu_flag("sve"), ("aarch64",)),
    ("aarch64_sme", "SME", None, _cpu_flag("sme"), ("aarch64",)),
    ("rpc", "RPC", None, None, ()),
    ("micro", "microTVM", _never("there is no microTVM here"), None, ()),
    ("corstone300", "a Corstone-300", _never("there is no board here"), None, ()),
    ("aprofile_aem_fvp", "Arm's simulator of A-profile", _never("there is no simulator here"), None, ()),
    ("hexagon", "Hexagon", _never("no code is generated for Hexagon here"), None, ()),
    ("cutlass", "CUTLASS", _never("CUTLASS is not called from here"), None, ("cuda",)),
    ("libtorch", "LibTorch", _never("LibTorch is not called from here"), None, ()),
    ("vitis_ai", "Vitis AI", _never("Vitis AI is not called from here"), None, ()),
    ("ethosn", "Ethos-N", _never("no code is generated for Ethos-N here"), None, ()),
    ("ethosu", "Ethos-U", _never("no code is generated for Ethos-U here"), None, ()),
    ("mrvl", "Marvell's accelerators", _never("no code is generated for them here"), None, ()),
    ("nnapi", "NNAPI", _never("NNAPI is not called from here"), None, ()),
    ("openclml", "OpenCLML", _never("OpenCLML is not called from here"), None, ("opencl",)),
)


def _features(rows: Iterable[tuple[str, str, Check | None, Check | None, Sequence[str]]]) -> dict[str, Feature]:
    return {
        f"requires_{name}": Feature(
            name, title, compile_time_check=code, run_time_check=run, parent_features=parents, target_kind_enabled=name
        )
        for name, title, code, run, parents in rows
    }


_DECORATORS = _features(_ROWS)
__all__ += [*_DECORATORS, "slow"]
globals().update(_DECORATORS)


def _slow() -> bool | str:
    return not strtobool(os.environ.get("SKIP_SLOW_TESTS") or "off") or "slow tests are skipped: SKIP_SLOW_TESTS"


slow = Feature("slow", "time", run_time_check=_slow)
