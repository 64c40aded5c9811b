"""Control-flow graphs of printed LLVM IR and assembly: basic blocks, edges and loops.

Dominators after Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001); loops are natural loops: a
back edge leads to a block that dominates its source (Aho, Lam, Sethi and Ullman, "Compilers", section 9.6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from compiler.target.instruction_kinds import INSTRUCTION, architecture_of, instruction_kind

JumpKind = Literal["true", "false", "next", "case"]
"""The kinds of edges: a condition that holds or not, unconditional, or a case of a switch."""


@dataclass(frozen=True, slots=True)
class Jump:
    """An edge of a control-flow graph: ``"true"`` or ``"false"`` of a branch, ``"next"``, or ``"case"`` of a switch."""

    target: int
    kind: JumpKind
    back: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block.

    Attributes
    ----------
    name : str
        Its label; an unlabelled block has the name of the preceding one with a ``+``.
    first, last : int
        The numbers of its first and last line.
    hot : bool
        Whether it is in the hot loop of its function, the most deeply nested loop with the most products, or else with
        the most instructions.
    products : int
        Multiplications of floating-point numbers and of vectors, most of which are part of a multiply-add.
    """

    name: str
    first: int
    last: int
    instructions: int
    jumps: tuple[Jump, ...] = ()
    depth: int = 0
    hot: bool = False
    products: int = 0


@dataclass(frozen=True, slots=True)
class FlowGraph:
    """The control-flow graph of a function; blocks are in the order of the text, the entry first."""

    function: str
    blocks: tuple[Block, ...]

    @property
    def depth(self) -> int:
        """The maximum loop depth."""
        return max((block.depth for block in self.blocks), default=0)

    @property
    def hot_lines(self) -> list[int]:
        """The line numbers of its hot loop."""
        return [line for block in self.blocks if block.hot for line in range(block.first, block.last + 1)]


@dataclass(slots=True)
class _Open:
    """A block during parsing, with the labels of its successors."""

    name: str
    first: int
    last: int
    instructions: int = 0
    products: int = 0
    targets: list[tuple[str, JumpKind]] = field(default_factory=list)
    falls: JumpKind | None = "next"
    """The kind of the edge to the following block; None if it does not fall through."""
    labels: list[str] = field(default_factory=list)
    """Further labels of the block."""


def control_flow(lines: Sequence[str], language: str) -> list[FlowGraph]:
    """Build the control-flow graphs of functions, in their order.

    The lines are LLVM IR, or assembly of x86-64, AArch64 or RISC-V, as printed by LLVM; other languages and structured
    assembly such as WebAssembly have none.
    """
    if language == "llvm":
        functions = _llvm_functions(lines)
    elif language == "gas":
        functions = _assembly_functions(lines)
    else:
        return []
    return [_graph(name, blocks) for name, blocks in functions if blocks]


def hot_loop(graphs: Sequence[FlowGraph]) -> FlowGraph | None:
    """Return the function whose hot loop multiplies, else is most deeply nested, else has most instructions, or None.

    A convolution's padding may be nested more deeply than its sums, whose loops over a window are unrolled.
    """

    def rank(graph: FlowGraph) -> tuple[bool, int, int]:
        hot = [block for block in graph.blocks if block.hot]
        return any(block.products for block in hot), graph.depth, sum(block.instructions for block in hot)

    return max((graph for graph in graphs if graph.depth), key=rank, default=None)


# LLVM IR

_NAME = r'(?:[-$.\w]+|"[^"]*")'
_DEFINE = re.compile(rf"define\b.*?@({_NAME})\(")
_LLVM_LABEL = re.compile(rf"({_NAME}):")
_LABELS = re.compile(rf"label %({_NAME})")
_PRODUCT = re.compile(r"= fmul |@llvm\.(?:fma|fmuladd|x86\.\S*dp\w*|aarch64\.neon\.\w*(?:dot|mmla))\.|= mul (?:\w+ )*<")


def _llvm_functions(lines: Sequence[str]) -> Iterator[tuple[str, list[_Open]]]:
    name, blocks = "", list[_Open]()
    for number, line in enumerate(lines):
        if not name:
            match = _DEFINE.match(line)
            name = match[1].strip('"') if match else ""
        elif line.startswith("}"):
            yield name, blocks
            name, blocks = "", []
        elif match := _LLVM_LABEL.match(line):
            blocks.append(_Open(match[1].strip('"'), number, number))
        elif line.strip():
            if not blocks:
                blocks.append(_Open("entry", number, number))
            _llvm_instruction(blocks[-1], line.strip(), number)


def _llvm_instruction(block: _Open, text: str, number: int) -> None:
    """Parse a line of a block; the cases of a switch are on separate lines."""
    block.last = number
    block.products += bool(_PRODUCT.search(text))
    block.instructions += text not in ("]", "[") and not text.startswith((";", "i32 ", "i64 ", "i8 ", "i1 "))
    targets = [label.strip('"') for label in _LABELS.findall(text)]
    if targets:
        kinds: tuple[JumpKind, ...] = ("true", "false") if text.startswith("br i1") else ("next",)
        cases = text.startswith(("switch", "i", "]")) or len(targets) > len(kinds)
        block.targets += [(label, "case" if cases else kinds[at]) for at, label in enumerate(targets)]
    block.falls = None


# Assembly

_LABEL = re.compile(r"([.\w$@]+):")
_INSTRUCTION = re.compile(INSTRUCTION + r"\s*(.*)")
_JUMPS = {
    "x86_64": (re.compile(r"jmp[lq]?"), re.compile(r"j\w+|loopn?e?"), re.compile(r"ret[lq]?|ud2|hlt")),
    "aarch64": (re.compile(r"b"), re.compile(r"b\.\w+|[ct]bn?z"), re.compile(r"ret|br|brk|udf")),
    "riscv64": (re.compile(r"j"), re.compile(r"b(?:eq|ne|lt|ge|gt|le)u?z?"), re.compile(r"ret|jr|tail|unimp|ebreak")),
}
"""Mnemonics of unconditional branches, conditional branches and returns, by architecture."""
_MULTIPLIES = re.compile(r"v?mul[ps][sdh]|vpmul\w+|pmul\w+|v?pmadd\w+|n?fmul\w*|v?fw?mul\S*|[su]mull2?|vw?mul\S*")
_COMMENT = re.compile(r"\s*(?:#|//).*")


def _assembly_functions(lines: Sequence[str]) -> Iterator[tuple[str, list[_Open]]]:
    architecture = architecture_of("\n".join(lines))
    if architecture not in _JUMPS:
        return
    name, blocks = "", list[_Open]()
    for number, line in enumerate(lines):
        label = _LABEL.match(line)
        if label and not label[1].startswith((".L", "L")):
            yield name, _with_code(blocks)
            name, blocks = label[1], []
        if not name:
            continue
        if label:
            blocks.append(_Open(label[1], number, number))
        elif instruction := _INSTRUCTION.match(_COMMENT.sub("", line)):
            _assembly_instruction(blocks, (instruction[1], instruction[2]), number, architecture)
    yield name, _with_code(blocks)


def _assembly_instruction(blocks: list[_Open], instruction: tuple[str, str], number: int, architecture: str) -> None:
    """Add an instruction to the last block, or to a new one after a branch."""
    if blocks[-1].targets or blocks[-1].falls is None:
        blocks.append(_Open(f"{blocks[-1].name}+", number, number))
    block, (mnemonic, operands) = blocks[-1], instruction
    block.last = number
    block.instructions += 1
    block.products += instruction_kind(mnemonic, architecture) == "fma" or bool(_MULTIPLIES.fullmatch(mnemonic))
    always, sometimes, ends = _JUMPS[architecture]
    target = re.split(r"[\s,]+", operands.strip())[-1]
    if always.fullmatch(mnemonic):
        block.targets, block.falls = [(target, "next")], None
    elif ends.fullmatch(mnemonic):
        block.falls = None
    elif sometimes.fullmatch(mnemonic):
        block.targets, block.falls = [(target, "true")], "false"


def _with_code(blocks: Sequence[_Open]) -> list[_Open]:
    """Drop blocks without code; branches to an empty block are redirected to the following one."""
    coded, labels = list[_Open](), list[str]()
    for block in blocks:
        if block.instructions:
            block.labels = [*labels, *block.labels]
            coded.append(block)
        labels = [] if block.instructions else [*labels, block.name]
    return coded


# Graphs


def _graph(name: str, blocks: Sequence[_Open]) -> FlowGraph:
    jumps = _edges(blocks)
    successors = [[jump.target for jump in row] for row in jumps]
    dominators = _dominators(successors)
    loops: dict[int, set[int]] = {}
    for source, row in enumerate(successors):
        for target in row:
            if _dominates(target, source, dominators):
                loops.setdefault(target, {target}).update(_natural_loop(target, source, successors))
    depth = [sum(block in loop for loop in loops.values()) for block in range(len(blocks))]
    hot = _hottest(list(loops.values()), depth, blocks)
    return FlowGraph(
        name,
        tuple(
            Block(
                block.name,
                block.first,
                block.last,
                block.instructions,
                tuple(replace(jump, back=_dominates(jump.target, index, dominators)) for jump in row),
                depth[index],
                index in hot,
                block.products,
            )
            for index, (block, row) in enumerate(zip(blocks, jumps, strict=True))
        ),
    )


def _edges(blocks: Sequence[_Open]) -> list[list[Jump]]:
    """Return the successors of each block; function exits have none."""
    position = {label: index for index, block in enumerate(blocks) for label in (block.name, *block.labels)}
    rows = []
    for index, block in enumerate(blocks):
        row = [Jump(position[label], kind) for label, kind in block.targets if label in position]
        if block.falls is not None and index + 1 < len(blocks):
            row.append(Jump(index + 1, block.falls))
        rows.append(list(dict.fromkeys(row)))
    return rows


def _postorder(successors: Sequence[Sequence[int]]) -> list[int]:
    """Return the reachable blocks in postorder."""
    order, seen, todo = list[int](), {0}, [(0, iter(successors[0]))]
    while todo:
        rest = todo[-1][1]
        following = next((target for target in rest if target not in seen), None)
        if following is None:
            order.append(todo.pop()[0])
        else:
            seen.add(following)
            todo.append((following, iter(successors[following])))
    return order


def _dominators(successors: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the immediate dominator of each reachable block; the entry is its own."""
    order = _postorder(successors)
    rank = {block: number for number, block in enumerate(order)}
    sources: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for target in successors[block]:
            sources[target].append(block)
    dominator = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            visited = [source for source in sources[block] if source in dominator]
            nearest = visited[0]
            for source in visited[1:]:
                nearest = _common(nearest, source, dominator, rank)
            changed |= dominator.get(block) != nearest
            dominator[block] = nearest
    return dominator


def _common(one: int, other: int, dominator: dict[int, int], rank: dict[int, int]) -> int:
    while one != other:
        while rank[one] < rank[other]:
            one = dominator[one]
        while rank[other] < rank[one]:
            other = dominator[other]
    return one


def _dominates(block: int, other: int, dominator: dict[int, int]) -> bool:
    if other not in dominator or block not in dominator:
        return False
    while other != block and dominator[other] != other:
        other = dominator[other]
    return other == block


def _natural_loop(head: int, source: int, successors: Sequence[Sequence[int]]) -> set[int]:
    """Return the natural loop of a back edge."""
    sources: list[list[int]] = [[] for _ in successors]
    for block, row in enumerate(successors):
        for target in row:
            sources[target].append(block)
    loop, todo = {head}, [source]
    while todo:
        block = todo.pop()
        if block not in loop:
            loop.add(block)
            todo += sources[block]
    return loop


def _hottest(loops: Sequence[set[int]], depth: Sequence[int], blocks: Sequence[_Open]) -> set[int]:
    """Return the most deeply nested loop with the most products, or else instructions; empty if there are no loops."""

    def weight(loop: set[int]) -> tuple[int, int, int]:
        inside = [blocks[block] for block in loop]
        deepest = min(depth[block] for block in loop)
        return deepest, sum(block.products for block in inside), sum(block.instructions for block in inside)

    return max(loops, key=weight, default=set())
