"""Operators of tensor cores, as schedules of GPUs write them: nothing runs them here, texts and passes know them."""

from __future__ import annotations

from compiler.ir.op import CallEffect, register_op

__all__: list[str] = []

for _name, _doc in {
    "tvm_fill_fragment": "Fills a fragment of a matrix with a value.",
    "tvm_load_matrix_sync": "Loads a fragment of a matrix.",
    "tvm_mma_sync": "Multiplies two fragments and adds the product to a third one.",
    "tvm_bmma_sync": "Multiplies two fragments of bits and adds the product to a third one.",
    "tvm_store_matrix_sync": "Stores a fragment of a matrix.",
    "ptx_mma": "Multiplies matrices by an instruction of PTX.",
    "ptx_ldmatrix": "Loads matrices by an instruction of PTX.",
    "mma_fill": "Fills the fragment of an accumulator with zeros.",
    "mma_store": "Stores the fragment of an accumulator.",
}.items():
    register_op(f"tir.{_name}", effect=CallEffect.UPDATE_STATE, doc=_doc)
