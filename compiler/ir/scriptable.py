"""``node.script(…)``: printing as TVMScript with TVM's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.ir.object_path import ObjectPath
from compiler.ir.printing.format import TextFormat, format_of

__all__ = ["PrinterConfig", "ScriptOptions", "Scriptable"]


@dataclass(frozen=True)
class ScriptOptions:
    """How something is written as a script, with the meaning that :meth:`Scriptable.script` describes."""

    name: str | None = None
    ir_prefix: str = "I"
    tir_prefix: str = "T"
    buffer_dtype: str = "float32"
    int_dtype: str = "int32"
    float_dtype: str = "void"
    verbose_expr: bool = False
    indent_spaces: int = 4
    print_line_numbers: bool = False
    num_context_lines: int | None = None
    syntax_sugar: bool = True
    show_object_address: bool = False
    path_to_underline: Sequence[ObjectPath] = ()
    path_to_annotate: Mapping[ObjectPath, str] = field(default_factory=dict)
    obj_to_underline: Sequence[object] = ()
    obj_to_annotate: Mapping[object, str] = field(default_factory=dict)


PrinterConfig = ScriptOptions
"""Their name in ``tvm.runtime.script_printer``."""


class Scriptable:
    """What an IR is made of, and modules: written as a script."""

    __slots__ = ()

    def script(
        self,
        *,
        name: str | None = None,
        show_meta: bool = False,
        ir_prefix: str = "I",
        tir_prefix: str = "T",
        relax_prefix: str = "R",
        module_alias: str = "cls",
        buffer_dtype: str = "float32",
        int_dtype: str = "int32",
        float_dtype: str = "void",
        verbose_expr: bool = False,
        indent_spaces: int = 4,
        print_line_numbers: bool = False,
        num_context_lines: int | None = None,
        syntax_sugar: bool = True,
        show_object_address: bool = False,
        show_all_struct_info: bool = True,
        path_to_underline: Sequence[ObjectPath] | None = None,
        path_to_annotate: Mapping[ObjectPath, str] | None = None,
        obj_to_underline: Sequence[object] | None = None,
        obj_to_annotate: Mapping[object, str] | None = None,
    ) -> str:
        """Return it as a script: TVMScript where it has loops, else the text format of its level.

        Parameters
        ----------
        name : str, optional
            What a function or module is called, instead of its own name.
        ir_prefix, tir_prefix : str
            What the words of modules and of loops are imported as.
        buffer_dtype, int_dtype, float_dtype : str
            The data types of buffers and constants that are left out.
        verbose_expr : bool
            Whether the variables of an expression are declared above it.
        num_context_lines : int, optional
            How many lines are shown around what is underlined; all of them where left out.
        syntax_sugar : bool
            Whether ``T.grid``, ``T.axis.remap``, annotated parameters and implied root blocks are written.
        show_object_address : bool
            Whether each name ends with the address of what it names.
        path_to_annotate : mapping of ObjectPath to str, optional
            Paths to the statements above which a comment is written.
        """
        options = ScriptOptions(
            name,
            ir_prefix,
            tir_prefix,
            buffer_dtype,
            int_dtype,
            float_dtype,
            verbose_expr,
            indent_spaces,
            print_line_numbers,
            num_context_lines,
            syntax_sugar,
            show_object_address,
            tuple(path_to_underline or ()),
            dict(path_to_annotate or {}),
            tuple(obj_to_underline or ()),
            dict(obj_to_annotate or {}),
        )
        return self._text_format().script(self, options)

    def _text_format(self) -> TextFormat:
        """Return the format that it is written in."""
        return format_of(self)

    def show(self, style: str | None = None, black_format: bool | None = None, **options: Any) -> None:
        """Print it as :meth:`script`, which takes the options, returns it; TVM's colours (``style``) are ignored."""
        print(self.script(**options))
