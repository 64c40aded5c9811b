"""Drawings of control-flow graphs: blocks in layers, back edges along the left side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.artifacts import Drawing, GraphEdge, GraphNode, Listing
from app.errors import NotFound
from app.graphs.drawings import edge_path
from app.graphs.layout import LETTER, NODE_HEIGHT, SMALL_LETTER, Position, lay_out
from app.panes.names import elided
from compiler.target.control_flow import Block, FlowGraph, Jump, control_flow, hot_loop

MAX_LINES = 30_000
"""Maximum number of lines of a listing."""
MAX_BLOCKS = 800
"""Maximum number of blocks of a function."""
MAX_ORIGINS = 400
"""Maximum number of origins of a block."""
MAX_NAME = 28
"""Maximum length of a block name."""
LANE = 13.0
"""Pixels between parallel back edges."""
MARGIN = 16.0
"""Pixels around the drawing."""
_WORDS = {"true": "true", "false": "false", "case": "case", "next": ""}


@dataclass(frozen=True)
class DrawnBlock:
    """A basic block with its position."""

    block: Block
    position: Position
    origins: list[int]
    successors: list[str]
    """Description of the successors."""

    @property
    def label(self) -> str:
        """The name, truncated to the box."""
        return _shown(self.block.name)

    @property
    def second_line(self) -> str:
        """The number of instructions."""
        return _instructions(self.block)

    @property
    def description(self) -> str:
        """The text for screen readers."""
        block = self.block
        loops = f"in {block.depth} loop{'s' * (block.depth > 1)}" if block.depth else "in no loop"
        words = [f"Block {block.name}", _instructions(block), loops, "hot loop" if block.hot else ""]
        return ", ".join([*filter(None, words), *(self.successors or ["leaves the function"])])


@dataclass(frozen=True)
class DrawnJump:
    """A jump as a path, with the position of its condition."""

    jump: Jump
    path: str
    label: str
    x: float
    y: float


@dataclass(frozen=True)
class DrawnFlow:
    """The control-flow graph of a function of a listing."""

    listing: Listing
    graph: FlowGraph
    functions: list[str]
    """Names of all functions of the listing."""
    blocks: list[DrawnBlock]
    jumps: list[DrawnJump]
    left: float
    """Left end of the drawing; back edges are left of the blocks."""
    width: float
    height: float

    @property
    def facts(self) -> list[str]:
        """The words of the title."""
        loops = len({jump.target for block in self.graph.blocks for jump in block.jumps if jump.back})
        hot = sum(block.instructions for block in self.graph.blocks if block.hot)
        nested = f"{loops} loop{'s' * (loops > 1)}, {self.graph.depth} deep" if loops else "no loop"
        words = [_count(len(self.blocks), "block"), nested]
        return [*words, f"hot loop {_count(hot, 'instruction')}"] if hot else words


def draw_flow(listing: Listing, function: str = "") -> DrawnFlow | None:
    """Draw the control-flow graph of a function.

    Parameters
    ----------
    listing : Listing
        LLVM IR or assembly.
    function : str
        By default, and for unknown names, the function with the deepest loop.

    Returns
    -------
    DrawnFlow, optional
        None if the listing has no functions with known jumps.

    Raises
    ------
    NotFound
        If the listing or the function is too long to draw.
    """
    if len(listing.lines) > MAX_LINES:
        raise NotFound(
            f"control flow is drawn for at most {MAX_LINES:,} lines, this listing has {len(listing.lines):,}"
        )
    graphs = control_flow([line.text for line in listing.lines], listing.language)
    if not graphs:
        return None
    named = next((graph for graph in graphs if graph.function == function), None)
    graph = named or hot_loop(graphs) or max(graphs, key=lambda graph: len(graph.blocks))
    if len(graph.blocks) > MAX_BLOCKS:
        raise NotFound(f"{graph.function} has {len(graph.blocks):,} blocks; at most {MAX_BLOCKS:,} are drawn")
    return _drawn(listing, graph, [graph.function for graph in graphs])


def _drawn(listing: Listing, graph: FlowGraph, functions: list[str]) -> DrawnFlow:
    order, forward = _in_order(graph)
    layout = lay_out(_skeleton(graph, order, forward), [_width(graph.blocks[at]) for at in order])
    place = {block: layout.positions[index] for index, block in enumerate(order)}
    back = sorted(_backward(graph, forward), key=lambda edge: abs(edge[0] - edge[1].target))
    room = MARGIN + LANE * len(back)
    jumps = [_forward_jump(jump, route) for (_, jump), route in zip(forward, layout.routes, strict=True)]
    for lane, (source, jump) in enumerate(reversed(back)):
        x = LANE * lane + MARGIN / 2 - room
        jumps.append(_backward_jump(jump, place[source], place[jump.target], x))
    blocks = [_drawn_block(listing, graph, at, place[at]) for at in range(len(graph.blocks))]
    return DrawnFlow(listing, graph, functions, blocks, jumps, -room, layout.width + room + MARGIN, layout.height)


Edge = tuple[int, Jump]
"""A jump, with the index of its target block."""


def _in_order(graph: FlowGraph) -> tuple[list[int], list[Edge]]:
    """Return the blocks in topological order of the forward edges, and the forward edges."""
    rows = [block.jumps for block in graph.blocks]
    order: list[int] = []
    state = [0] * len(rows)  # 1 while its successors are being visited, 2 afterwards
    forward: list[Edge] = []
    for root in range(len(rows)):
        todo = [(root, iter(rows[root]))] if not state[root] else []
        state[root] = state[root] or 1
        while todo:
            block, rest = todo[-1]
            jump = next(rest, None)
            if jump is None:
                state[block] = 2
                order.append(todo.pop()[0])
                continue
            if state[jump.target] != 1:
                forward.append((block, jump))
            if not state[jump.target]:
                state[jump.target] = 1
                todo.append((jump.target, iter(rows[jump.target])))
    return order[::-1], forward


def _backward(graph: FlowGraph, forward: Sequence[Edge]) -> list[Edge]:
    onwards = set(forward)
    return [(at, jump) for at, block in enumerate(graph.blocks) for jump in block.jumps if (at, jump) not in onwards]


def _skeleton(graph: FlowGraph, order: Sequence[int], forward: Sequence[Edge]) -> Drawing:
    """Return the blocks and forward edges as an acyclic graph, with the entry as its input."""
    number = {block: index for index, block in enumerate(order)}
    nodes = [
        GraphNode(key=str(at), label=graph.blocks[at].name, kind="operator" if index else "input")
        for index, at in enumerate(order)
    ]
    edges = [GraphEdge(number[source], number[jump.target]) for source, jump in forward]
    return Drawing(key="", name=graph.function, nodes=nodes, edges=edges)


def _width(block: Block) -> float:
    return max(72.0, 22.0 + max(len(_shown(block.name)) * LETTER, len(_instructions(block)) * SMALL_LETTER))


def _shown(name: str) -> str:
    return elided(name, MAX_NAME)


def _instructions(block: Block) -> str:
    return _count(block.instructions, "instruction")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _drawn_block(listing: Listing, graph: FlowGraph, at: int, position: Position) -> DrawnBlock:
    block = graph.blocks[at]
    lines = listing.lines[block.first : block.last + 1]
    origins = list(dict.fromkeys(origin for line in lines for origin in line.origins))[:MAX_ORIGINS]
    successors = [
        f"{'back ' * jump.back}to {graph.blocks[jump.target].name}{' if ' * bool(_WORDS[jump.kind])}{_WORDS[jump.kind]}"
        for jump in block.jumps
    ]
    return DrawnBlock(block, position, origins, successors)


def _forward_jump(jump: Jump, route: Sequence[tuple[float, float]]) -> DrawnJump:
    (x, y), (next_x, _) = route[0], route[1]
    aside = 5.0 if next_x >= x else -5.0 - len(_WORDS[jump.kind]) * SMALL_LETTER
    return DrawnJump(jump, edge_path(route), _WORDS[jump.kind], round(x + aside, 1), y + NODE_HEIGHT / 2 + 12)


def _backward_jump(jump: Jump, source: Position, target: Position, lane: float) -> DrawnJump:
    """Draw a back edge: out of the left side of a block, up a lane, and into the left side of the loop header."""
    down, up = (source.y + 10, target.y - 10) if source.y >= target.y else (source.y - 10, target.y + 10)
    start, end = round(source.x - source.width / 2, 1), round(target.x - target.width / 2, 1)
    bend = -6 if up < down else 6
    out = f"M{start:g} {down:g}L{lane + 6:g} {down:g}Q{lane:g} {down:g} {lane:g} {down + bend:g}"
    path = f"{out}L{lane:g} {up - bend:g}Q{lane:g} {up:g} {lane + 6:g} {up:g}L{end:g} {up:g}"
    label = _WORDS[jump.kind]
    return DrawnJump(jump, path, label, round(start - 6 - len(label) * SMALL_LETTER, 1), down - 4)
