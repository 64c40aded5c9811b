"""Debug locations: each instruction refers to its position in the printed loop IR.

They are line tables only, without types and variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from llvmlite import ir

from compiler.ir.node import Node
from compiler.target.codegen.llvm.types import I32

Place: TypeAlias = tuple[int, int]
"""Line and column in the printed loop IR, both 1-based."""

NOWHERE: Place = (0, 0)

MAX_COLUMN = 0xFFFF
"""LLVM stores columns in 16 bits; larger ones are replaced by 0, which means unknown."""


class DebugLocations:
    """Writes debug metadata into one LLVM module."""

    def __init__(self, module: ir.Module, positions: Mapping[Node, Place]) -> None:
        self._module = module
        self._positions = positions
        self._locations: dict[tuple[int, int, int], ir.DIValue] = {}
        self._file = module.add_debug_info("DIFile", {"filename": "main.tir", "directory": ""})
        self._unit = module.add_debug_info(
            "DICompileUnit",
            {
                "language": ir.DIToken("DW_LANG_C"),
                "file": self._file,
                "producer": "strata",
                "runtimeVersion": 0,
                "isOptimized": True,
                "emissionKind": ir.DIToken("LineTablesOnly"),
            },
            is_distinct=True,
        )
        module.add_named_metadata("llvm.dbg.cu", self._unit)
        flag = ir.Constant(I32, 2)
        for name, value in (("Dwarf Version", 4), ("Debug Info Version", 3)):
            module.add_named_metadata("llvm.module.flags", [flag, name, ir.Constant(I32, value)])

    def subprogram(self, function: ir.Function) -> ir.DIValue:
        """Attach a new ``DISubprogram`` to a function and return it."""
        kind = self._module.add_debug_info("DISubroutineType", {"types": self._module.add_metadata([])})
        scope = self._module.add_debug_info(
            "DISubprogram",
            {
                "name": function.name,
                "file": self._file,
                "line": 1,
                "type": kind,
                "isLocal": False,
                "isDefinition": True,
                "isOptimized": True,
                "unit": self._unit,
            },
            is_distinct=True,
        )
        function.set_metadata("dbg", scope)
        return scope

    def place(self, n: Node) -> Place:
        """Return the position of a printed node, or :data:`NOWHERE`."""
        return self._positions.get(n, NOWHERE)

    def location(self, scope: ir.DIValue, place: Place) -> ir.DIValue:
        """Return the debug location of a position within a function."""
        line, column = place
        column = column if column <= MAX_COLUMN else 0
        key = (id(scope), line, column)
        location = self._locations.get(key)
        if location is None:
            fields = {"line": line, "column": column, "scope": scope}
            location = self._locations[key] = self._module.add_debug_info("DILocation", fields)
        return location


class Locator:
    """Tracks the source position of the next instruction of a function; without ``debug``, no locations are emitted."""

    def __init__(self, debug: DebugLocations | None, function: ir.Function, builder: ir.IRBuilder) -> None:
        self._debug = debug
        self._builder = builder
        self._line = 0
        if debug is not None:
            self._scope = debug.subprogram(function)
            self._set(debug, NOWHERE)

    def _set(self, debug: DebugLocations, place: Place) -> None:
        self._builder.debug_metadata = debug.location(self._scope, place)

    def statement(self, n: Node) -> None:
        """Set the position to that of a statement."""
        if self._debug is not None:
            place = self._debug.place(n)
            self._line = place[0]
            self._set(self._debug, place)

    def enter(self, n: Node) -> ir.DIValue | None:
        """Set the position to that of an expression; return the argument of the matching :meth:`leave`.

        A node that several lines share may have been printed elsewhere first; then the position of the statement is
        kept, as it is closer.
        """
        before = self._builder.debug_metadata
        if self._debug is not None:
            place = self._debug.place(n)
            if place[0] == self._line != 0:
                self._set(self._debug, place)
        return before

    def leave(self, before: ir.DIValue | None) -> None:
        """Restore the position before the matching :meth:`enter`."""
        self._builder.debug_metadata = before
