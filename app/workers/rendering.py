"""Rendering tasks: decode answers and draw them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec

from app.artifacts import Answer, Listing
from app.editor.inference import public_type, read_api
from app.errors import NotFound
from app.graphs.drawings import Drawings, DrawnGraph
from app.graphs.flows import draw_flow
from app.graphs.node_details import node_details
from app.jobs.answers import StoredAnswer, pack
from app.jobs.assembly import assemble, marked
from app.jobs.kernel_listings import with_kernels
from app.lessons.checks import judge
from app.lessons.evidence import Evidence
from app.panes import table
from app.panes.card import card_of
from app.panes.differences import diff
from app.panes.fingerprints import fingerprints
from app.panes.highlighting import renew_budget
from app.panes.instruction_tips import instruction_tips
from app.panes.kernels import with_times
from app.panes.listing_pane import PaneListing
from app.panes.listings import CHUNK_LINES, draw_chunk, file_name
from app.panes.page import Page, page
from app.panes.selection import View
from app.panes.texts import difference, find_text, text_of
from app.panes.throughput import loop_throughput
from app.protocol import Snapshot
from app.workers.explaining import explained, failed, loop_figures
from app.workers.exporting import Exporter
from app.workers.ports import port_cause
from app.workers.tasks import (
    Assemble,
    Compared,
    CompareTexts,
    ComputeFingerprints,
    DrawCard,
    Explain,
    Explanation,
    FindLoopFigures,
    FindPortCause,
    FindText,
    FindTexts,
    Fingerprints,
    FoundText,
    Html,
    InferType,
    InstructionTips,
    JudgeStep,
    LoopFigures,
    Packed,
    PageParts,
    Picture,
    PortCause,
    RenderChunk,
    RenderExport,
    RenderFlow,
    RenderGraph,
    RenderNode,
    RenderPage,
    RenderPanes,
    RenderText,
    RenderThroughput,
    RenderUpdate,
    Reply,
    ShownText,
    ShownTexts,
    Task,
    TellInstructions,
    TextFile,
    TypeName,
    Update,
    Verdicts,
    WriteListing,
)
from app.workers.templates import environment


class DecodedAnswer:
    """A decoded answer, with its drawings as computed so far.

    Parameters
    ----------
    size : int
        Size of its JSON in bytes.
    """

    def __init__(self, answer: Answer, size: int) -> None:
        self.answer = answer
        self.size = size
        self.drawings = Drawings(answer)

    @classmethod
    def of(cls, raw: bytes) -> DecodedAnswer:
        """Decode an answer from JSON."""
        return cls(_decode_answer(raw), len(raw))


EMPTY = DecodedAnswer(Answer(), 0)
"""The empty answer."""
_decode_answer = msgspec.json.Decoder(Answer).decode
_decode_snapshot = msgspec.json.Decoder(Snapshot).decode


def perform(task: Task, answers: Sequence[DecodedAnswer]) -> Reply:
    """Run a task.

    Parameters
    ----------
    answers : sequence of DecodedAnswer
        The answers that the task reads.

    Raises
    ------
    NotFound
        If the requested item is not in the answers.
    """
    renew_budget()
    return _PERFORMERS[type(task)](task, answers)


def prepare(task: Task) -> None:
    """Do once in this process what a task of its kind needs whoever sent it; it does not count as work of the task."""
    if isinstance(task, InferType):
        read_api(task.folder)


def _template(name: str, **context: object) -> str:
    return _environment().get_template(name).render(context)


_environment = cache(environment)


def assembled(task: Assemble) -> tuple[StoredAnswer, DecodedAnswer]:
    """Assemble the answer of a job; return it packed for storage and decoded."""
    answer = with_kernels(assemble(task.messages, task.outcome, task.source), task.kernels)
    stored = pack(answer)
    return stored, DecodedAnswer(answer, stored.size)


def _assemble(task: Assemble, _: Sequence[DecodedAnswer]) -> Packed:
    return Packed(assembled(task)[0])


def _panes(task: RenderPanes, answers: Sequence[DecodedAnswer]) -> Html:
    answer = answers[0].answer if len(answers) < 2 else with_times(answers[0].answer, answers[1].answer)
    shown = page(answer, task.view, task.options, _bare(task.shown))
    contents = {name: _omitted(content, task.shown) for name, content in shown.contents.items()}
    shown = replace(shown, contents=contents, replaced=task.replaced, recalled=task.recalled)
    return Html(_template("panes/_answer.html", page=shown))


def _bare(shown: Sequence[str]) -> list[str]:
    """Return the listing panes that are empty so far, given the keys that a page shows; none if it shows none."""
    filled = {key.partition(":")[0] for key in shown if ":" in key}
    return [pane.name for pane in table.PANES if pane.listing and pane.name not in filled] if shown else []


def _omitted(content: object | None, shown: Sequence[str]) -> object | None:
    """Return the content of a pane, without the lines of a listing that the page already shows."""
    return replace(content, omitted=True) if isinstance(content, PaneListing) and content.key in shown else content


def _page(task: RenderPage, answers: Sequence[DecodedAnswer]) -> PageParts:
    shown = replace(page((answers or [EMPTY])[0].answer, View(), task.options), recalled=task.recalled)
    macros = _environment().get_template("panes/_macros.html").module
    context = {"page": shown, "script": task.script, "compiled": task.compiled, "swap": ""}
    panes = {
        pane.name: _template(pane.template, pane=shown.explained(pane), content=shown.contents[pane.name], **context)
        for pane in table.PANES
    }
    return PageParts(
        panes=panes,
        strip=_macro(macros, "strip", shown, compiled=task.compiled),
        data=_macro(macros, "data", shown),
        level="graph" if shown.graph else "code",
    )


def _macro(module: object, name: str, shown: Page, **more: bool) -> str:
    return str(getattr(module, name)(shown, **more))


def _update(task: RenderUpdate, _: Sequence[DecodedAnswer]) -> Update:
    try:
        snapshot = _decode_snapshot(task.message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Update(html="", line=None)  # the complete answer will report the error
    answer = msgspec.structs.replace(marked(snapshot.answer, "script"), listings={}, drawings={})
    shown = page(answer, task.view, task.options)
    return Update(
        _template("panes/_run_update.html", place=0, line=snapshot.running_line, page=shown), snapshot.running_line
    )


def _listing(key: str, answers: Sequence[DecodedAnswer]) -> Listing:
    for decoded in answers:
        if key in decoded.answer.listings:
            return decoded.answer.listings[key]
    raise NotFound("this listing has expired; compile again to see it")


def _text(task: RenderText, answers: Sequence[DecodedAnswer]) -> Html:
    row = table.find(task.pane)
    if row is None or not row.listing:
        raise NotFound(f"there is no pane {task.pane!r} with a listing")
    listing = _listing(task.listing, answers)
    shown = PaneListing(
        row,
        listing,
        label=task.label,
        before_label=task.before_label,
        diff=diff(_listing(task.before, answers), listing) if task.before else None,
    )
    return Html(_template("panes/_text_swap.html", pane=row, content=shown))


def _chunk(task: RenderChunk, answers: Sequence[DecodedAnswer]) -> Html:
    listing = _listing(task.listing, answers)
    if task.index * CHUNK_LINES >= len(listing.lines):
        raise NotFound(f"this listing has no chunk {task.index}")
    return Html(_template("panes/_chunk.html", key=task.listing, chunk=draw_chunk(listing, task.index)))


def _instructions(task: TellInstructions, answers: Sequence[DecodedAnswer]) -> InstructionTips:
    listing = _listing(task.listing, answers)
    start = task.index * CHUNK_LINES
    return InstructionTips(instruction_tips(answers[0].answer, listing, task.assembly, start, start + CHUNK_LINES))


def _graph(task: RenderGraph, answers: Sequence[DecodedAnswer]) -> Html:
    for decoded in answers:
        drawn = _drawn(decoded, task)
        if drawn is not None:
            return Html(_template("panes/_graph.html", graph=drawn))
    raise NotFound("this drawing has expired; compile again to see it")


def _drawn(decoded: DecodedAnswer, task: RenderGraph | RenderNode) -> DrawnGraph | None:
    if task.other:
        return decoded.drawings.compared(task.drawing, task.other, task.folding)
    return decoded.drawings.get(task.drawing, task.folding, task.last)


def _node(task: RenderNode, answers: Sequence[DecodedAnswer]) -> Html:
    for decoded in answers:
        drawn = _drawn(decoded, task)
        found = drawn and node_details(decoded.answer, drawn, task.drawing, task.slot, task.other)
        if found:
            return Html(_template("panes/_node.html", details=found))
    raise NotFound("this step of the graph does not have the node")


def _flow(task: RenderFlow, answers: Sequence[DecodedAnswer]) -> Html:
    listing = _listing(task.listing, answers)
    return Html(_template("panes/_flow.html", flow=draw_flow(listing, task.function), listing=listing))


def _throughput(task: RenderThroughput, answers: Sequence[DecodedAnswer]) -> Html:
    listing = _listing(task.listing, answers)
    loop = loop_throughput(answers[0].answer, listing, task.function, task.assembly, task.call)
    return Html(_template("panes/_throughput.html", loop=loop))


def _figures(task: FindLoopFigures, answers: Sequence[DecodedAnswer]) -> LoopFigures:
    return loop_figures(answers[0].answer, _listing(task.listing, answers), task.assembly)


def _ports(task: FindPortCause, answers: Sequence[DecodedAnswer]) -> PortCause:
    return port_cause(task.loop)


def _export(task: RenderExport, answers: Sequence[DecodedAnswer]) -> Html:
    return Html(Exporter(task, answers[0].answer, answers[0].drawings).draw(_template))


def _file(task: WriteListing, answers: Sequence[DecodedAnswer]) -> TextFile:
    listing = _listing(task.listing, answers)
    return TextFile(name=file_name(listing), text="".join(f"{line.text}\n" for line in listing.lines))


def _texts(task: FindTexts, answers: Sequence[DecodedAnswer]) -> ShownTexts:
    contents = page(answers[0].answer, task.view, task.options).contents
    shown = {name: content for name, content in contents.items() if isinstance(content, PaneListing)}
    texts = {
        name: ShownText(
            listing=item.listing.key, label=item.label, drawing=(item.step and item.step.step.drawing) or ""
        )
        for name, item in shown.items()
    }
    return ShownTexts(texts)


def _fingerprints(_: ComputeFingerprints, answers: Sequence[DecodedAnswer]) -> Fingerprints:
    return Fingerprints(fingerprints(answers[0].answer))


def _judge(task: JudgeStep, answers: Sequence[DecodedAnswer]) -> Verdicts:
    evidence = Evidence(answers[0].answer, task.measurements, task.predictions, task.definition, task.computed)
    return Verdicts(judge(task.checks, evidence))


def _find_text(task: FindText, answers: Sequence[DecodedAnswer]) -> FoundText:
    answer, choice = answers[0].answer, task.choice
    text = ""
    if answer.units or not answer.problems:
        text = text_of(find_text(answer, task.options, choice.pane, choice.function, choice.step))
    return FoundText(
        status=answer.status,
        text=text,
        problems=answer.problems,
        console=answer.console,
        functions=[unit.name for unit in answer.units],
    )


def _compare(task: CompareTexts, answers: Sequence[DecodedAnswer]) -> Compared:
    problems = [decoded.answer.problems for decoded in answers]
    if any(failed(each.answer) or (each.answer.problems and not each.answer.units) for each in answers):
        return Compared(equal=False, diff=[], problems=problems)
    choice = task.choice
    before, after = (
        text_of(find_text(decoded.answer, options, choice.pane, choice.function, choice.step))
        for decoded, options in zip(answers, task.options, strict=True)
    )
    return Compared(equal=before == after, diff=difference(before, after), problems=problems)


def _explain(task: Explain, answers: Sequence[DecodedAnswer]) -> Explanation:
    return explained(answers[0].answer, task.function, task.options)


def _infer(task: InferType, _: Sequence[DecodedAnswer]) -> TypeName:
    return TypeName(public_type(task.text, task.folder, task.rest))


def _card(task: DrawCard, answers: Sequence[DecodedAnswer]) -> Picture:
    from app.panes.card_picture import draw_card  # few workers ever need Pillow

    answer = answers[0].answer if answers else None
    return Picture(draw_card(card_of(answer, task.script, task.title, task.words, task.view)))


_PERFORMERS: dict[type, Callable[[Any, Sequence[DecodedAnswer]], Reply]] = {
    Assemble: _assemble,
    RenderPanes: _panes,
    RenderPage: _page,
    RenderUpdate: _update,
    RenderText: _text,
    RenderChunk: _chunk,
    TellInstructions: _instructions,
    RenderGraph: _graph,
    RenderNode: _node,
    RenderFlow: _flow,
    RenderThroughput: _throughput,
    FindLoopFigures: _figures,
    FindPortCause: _ports,
    RenderExport: _export,
    WriteListing: _file,
    FindTexts: _texts,
    ComputeFingerprints: _fingerprints,
    JudgeStep: _judge,
    FindText: _find_text,
    CompareTexts: _compare,
    Explain: _explain,
    InferType: _infer,
    DrawCard: _card,
}
