"""Reads whole texts: type definitions, functions, the metadata section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.relay.adt import Constructor, TypeData
from compiler.relay.parser.expressions import ExpressionParser
from compiler.relay.parser.lexer import Cursor, split_metadata
from compiler.relay.text_metadata import read_metadata
from compiler.relay.ty import GlobalTypeVar

_TYPE_WORDS = ("type", "extern")


class Program(ExpressionParser):
    """Reads a text.

    ``constants`` are by the kind of node those that ``meta[kind][index]`` stands for where the text has no metadata
    section.
    """

    def __init__(
        self,
        source: str,
        init_module: IRModule | None,
        constants: Mapping[str, Sequence[Any]] | None = None,
        replace: bool = False,
    ) -> None:
        program, metadata = split_metadata(source)
        super().__init__(Cursor(program), metadata=read_metadata(metadata) if metadata else constants)
        self._replaced = set(init_module.functions) if init_module is not None and replace else set()
        self._module = init_module.shallow_copy() if init_module is not None else IRModule()
        for var in self._module.functions:
            self.global_vars[var.name_hint] = var
        for header, data in self._module.type_definitions.items():
            self.global_types[header.name_hint] = header
            self.constructors.update({c.name_hint: c for c in data.constructors})

    def read(self) -> Any:
        """Return the module, or the expression if the text defines nothing."""
        if not any(map(self.cursor.at, ("def", *_TYPE_WORDS))):
            return self.block("")
        self._read_types()
        self.cursor.index = 0
        while self.cursor.token.kind != "end":
            if any(map(self.cursor.at, _TYPE_WORDS)):
                self._skip()
            elif self.cursor.accept("def"):
                self._definition()
            else:
                self.cursor.wrong("'def', 'type' or 'extern type'")
        for name, token in self.global_uses.items():
            if name not in self._module:
                self.cursor.fail(f"no function is named @{name}", token)
        return self._module

    def _read_types(self) -> None:
        """Read all definitions of types, which may use each other, before the functions."""
        cursor = self.cursor
        starts = [
            index
            for index, token in enumerate(cursor.tokens)
            if token.text == "type" and token.kind == "name" and cursor.tokens[index + 1].kind == "name"
        ]
        for index in starts:
            token = cursor.tokens[index + 1]
            name = token.text
            if name in self.global_types:
                cursor.fail(f"type {name} is defined twice", token)
            self.global_types[name] = GlobalTypeVar(name)
        for index in starts:
            cursor.index = index + 1
            self._type_definition(extern=index > 0 and cursor.tokens[index - 1].text == "extern")

    def _type_definition(self, extern: bool) -> None:
        header = self.global_types[self.cursor.take().text]
        variables = self.type_parameters()
        constructors: list[Constructor] = []
        if not extern:
            self.cursor.expect("{")
            constructors = self._items("}", lambda: self._constructor(header))
        self.close_types()
        data = TypeData(header, variables, tuple(constructors))
        self._module.type_definitions[header] = data

    def _constructor(self, header: GlobalTypeVar) -> Constructor:
        token = self.cursor.expect_kind("name", "the name of a constructor")
        name = token.text
        if name in self.constructors:
            self.cursor.fail(f"constructor {name} is defined twice", token)
        inputs = self.types("(", ")") if self.cursor.at("(") else []
        constructor = self.constructors[name] = Constructor(name, tuple(inputs), header)
        return constructor

    def _skip(self) -> None:
        """Go on behind a definition that was read before."""
        extern = self.cursor.accept("extern")
        self.cursor.expect("type")
        self.cursor.expect_kind("name", "the name of a type")
        last = "}" if not extern else "]" if self.cursor.at("[") else None
        while last is not None and not self.cursor.accept(last):
            self.cursor.take()

    def _definition(self) -> None:
        token = self.cursor.expect_kind("global", "the name of a function such as @main")
        name = token.text[1:]
        var = self.global_vars.setdefault(name, GlobalVar(name))
        if var in self._module.functions and var not in self._replaced:
            self.cursor.fail(f"function @{name} is defined twice", token)
        self._module.functions[var] = self.function()
