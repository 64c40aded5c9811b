"""The explorer page, and its fragments for htmx."""

from __future__ import annotations

import logging
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from flask import (
    Blueprint,
    Response,
    copy_current_request_context,
    current_app,
    make_response,
    render_template,
    request,
    stream_template,
)
from flask.blueprints import BlueprintSetupState
from markupsafe import Markup
from msgspec import Meta

from app.artifacts import Options, Workspace
from app.built_files import FILE_KINDS
from app.counts import REFUSALS
from app.docstrings import MAX_SOUGHT, described, shortened
from app.errors import InvalidBody, NotFound, RequestError, Superseded
from app.jobs.answers import StoredAnswer
from app.jobs.callers import calling
from app.jobs.clients import Client
from app.jobs.compile_service import RunUpdate
from app.lessons import Lesson
from app.logs import reference
from app.memory import Claim
from app.panes import table
from app.panes.selection import View
from app.services import current_services
from app.store.links import OpenedLink
from app.store.workspace_limits import content_bytes
from app.views.api import answer_json
from app.views.opening import opened
from app.web.messages import Messages
from app.web.requests import current_client, json_field
from app.web.security import allow_embedding
from app.web.spooling import spooled
from app.web.streams import streamed
from app.workers.rendering import perform
from app.workers.tasks import (
    Html,
    InstructionTips,
    PageParts,
    RenderChunk,
    RenderPage,
    RenderPanes,
    RenderText,
    RenderUpdate,
    Task,
    TellInstructions,
    Update,
)
from app.workers.templates import FILTERS, data_block

log = logging.getLogger(__name__)
bp = Blueprint("explorer", __name__)
MAX_WORDS = 200
"""Characters of a preview's description."""
MAX_LABEL = 200
"""Characters of a step's name."""
ShownKey = Annotated[str, Meta(max_length=1_000)]
"""Of the body of a listing on the page."""
PIECE_BYTES = 3 << 14
"""Of an attached file at a time; divisible by three, so that pieces of base64 join without padding."""
EMBED = "embed"
"""The view of a permalink for a frame of another page."""
READING = ("read", EMBED)
"""Views of a permalink without the tools to edit it."""
AT_FIRST = frozenset({"closed", "opened", "docking", "pin"})
"""What a link may keep of a page that shows each text at its last step, as it does at first."""
FRAGMENT_HEADER = "Strata-Fragment"
"""Marks an unsuccessful response that is a fragment of the page, to be swapped in like a successful one."""
STATUS_HEADER = "Strata-Status"
"""Header with the status of the rendered answer, so that the page can delay errors while typing."""


@bp.record_once
def _prepare(state: BlueprintSetupState) -> None:
    state.app.jinja_env.filters.update(FILTERS)


def having(content: str) -> StoredAnswer:
    """Return a cached answer that has the listing or drawing of a key.

    Raises
    ------
    NotFound
        If there is none.
    """
    answer = current_services().compiler.holding(content)
    if answer is None:
        raise NotFound("this has expired; compile again to see it")
    return answer


# The page


@bp.get("/")
def index() -> str:
    """The page with an example, already compiled.

    Raises
    ------
    NotFound
        If there is no example of that name.
    """
    gallery = current_services().gallery
    name = request.args.get("example")
    example = gallery.first if name is None else gallery.find(name)
    if example is None:
        raise NotFound(f"there is no example {name!r}; the page lists all under Examples")
    workspace = Workspace(script=example.script)
    compiled = compiled_parts(workspace)
    return "".join(page_pieces(workspace, compiled=compiled, title=example.title))


@bp.get("/z/<link>")
def open_link(link: str) -> Response:
    """The page with the workspace of a permalink.

    With ``?view=read`` it is for a projector: large type, nothing to edit.  With ``?view=embed`` other sites may frame
    it.
    """
    if request.args.get("view") == EMBED:
        allow_embedding()
    with opened(link) as content:
        workspace = content.state.workspace
        compiled = cached_parts(workspace) if AT_FIRST.issuperset(content.state.view) else None
        pieces = page_pieces(workspace, compiled=compiled, title=title_of(workspace.script), link=content)
        response = spooled((piece.encode() for piece in pieces), "text/html")
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@bp.get("/window/<pane>")
def open_window(pane: str) -> str:
    """A pane in a window of its own, which the page that opened it fills.

    Raises
    ------
    NotFound
        If there is no pane of that name.
    """
    row = table.find(pane)
    if row is None:
        raise NotFound(f"there is no pane {pane!r}")
    return "".join(page_pieces(Workspace(script=""), compiled=None, title=row.title, window=row.name))


def title_of(script: str) -> str:
    """Return the title that a script gives itself; empty if there is none."""
    return described(script).title


def words_of(script: str) -> str:
    """Return a sentence or two about a script: its docstring after the title, or how it begins."""
    parts = described(script)
    begins = (line for line in parts.code[:MAX_SOUGHT].splitlines() if not line.startswith(("import ", "from ", "#")))
    return shortened(parts.words if parts.title else " ".join(begins), MAX_WORDS)


def _modules(further: Sequence[str]) -> list[str]:
    """Return the page's modules, for preloading."""
    folder = Path(current_app.root_path) / "static"
    return [
        *(f"js/{path.name}" for path in sorted(folder.glob("js/*.js")) if path.name != "theme.js"),
        *further,
        "vendor/codemirror.js",
        "vendor/split.js",
    ]


def cached_parts(workspace: Workspace) -> PageParts | None:
    """Return the panes of a workspace that was compiled before, or None if the page has to request them."""
    services = current_services()
    try:
        answer = services.compiler.cached(workspace)
        return _parts(workspace, answer) if answer is not None else None
    except RequestError:
        return None


def _parts(workspace: Workspace, answer: StoredAnswer) -> PageParts:
    task = RenderPage(workspace.script, workspace.options, compiled=True, recalled=answer.recalled)
    return current_services().renderer.perform(task, PageParts, [answer], current_client().address)


def compiled_parts(workspace: Workspace) -> PageParts | None:
    """Return the panes of a workspace, or None if the page has to request them."""
    services, client = current_services(), current_client()
    try:
        return _parts(workspace, services.compiler.compile(workspace, client))
    except RequestError:
        return None


def _empty(workspace: Workspace) -> PageParts:
    """Return the panes of a workspace that is not compiled."""
    parts = perform(RenderPage(workspace.script, workspace.options, compiled=False), [])
    assert isinstance(parts, PageParts)
    return parts


def file_pieces(files: Mapping[str, bytes]) -> Iterator[Markup]:
    """Yield attached files in pieces, as the JSON of a ``<script type="application/json">`` element."""
    yield Markup("{")
    for number, (name, content) in enumerate(files.items()):
        yield Markup("," if number else "") + data_block(name) + Markup(':"')
        for start in range(0, len(content), PIECE_BYTES):
            yield Markup(b64encode(memoryview(content)[start : start + PIECE_BYTES]).decode())
        yield Markup('"')
    yield Markup("}")


def page_pieces(
    workspace: Workspace,
    *,
    compiled: PageParts | None,
    title: str = "",
    link: OpenedLink | None = None,
    lesson: Lesson | None = None,
    challenge: Mapping[str, object] | None = None,
    live: str = "",
    window: str = "",
) -> Iterator[str]:
    """Render the whole page for a workspace, as a stream of pieces.

    Parameters
    ----------
    workspace : Workspace
        Content of the editor.
    compiled : PageParts or None
        The panes; if None, the page compiles after loading.
    title : str
        Title of the example or script.
    link : OpenedLink, optional
        The permalink that was opened.
    lesson : Lesson, optional
        The lesson to show beside the workspace.
    challenge : mapping, optional
        Or the challenge, as its panel shows it.
    live : str
        Id of the live workspace that it is.
    window : str
        Name of the pane that has the window to itself.
    """
    reading = request.args.get("view", "")
    files, workspace = workspace.files, msgspec.structs.replace(workspace, files={})
    if link is not None:
        link = msgspec.structs.replace(link, state=msgspec.structs.replace(link.state, workspace=workspace))
    return stream_template(
        "explorer.html",
        workspace=workspace,
        files=file_pieces(files),
        made=link,
        here=current_services().links.made_with,
        reading=reading if link and reading in READING else "",
        modules=_modules(["js/lesson/class.js"] if lesson else ["js/challenge/panel.js"] if challenge else []),
        title=title,
        words=words_of(workspace.script) if link else "",
        link=link.id if link else "",
        compiled=compiled is not None,
        parts=compiled or _empty(workspace),
        docks=table.DOCKS,
        panes=table.PANES,
        table=table.served(),
        file_kinds=FILE_KINDS,
        file_limit=current_services().file_maker.largest,
        topics=current_services().gallery.topics,
        lesson=lesson,
        challenge=challenge,
        stored=current_services().gallery.ladder_of(workspace.script) if workspace.options == Options() else "",
        live=live,
        window=window,
        introduced=not (link or live or lesson or challenge or reading or window),
    )


# Fragments of a compilation


@bp.post("/panes")
def panes() -> Response:
    """Compile the workspace in the editor, and return all changed panes."""
    seq, began = request.form.get("seq", 0, type=int), time.perf_counter()
    try:
        workspace = _read_workspace()
        compiler = current_services().compiler
        answer = compiler.compile(workspace, _tab(), seq)
        answered = time.perf_counter()
        measured = compiler.measured(workspace, _tab())
        html = _answer_html(answer, _view(), workspace.options, _shown(), _replaced(), measured)
    except Superseded:
        return Response(status=204)  # an error status would be logged in the browser's console
    except RequestError as error:
        response = make_response(_refused_html(error), error.status)
        response.headers[FRAGMENT_HEADER] = "refused"
        if error.retry_after is not None:
            response.headers["Retry-After"] = str(error.retry_after)
        return response
    response = make_response(html)
    response.headers["Cache-Control"] = "no-store"
    response.headers[STATUS_HEADER] = answer.status
    durations = {"answer": answered - began, "draw": time.perf_counter() - answered}
    response.headers["Server-Timing"] = ", ".join(f"{name};dur={took * 1e3:.1f}" for name, took in durations.items())
    return response


class RunMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the response to ``/run``: an HTML fragment, and its kind."""

    kind: Literal["update", "answer", "refused"]
    html: str
    line: int | None = None
    """The line of the script that is running native code."""
    place: int = 0
    """The place in the queue; 0 while running."""
    retry: int | None = None
    """The seconds after which a busy server may be asked again."""


@bp.post("/run")
def run() -> Response:
    """Run the workspace in full; stream JSON lines with progress, the last one with all panes."""
    messages, tab = Messages(), _tab()
    try:
        workspace = _read_workspace()
        claim = current_services().memory.bodies.claim(content_bytes(workspace), tab.address)
    except RequestError as error:
        messages.end(_line(RunMessage(kind="refused", html=_refused_html(error), retry=error.retry_after)))
    else:
        follow = _follow(workspace, tab, _view(), request.form.get("seq", 0, type=int), _replaced())
        produce = copy_current_request_context(lambda: _produce(messages, follow, claim))
        threading.Thread(target=produce, name="run", daemon=True).start()
    return streamed(messages, "application/x-ndjson")


def _produce(messages: Messages, follow: Iterator[RunMessage], workspace: Claim) -> None:
    """Run a workspace and send its updates, until it ends or the client disconnects."""
    last = RunMessage(kind="refused", html="")
    with workspace, calling(messages.caller):
        try:
            for last in follow:
                if last.kind == "update":
                    messages.put(_line(last))
        except Exception:
            log.exception("a run failed")
            error = RequestError(f"an internal error occurred; it has been logged{reference()}")
            last = RunMessage(kind="refused", html=_refused_html(error))
    messages.end(_line(last))


def _line(message: RunMessage) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def _follow(workspace: Workspace, tab: Client, view: View, seq: int, replaced: bool) -> Iterator[RunMessage]:
    try:
        sent: RunUpdate | None = None
        for update in current_services().compiler.follow(workspace, tab, seq):
            if sent is not update:
                message, sent = _run_message(update, view, workspace.options, replaced), update
            yield message
    except RequestError as error:
        yield RunMessage(kind="refused", html=_refused_html(error), retry=error.retry_after)


def _run_message(update: RunUpdate, view: View, options: Options, replaced: bool) -> RunMessage:
    """Return the message for an update."""
    if update.answer is not None:
        return RunMessage(kind="answer", html=_answer_html(update.answer, view, options, replaced=replaced))
    if update.snapshot is None:
        return RunMessage(kind="update", html=render_template("panes/_run_update.html"), place=update.place)
    task = RenderUpdate(update.snapshot, view, options)
    drawn = current_services().renderer.perform(task, Update, client=current_client().address)
    return RunMessage(kind="update", html=drawn.html, line=drawn.line)


def _tab() -> Client:
    return current_client(request.form.get("tab", "")[:64])


def _view() -> View:
    return View.read(request.form.get("view", ""))


def _answer_html(
    answer: StoredAnswer,
    view: View,
    options: Options,
    shown: tuple[str, ...] = (),
    replaced: bool = False,
    measured: StoredAnswer | None = None,
) -> str:
    answers = [answer] if measured is None else [answer, measured]
    return render(RenderPanes(view, options, shown, replaced, answer.recalled), answers)


def _replaced() -> bool:
    """Return whether the page shows another program than the one that it sends."""
    return request.form.get("replaced") == "true"


def _shown() -> tuple[str, ...]:
    """Return the keys of the bodies that the page already shows."""
    try:
        return msgspec.json.decode(json_field("shown") or b"[]", type=tuple[ShownKey, ...])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidBody(f"shown: {error}") from error


def _refused_html(error: RequestError) -> str:
    """Return the fragment for a rejected request, which marks the panes as stale."""
    REFUSALS.add(error.code)
    stale = [*(pane.name for pane in table.PANES if table.compiled(pane)), "strip"]
    return render_template("panes/_refused.html", error=error, stale=stale)


def _read_workspace() -> Workspace:
    files = {name: upload.read() for upload in request.files.getlist("files") if (name := upload.filename)}
    raw = {
        "script": request.form.get("script", ""),
        "files": files,
        "uploads": _read_json("uploads"),
        "options": _read_json("options"),
    }
    try:
        return msgspec.convert(raw, Workspace)
    except msgspec.ValidationError as error:
        raise InvalidBody(str(error)) from error


def _read_json(field: str) -> Any:
    try:
        return msgspec.json.decode(json_field(field) or b"{}")
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidBody(f"{field}: {error}") from error


# Texts by content hash


@bp.get("/text/<pane>")
def text(pane: str) -> Response:
    """The title and body of a listing pane at one step, or the diff between two."""
    listing, before = request.args.get("listing", ""), request.args.get("before", "")
    task = RenderText(
        pane=pane,
        listing=listing,
        before=before,
        label=request.args.get("label", "")[:MAX_LABEL],
        before_label=request.args.get("before_label", "")[:MAX_LABEL],
    )
    answers = {answer.key: answer for answer in (having(listing), *([having(before)] if before else []))}
    return for_ever(render(task, list(answers.values())))


@bp.get("/listings/<key>/<int:index>")
def chunk(key: str, index: int) -> Response:
    """A chunk of a long listing."""
    return for_ever(render(RenderChunk(key, index), [having(key)]))


@bp.get("/listings/<key>/<int:index>/instructions")
def instructions(key: str, index: int) -> Response:
    """What the instructions of a chunk of a listing do, and what they cost on the processor of an assembly."""
    task = TellInstructions(key, index, request.args.get("assembly", "")[:MAX_LABEL])
    told = current_services().renderer.perform(task, InstructionTips, [having(key)], current_client().address)
    response = answer_json(told)
    response.headers["Cache-Control"] = "no-store"  # the tool that knows the costs may be installed later
    return response


def render(task: Task, answers: Sequence[StoredAnswer]) -> str:
    """Return the HTML fragment that a task renders."""
    return current_services().renderer.perform(task, Html, answers, current_client().address).html


def for_ever(html: str) -> Response:
    """Return an immutable response, whose URL contains a content hash."""
    response = make_response(html)
    response.headers["Cache-Control"] = "private, max-age=3600, immutable"
    return response
