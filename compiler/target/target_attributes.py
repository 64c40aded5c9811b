"""Attributes of targets, as properties with their types and defaults."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from compiler.ir import dtype as dt
from compiler.ir.lazy_attribute import lazy_attribute
from compiler.runtime.modules.native_code import host_cpu, host_triple
from compiler.target.cpu import vector_registers
from compiler.target.cpu.llvm_cpu import architecture, cpu_and_features
from compiler.target.cpu.m_profile import is_m_profile, m_profile_features
from compiler.target.kinds import TargetKind
from compiler.target.target_features import TargetFeatures

_SCALAR_REGISTERS = 16
_SCALABLE = {"aarch64": ("+sve", "+sve2"), "arm64": ("+sve", "+sve2"), "riscv64": ("+v",)}


T = TypeVar("T", int, bool, str)


class _Option(Generic[T]):
    """What a target's attributes say under an option, by default of the same name, and otherwise ``default``."""

    def __init__(self, default: T, doc: str, option: str = "") -> None:
        self._default: T = default
        self.__doc__ = doc
        self._option = option

    def __set_name__(self, owner: type, name: str) -> None:
        self._option = self._option or name

    @overload
    def __get__(self, target: None, owner: type) -> Self: ...
    @overload
    def __get__(self, target: TargetAttributes, owner: type) -> T: ...
    def __get__(self, target: TargetAttributes | None, owner: type) -> Self | T:
        return self if target is None else type(self._default)(target.attrs.get(self._option, self._default))


class TargetAttributes:
    """The attributes of a target and the properties of its hardware that follow from them."""

    default_opt_level: ClassVar[int] = 3
    """LLVM's optimisation level for targets that do not set one; shared by the whole process."""

    kind: TargetKind
    attrs: dict[str, Any]

    mcpu = _Option("", "The CPU that the target string names; empty if none.")
    device_name = _Option("", "The device that selects schedules, e.g. ``arm_cpu``; empty by default.", option="device")
    arch = _Option("", "The architecture of a GPU, e.g. ``sm_75``.")
    tag = _Option("", "The tag that the target was created from; empty if none.")
    num_cores = _Option(0, "The number of cores; 0 if unspecified.", option="num-cores")
    max_num_threads = _Option(1, "The maximum number of threads per block of a GPU; 1 for a CPU.")
    thread_warp_size = _Option(1, "The number of threads per warp of a GPU; 1 for a CPU.")
    max_shared_memory_per_block = _Option(0, "Shared memory per block of a GPU in bytes; 0 if unspecified.")
    max_function_args = _Option(0, "The maximum number of parameters of a kernel; 0 if unspecified.")
    max_block_size_x = _Option(1, "The maximum number of threads per block along ``threadIdx.x``; 1 if unspecified.")
    max_block_size_y = _Option(1, "The maximum number of threads per block along ``threadIdx.y``; 1 if unspecified.")
    l2_cache_size_bytes = _Option(0, "Size of the L2 cache of a GPU in bytes; 0 if unspecified.")
    supports_cooperative_matrix = _Option(
        False, "Whether a GPU supports cooperative matrices (matrix products of a subgroup)."
    )
    vtcm_capacity = _Option(
        0,
        "Size of a Hexagon processor's vector tightly coupled memory in bytes; 0 if unspecified.",
        option="vtcm-capacity",
    )

    def _text(self, option: str) -> str:
        return str(self.attrs.get(option, ""))

    @lazy_attribute
    def triple(self) -> str:
        """LLVM's name for the kind of machine."""
        return self._text("mtriple") or host_triple()

    @lazy_attribute
    def _cpu_and_features(self) -> tuple[str, str]:
        return cpu_and_features(self.triple, self.mcpu, self.mattr) if self.kind == "llvm" else ("", "")

    @property
    def cpu(self) -> str:
        """LLVM's name of the CPU; empty for kinds other than ``llvm``."""
        return self._cpu_and_features[0]

    @property
    def llvm_features(self) -> str:
        """The features of the CPU as LLVM takes them; empty for kinds other than ``llvm``."""
        return self._cpu_and_features[1]

    @property
    def opt_level(self) -> int:
        """LLVM's optimisation level, 0 to 3."""
        return int(self.attrs.get("opt-level", self.default_opt_level))

    @property
    def is_host(self) -> bool:
        """Whether code for this target can run in this process."""
        return self.kind == "llvm" and architecture(self.triple) == architecture(host_triple())

    @property
    def is_native(self) -> bool:
        """Whether this machine's CPU supports everything that code for the target may use."""
        return self.is_host and self.cpu == host_cpu() and not any("+" in feature for feature in self.mattr)

    @property
    def mattr(self) -> list[str]:
        """The features that the target string names."""
        return list(self.attrs.get("mattr", ()))

    @property
    def model(self) -> str:
        """The model of the device; ``unknown`` by default."""
        return self._text("model") or "unknown"

    @property
    def libs(self) -> list[str]:
        """The external libraries that kernels may call."""
        return list(self.attrs.get("libs", ()))

    @property
    def supports_integer_dot_product(self) -> bool:
        """Whether a GPU has dot products of four 8-bit integers (``dp4a``)."""
        capability = self.arch.removeprefix("sm_")
        return bool(self.attrs.get("supports_integer_dot_product", capability.isdigit() and int(capability) >= 61))

    @property
    def features(self) -> TargetFeatures:
        """Features of the processor as attributes, such as ``has_sve``."""
        known = (
            m_profile_features(self.mcpu, self.mattr) if is_m_profile(self.mcpu) else {"is_test": self.kind == "test"}
        )
        return TargetFeatures(self.triple if "mtriple" in self.attrs else "", self.cpu, self.llvm_features, known)

    @property
    def vector_bits(self) -> int:
        """Width in bits of the widest vector registers that code for this target uses; 0 if it uses none."""
        if self.kind != "llvm":
            return 0
        return vector_registers.vector_bits(self.triple, self.cpu, self.llvm_features)

    @property
    def has_scalable_vectors(self) -> bool:
        """Whether the vector length is only known at run time: SVE on AArch64, V on RISC-V."""
        extensions = _SCALABLE.get(self.triple.split("-")[0], ())
        return self.kind == "llvm" and not set(extensions).isdisjoint(self.llvm_features.split(","))

    @property
    def vector_registers(self) -> int:
        """The number of vector registers; for C, of scalar registers to assume on any CPU."""
        if self.kind == "c":
            return _SCALAR_REGISTERS
        if self.kind != "llvm":
            return 0
        return vector_registers.vector_registers(self.triple, self.cpu, self.llvm_features)

    def vector_width(self, dtype: str = "float32") -> int:
        """Return the number of elements of a data type in one vector register."""
        return max(self.vector_bits // max(dt.bits(dtype), 8), 1)
