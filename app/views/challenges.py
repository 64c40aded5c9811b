"""Challenges: the list, a problem beside its workspace, its check, and its board."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Blueprint, Response, render_template, request, url_for
from msgspec import Meta

from app.artifacts import Answer, Measurement, Workspace
from app.challenges import Problem, own_link, own_problem, read_pars
from app.challenges.standing import Standing, stand
from app.errors import InvalidBody, NotFound
from app.jobs.cache import content_key
from app.jobs.ladders import Ladder
from app.lessons import Evidence
from app.names import chosen_name
from app.services import current_services
from app.store.boards import PLACES, Ghost
from app.views.api import LadderStarted, answer_json
from app.views.explorer import compiled_parts, page_pieces
from app.views.opening import opened
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body

bp = Blueprint("challenges", __name__)
KEY_HEADER = "X-Entry-Key"
KEY = {KEY_HEADER: "The key of the browser that made the entry."}
BrowserKey = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]


class Attempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program for a problem, and its ladder."""

    workspace: Workspace
    ladder: Annotated[str, Meta(max_length=64)] = ""
    """Id of the server's ladder of this workspace; none for a problem for a GPU."""


class Entering(Attempt, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that is to be entered into a board."""

    name: Annotated[str, Meta(max_length=100)]
    """What the board calls it."""
    key: BrowserKey
    """Identifier of the browser, which is kept private."""


class EntryShown(Ghost, frozen=True, kw_only=True):
    """The ladder of an entry, and to its owner the script."""

    script: str = ""


def problem_of(name: str) -> Problem:
    """Return a problem: one that comes with the explorer, or one that a visitor made.

    Raises
    ------
    NotFound
        If there is none.
    """
    link = own_link(name)
    if link:
        with opened(link) as content:
            return own_problem(link, content.state.workspace.script)
    problem = current_services().problems.find(name)
    if problem is None:
        raise NotFound(f"there is no challenge {name!r}; /challenges lists all", field="challenge")
    return problem


def _with_board(name: str) -> Problem:
    """Return a problem that has a board."""
    problem = problem_of(name)
    if problem.on_gpu:
        raise InvalidBody("this server has no GPU, and times that a browser reports make no board")
    return problem


@bp.get("/challenges")
def index() -> str:
    """The list of challenges."""
    services = current_services()
    groups = services.problems.groups
    names = [problem.name for members in groups.values() for problem in members]
    cpu = next(iter(services.contests.cpus), "")
    return render_template("challenges.html", groups=groups, heads=services.boards.heads(cpu, names), cpu=cpu)


@bp.get("/challenges/<challenge>")
def open_challenge(challenge: str) -> str:
    """A problem, beside its workspace."""
    problem = problem_of(challenge)
    workspace = Workspace(script=problem.script)
    shown = {"problem": problem, "pars": read_pars(problem.name), **_board(problem)}
    pieces = page_pieces(workspace, compiled=compiled_parts(workspace), title=problem.title, challenge=shown)
    return "".join(pieces)


def _board(problem: Problem, cpu: str = "") -> dict[str, object]:
    """Return the entries of a problem's board on a processor, by default on one that measures here."""
    services = current_services()
    here = services.contests.cpus
    processors = list(dict.fromkeys([*here, *services.boards.processors(problem.name)]))
    shown = cpu if cpu in processors else next(iter(processors), "")
    return {
        "entries": services.boards.entries(problem.name, shown),
        "here": here,
        "shown": shown,
        "processors": processors,
        "places": PLACES,
    }


@bp.get("/challenges/<challenge>/board")
def board(challenge: str) -> str:
    """The board of a problem on a processor, as a fragment."""
    problem = _with_board(challenge)
    return render_template("_board.html", challenge=_board(problem, request.args.get("cpu", "")))


@bp.post("/api/challenges/<challenge>/ladder")
@operation(body=Workspace, answers={202: json_of(LadderStarted)})
def start_ladder(challenge: str) -> Response:
    """Measure every prefix of the script's last schedule, beside the problem's NumPy expression."""
    problem, workspace = _with_board(challenge), read_body(Workspace)
    return _started(current_services().ladders.start(workspace, current_client(), numpy=problem.settings.numpy))


@bp.post("/api/challenges/<challenge>/check")
@operation(body=Attempt, answers={200: json_of(Standing)})
def check(challenge: str) -> Response:
    """Say whether a program computes what the problem defines, and how fast the server measured it to be."""
    problem, asked = problem_of(challenge), read_body(Attempt)
    return answer_json(_standing(problem, asked)[0])


def _standing(problem: Problem, asked: Attempt) -> tuple[Standing, list[Measurement]]:
    services, client = current_services(), current_client()
    definition = services.definer.definition(problem.script, client)
    if problem.on_gpu:
        own = services.definer.definition(asked.workspace.script, client)
        kernel = Measurement(name="", kind="kernel", seconds=0.0, definition=own)
        return stand(problem, Evidence(Answer(), [kernel], definition=definition)), []
    ladder = services.ladders.get(asked.ladder)
    if ladder.workspace != content_key("ladder", asked.workspace):
        raise InvalidBody("this ladder is of another script", field="$.ladder", expected="a ladder of this one")
    measurements = ladder.measurements
    return stand(problem, Evidence(Answer(), measurements, definition=definition)), measurements


@bp.post("/api/challenges/<challenge>/entries")
@operation(body=Entering, answers={202: json_of(LadderStarted)})
def enter(challenge: str) -> Response:
    """Enter a program into the board of the processor that measures it.

    All entries of the board are measured beside it, in turns, so that their ranks come from the same conditions.
    """
    problem, asked = _with_board(challenge), read_body(Entering)
    name, client = chosen_name(asked.name), current_client()
    standing, measurements = _standing(problem, asked)
    if not standing.passed:
        raise InvalidBody(next(f"{v.words}: {v.detail}" for v in standing.verdicts if not v.passed))
    services = current_services()
    services.entering.charge(client.address)
    return _started(services.contests.enter(problem, asked.workspace, measurements, name, asked.key, client))


@bp.post("/api/challenges/<challenge>/board")
@operation(answers={202: json_of(LadderStarted)}, query={"cpu": "The board's processor, if several kinds measure."})
def measure_board(challenge: str) -> Response:
    """Measure all entries of a board again, in turns."""
    problem, client, services = _with_board(challenge), current_client(), current_services()
    services.entering.charge(client.address)
    cpu = str(_board(problem, request.args.get("cpu", ""))["shown"])
    return _started(services.contests.measure_again(problem, cpu, client))


def _started(ladder: Ladder) -> Response:
    return answer_json(LadderStarted(id=ladder.id, events=url_for("api.ladder_events", ladder=ladder.id)), 202)


@bp.get("/api/challenges/<challenge>/entries/<entry>")
@operation(answers={200: json_of(EntryShown)}, optional_headers=KEY)
def show_entry(challenge: str, entry: str) -> Response:
    """Return the ladder of an entry, and to its owner the script."""
    boards, key = current_services().boards, request.headers.get(KEY_HEADER, "")
    ghost = boards.ghost(challenge, entry)
    script = boards.script(challenge, entry, key) if key else ""
    return answer_json(EntryShown(**msgspec.structs.asdict(ghost), script=script))


@bp.delete("/api/challenges/<challenge>/entries/<entry>")
@operation(answers={204: None}, headers=KEY)
def withdraw(challenge: str, entry: str) -> Response:
    """Delete an entry."""
    current_services().boards.withdraw(challenge, entry, request.headers.get(KEY_HEADER, ""))
    return Response(status=204)
