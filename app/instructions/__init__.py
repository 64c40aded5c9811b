"""What instructions do: x86-64, AArch64, RISC-V, WebAssembly, PTX, SASS and LLVM IR.

Each instruction set is a file of data: patterns of names with a sentence, in our own words.
"""

from app.instructions.tips import SETS, Tip, describe_instructions, has_instructions, meaning_of, set_of, tip_of

__all__ = ["SETS", "Tip", "describe_instructions", "has_instructions", "meaning_of", "set_of", "tip_of"]
