"""Kernel modules: their sources, and launching them where there is a device."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from compiler.ir.error import ArgumentError, DeviceError, UnavailableError
from compiler.ir.module import IRModule
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.runtime.arrays.marked_data import KERNELS_MARK, marked
from compiler.runtime.cuda.driver import why_no_driver
from compiler.runtime.modules.function import Function
from compiler.runtime.modules.launches import FunctionLaunches, Launches, NoLaunches, decode_launches, encode_launches
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import NativeCode
from compiler.runtime.modules.returned import Returned
from compiler.runtime.modules.signature import Signature

if TYPE_CHECKING:
    from compiler.target.target import Target

_DISASSEMBLED = ("sass",)
"""Texts of machine code, which a library does not hold beside it."""

Launcher: TypeAlias = Callable[[str, tuple[object, ...], Mapping[str, int]], None]
"""Runs a kernel, given its name, its arguments and its launch parameters."""


class KernelFunction(Function):
    """A kernel; the functions of the host launch it."""

    def __init__(self, module: DeviceModule, signature: Signature, code: Callable[[], NativeCode]) -> None:
        super().__init__(module, signature.name, lambda: signature, code)
        self._kernels = module

    def prepare(self, args: tuple[object, ...]) -> Callable[[], Returned]:
        launcher = self._kernels.launcher
        if launcher is None:
            self._code()
        func = self._kernels.kernels[self.name]
        axes = [str(axis) for axis in func.attrs.get("tir.kernel_launch_params", ())]
        count = len(args) - len(axes)
        extents = {axis: int(extent) for axis, extent in zip(axes, args[count:], strict=True)}  # type: ignore[call-overload]

        def run() -> None:
            assert launcher is not None
            launcher(self.name, args[:count], extents)

        return run

    def __repr__(self) -> str:
        return f"KernelFunction({self.name})"


class DeviceModule(Module):
    """Kernels for a kind of device.

    Parameters
    ----------
    kernels : IRModule
        The loop IR of the kernels, as the code was made of it.
    machine_code : callable, optional
        Returns what NVIDIA's driver loads for an architecture; what the files have by default.
    arch : str
        The architecture of NVIDIA's that the machine code among the files is for.
    """

    def __init__(
        self,
        kind: str,
        signatures: Sequence[Signature],
        sources: Mapping[str, Callable[[], str]],
        target: Target | str,
        kernels: IRModule,
        files: Mapping[str, Callable[[], bytes]] | None = None,
        launches: Callable[[], FunctionLaunches] | None = None,
        machine_code: Callable[[str], bytes] | None = None,
        arch: str = "",
    ) -> None:
        texts = {name: lambda make=make: make().encode() for name, make in sources.items()}
        files = {**texts, **(files or {})}
        super().__init__(signatures, self._explain, sources, None, target, files)
        self._kind = kind
        self.kernels = kernels
        # runs a kernel: takes its name, its arguments - addresses (``c_void_p``) and numbers - and the launch
        # parameters by name, such as ``blockIdx.x``.  None if no device is here
        self.launcher: Launcher | None = None
        self.launches = cache(launches or dict[str, Launches | NoLaunches])
        self.machine_code = machine_code or self._stored_code
        self._arch = arch
        self._functions = {s.name: KernelFunction(self, s, self._explain) for s in signatures}

    @property
    def type_key(self) -> str:
        return self._kind

    @property
    def is_runnable(self) -> bool:
        """Whether its kernels can be launched here."""
        return self.launcher is not None

    @property
    def is_binary_serializable(self) -> bool:
        """Whether it can be written into a host's library as data: always."""
        return True

    def stored_data(self) -> bytes:
        """Return the kernels as a library holds them: loop IR, sources, and files as far as tools for them are here."""
        files = {}
        for form, make in self._files.items():
            # Machine code takes NVIDIA's compilers; a library without it is complete nevertheless.
            with suppress(UnavailableError):
                if form not in _DISASSEMBLED:
                    files[form] = make()
        stored = _StoredKernels(
            kind=self._kind,
            target=str(self.target),
            signatures=[function.signature for function in self._functions.values()],
            sources=list(self._sources),
            files=files,
            program=save_json(self.kernels),
            arch=self._arch,
            launches=encode_launches(self.launches()),
        )
        return marked(KERNELS_MARK, msgspec.msgpack.encode(stored))

    def _stored_code(self, arch: str) -> bytes:
        """Return the machine code among the files where it runs on an architecture, else PTX for the driver."""
        if "cubin" in self._files and _runs_on(self._arch, arch):
            return self._files["cubin"]()
        if "ptx" in self._files:
            return self._files["ptx"]() + b"\0"
        raise UnavailableError(f"launch: the library has neither machine code for {arch} nor PTX")

    def _explain(self) -> NativeCode:
        why = f" ({why_no_driver()})" if self._kind == "cuda" and why_no_driver() else ""
        raise DeviceError(
            f"launch: this machine has no runtime for {self._kind} devices{why}; see the kernels with"
            f" imported_modules[0].get_source(), or build for target 'llvm' to run on the CPU"
        )


class _StoredKernels(msgspec.Struct, frozen=True, kw_only=True):
    """A module of kernels in a library; ``sources`` says which of the files are texts, the usual one first."""

    kind: str
    target: str
    signatures: list[Signature]
    sources: list[str]
    files: dict[str, bytes]
    program: str
    arch: str = ""
    launches: str = encode_launches({})


def _runs_on(built: str, arch: str) -> bool:
    """Return whether machine code for one architecture runs on another: of the same generation, and not older.

    References
    ----------
    CUDA C++ Programming Guide, "Binary Compatibility".
    """
    numbers = [re.fullmatch(r"sm_(\d+)(\d)", name) for name in (built, arch)]
    if numbers[0] is None or numbers[1] is None:
        return built == arch
    (generation, own), (other, there) = (match.groups() for match in numbers if match is not None)
    return generation == other and int(own) <= int(there)


def stored_kernels(content: bytes, path: str) -> DeviceModule:
    """Return the module of kernels that a library holds."""
    try:
        stored = msgspec.msgpack.decode(content, type=_StoredKernels)
    except msgspec.MsgspecError as error:
        raise ArgumentError(f"load_module: {path!r} is damaged: {error}") from None
    sources = {form: stored.files[form].decode for form in stored.sources if form in stored.files}
    files = {form: lambda data=data: data for form, data in stored.files.items()}
    program = load_json(stored.program)
    functions = program.functions.values() if isinstance(program, IRModule) else ()
    parameters = {str(f.attrs["global_symbol"]): [p.dtype for p in f.params] for f in functions}
    launches = decode_launches(stored.launches, parameters, path)
    return DeviceModule(
        stored.kind, stored.signatures, sources, stored.target, program, files, lambda: launches, arch=stored.arch
    )
