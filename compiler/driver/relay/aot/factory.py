"""A model compiled for the ahead-of-time executor: its main function and its kernels as one module."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import msgspec

from compiler.driver.narrow_floats import legalize_narrow_floats
from compiler.driver.relay.aot.main_function import MainFunction, main_function
from compiler.driver.relay.graph import GraphProgram
from compiler.driver.relay.lower import LoweredKernel
from compiler.driver.relay.memory import MemoryPlan
from compiler.driver.relay.metadata import ExecutorCodegenMetadata, FunctionInfo, function_metadata, main_info
from compiler.driver.relay.options import Executor, Runtime, mangle_module_name
from compiler.ir.error import BuildError
from compiler.ir.function import BaseFunc
from compiler.ir.module import IRModule
from compiler.runtime.arrays.marked_data import PARAMS_MARK, marked
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.arrays.params import save_param_dict
from compiler.runtime.graph.aot_executor import AotInterface, AotLibrary
from compiler.runtime.graph.executor_factory import ExecutorFactoryModule
from compiler.runtime.modules.linking import library_content
from compiler.runtime.modules.module import ENTRY, Module
from compiler.target.codegen import llvm
from compiler.target.codegen.source import LANGUAGES, SourceCode, source_code, source_module
from compiler.target.codegen.source.c_program import WEIGHTS_FILE, c_header, c_main
from compiler.target.codegen.source.runtime_module import source_description, source_library
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc


class CompiledModel:
    """What a model has become before code is generated."""

    def __init__(
        self, module: IRModule, program: GraphProgram, memory: MemoryPlan, kernels: list[LoweredKernel | None]
    ) -> None:
        self.module = module
        self.program = program
        self.memory = memory
        self.calls = kernels
        self.kernels = {kernel.name: kernel for kernel in kernels if kernel is not None}


def require_interface(executor: Executor, runtime: Runtime) -> None:
    """Reject an interface that a runtime does not have."""
    interface, unpacked = executor.options.get("interface-api", "packed"), executor.options.get("unpacked-api", False)
    if runtime.name == "cpp" and (interface != "packed" or unpacked):
        raise BuildError(
            f"relay.build: Need unpacked-api == false (got: {int(unpacked)}) and "
            f'interface-api == "packed" (got: {interface}) when targeting c++ runtime'
        )
    if interface == "c" and not unpacked:
        raise BuildError(
            'relay.build: Either need interface_api == "packed" (got: c) or unpacked-api == true (got: 0) when '
            "targeting c runtime"
        )


class AOTExecutorFactoryModule(AotLibrary, ExecutorFactoryModule):
    """What :func:`relay.build` returns for ``Executor("aot")``; ``lib[libmod_name](dev)`` makes an executor.

    ``main`` is the function that calls the kernels, with names and sizes; ``lowered_ir_mods`` has it as
    ``__tvm_main__``, and the kernels.
    """

    def __init__(
        self,
        ir_mod: IRModule,
        model: CompiledModel,
        target: Target,
        executor: Executor,
        runtime: Runtime,
        libmod_name: str,
    ) -> None:
        symbol = f"{mangle_module_name(libmod_name)}_{ENTRY}"
        self.main: MainFunction = main_function(model.program, model.memory, model.calls, symbol, target)
        code = legalize_narrow_floats(self.main.module, rounds_each=True)
        self._generated: llvm.GeneratedModule | SourceCode = (
            source_code(code, target.kind) if target.kind in LANGUAGES else llvm.codegen(code, target)
        )
        constants: dict[str, NDArray] = dict(
            zip(self.main.constants, (value for _, value in model.program.constants), strict=True)
        )
        interface = AotInterface(
            main=symbol,
            inputs=self.main.inputs,
            constants=self.main.constants,
            outputs=self.main.outputs,
            dtypes=_taken_as_bits(self.main.function, code[ENTRY]),
        )
        library = (
            source_module(self._generated, target)
            if isinstance(self._generated, SourceCode)
            else llvm.runtime_module(self._generated)
        )
        super().__init__(library, interface, constants, libmod_name)
        self.ir_mod = ir_mod
        self.model = model
        self.target = target
        self.executor = executor
        self.runtime = runtime
        self.params = constants
        self.devices: list[str] = []
        self.lowered_ir_mods = {target: self.main.module}
        self.function_metadata: dict[str, FunctionInfo] = function_metadata(self._main_info(), model.kernels, target)
        self.executor_codegen_metadata = self._metadata()

    def _main_info(self) -> FunctionInfo:
        program = self.model.program
        values = [*(value for _, value in program.inputs), *program.outputs]
        constants = sum(int(value.view().nbytes) for value in self.constants.values())
        return main_info(
            self.main.workspace,
            [program.types[value] for value in values],
            constants,
            (self.target, self.model.module["main"], self.main.function),
        )

    def _metadata(self) -> ExecutorCodegenMetadata:
        program, options = self.model.program, self.executor.options
        return ExecutorCodegenMetadata(
            mod_name=self.libmod_name,
            executor=self.executor.name,
            interface_api=str(options.get("interface-api", "packed")),
            unpacked_api=bool(options.get("unpacked-api", False)),
            inputs=self.main.inputs,
            outputs=self.main.outputs,
            input_tensor_types=[program.types[value] for _, value in program.inputs],
            output_tensor_types=[program.types[value] for value in program.outputs],
            workspace_alignment=int(options.get("workspace-byte-alignment", 16)),
            constant_alignment=int(options.get("constant-byte-alignment", 16)),
        )

    @property
    def module(self) -> IRModule:
        """The graph after all passes."""
        return self.model.module

    def get_params(self) -> dict[str, NDArray]:
        """Return the constants by name."""
        return self.params

    def get_executor_config(self) -> None:
        """Return nothing: the main function itself says what is run."""
        return

    def get_devices(self) -> list[str]:
        """Return the names of devices other than the CPU, of which there is none."""
        return self.devices

    def exported(self, file_name: str) -> bytes:
        """Return what ``export_library`` writes: the main function, the kernels and the constants.

        A model for ``c`` is also a source file, ``.c``, whose program gets its constants as arguments.
        """
        params = marked(PARAMS_MARK, bytes(save_param_dict(self.constants)))
        if not isinstance(self._generated, SourceCode):
            description = llvm.described(self.target, self._generated.signatures, model=self.libmod_name)
            description = msgspec.structs.replace(description, aot=self.interface)
            code = llvm.linked_object_code([(self._generated, {})], description)
            return library_content(code, file_name, params)
        if file_name.endswith(".c"):
            return self.lib.exported(file_name)
        description = source_description(self._generated, self.target)
        description = msgspec.structs.replace(description, aot=self.interface, model=self.libmod_name)
        return source_library(self._generated, description, file_name, params)

    def write_program(self, folder: str | PathLike[str]) -> list[str]:
        """Write the model as a program of C: ``model.c`` with its header, its weights, and a main program.

        ``cc -O2 -fwrapv model.c main.c -lm`` makes a program that times the model for random inputs.  Its memory is
        planned: there are neither calls of an allocator nor other libraries than that of mathematical functions. Raises
        BuildError if the model was built for another target than ``c``.
        """
        if not isinstance(self._generated, SourceCode):
            raise BuildError(f"write_program: only a model for 'c' is a program of C, not for {self.target.kind}")
        files = {
            "model.c": self._generated.text.encode(),
            "model.h": c_header(self._generated).encode(),
            "main.c": c_main(self._generated, "model.h", self.main.constants).encode(),
            WEIGHTS_FILE: b"".join(self.constants[name].view().tobytes() for name in self.main.constants),
        }
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        return list(files)

    def __iter__(self) -> Iterator[IRModule | Module | dict[str, NDArray]]:
        return iter((self.ir_mod, self.lib, self.params))


def _taken_as_bits(function: PrimFunc, legalized: BaseFunc) -> dict[str, str]:
    """Return the data types of the arrays, by name, for which machine code has no type of its own."""
    assert isinstance(legalized, PrimFunc), "a pass returns functions of the same kind"
    pairs = zip(function.buffer_map.values(), legalized.buffer_map.values(), strict=True)
    return {buffer.name: buffer.dtype for buffer, other in pairs if buffer.dtype != other.dtype}
