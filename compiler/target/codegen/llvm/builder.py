"""An instruction builder that prints the debug locations of all instructions, some of which llvmlite omits."""

from __future__ import annotations

from llvmlite import ir

from compiler.target.codegen.llvm.types import ScalableVectorType


class _InsertElement(ir.instructions.InsertElement):
    def descr(self, buf: list[str]) -> None:
        _located(self, buf)


class _ExtractElement(ir.instructions.ExtractElement):
    def descr(self, buf: list[str]) -> None:
        _located(self, buf)


def _located(instruction: ir.Instruction, buf: list[str]) -> None:
    operands = ", ".join(f"{op.type} {op.get_reference()}" for op in instruction.operands)
    buf.append(f"{instruction.opname} {operands}{instruction._stringify_metadata(leading_comma=True)}\n")


class Builder(ir.IRBuilder):
    """Builds instructions at the end of a block."""

    def _insert(self, instr: ir.Instruction) -> None:
        typ = instr.type
        if type(typ) is ir.VectorType and typ.count < 0:  # comparisons derive theirs from a count
            instr.type = ScalableVectorType(typ.element, typ.count)
        ir.IRBuilder._insert(self, instr)

    def insert_element(self, vector: ir.Value, value: ir.Value, idx: ir.Value, name: str = "") -> ir.Value:
        """Return ``vector`` with ``value`` at ``idx``."""
        instruction = _InsertElement(self.block, vector, value, idx, name=name)
        self._insert(instruction)
        return instruction

    def extract_element(self, vector: ir.Value, idx: ir.Value, name: str = "") -> ir.Value:
        """Return the element of ``vector`` at ``idx``."""
        instruction = _ExtractElement(self.block, vector, idx, name=name)
        self._insert(instruction)
        return instruction
