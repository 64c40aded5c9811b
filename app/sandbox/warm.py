"""LLVM warm-up in the zygote, which saves children the startup cost of targets and JIT."""

from __future__ import annotations

import llvmlite.binding as llvm_binding

_MODULE = """
define i32 @warm(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
"""


def llvm() -> None:
    """Parse, optimise, compile and link a small function.

    The assembly parser is registered too: without it, inline assembly aborts the process.
    """
    llvm_binding.initialize_all_targets()
    llvm_binding.initialize_all_asmprinters()
    llvm_binding.initialize_native_asmparser()
    machine = llvm_binding.Target.from_default_triple().create_target_machine(opt=3)
    module = llvm_binding.parse_assembly(_MODULE)
    module.verify()
    builder = llvm_binding.create_pass_builder(machine, llvm_binding.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    linker = llvm_binding.create_lljit_compiler(machine, use_jit_link=True)
    library = llvm_binding.JITLibraryBuilder().add_object_img(machine.emit_object(module))
    library.export_symbol("warm").link(linker, "warm")
