"""The tools: each asks the API what its name says, within the quotas of whoever calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, Struct

from app.panes.assembly_choice import assembly_of
from compiler.ir.error import TVMError

MAX_TEXT = 60_000
"""Characters of a text that an assistant is given."""
MAX_ITEMS = 2_000
"""Items of a list that an assistant is given."""

Script = Annotated[str, Meta(max_length=1_000_000, description="a Python program that imports tvm")]
Name = Annotated[str, Meta(max_length=400)]
Target = Annotated[
    str,
    Meta(
        max_length=200,
        description="whose assembly is shown, and what a script is compiled for that names no target, "
        'e.g. "llvm -mcpu=skylake-avx512"',
    ),
]
PaneName = Annotated[str, Meta(max_length=64, description="loops, llvm, asm, graph, kernel, ptx or sass")]
FunctionName = Annotated[Name, Meta(description="of which function or graph; the last one built by default")]
Position = Annotated[int, Meta(ge=0, le=10_000)]
Threads = Annotated[int, Meta(ge=1, le=256, description="threads of parallel loops")]


class Refused(Exception):
    """The API's answer to a call that it cannot carry out: a sentence."""


class Api(Protocol):
    """The API on behalf of whoever calls a tool."""

    @property
    def address(self) -> str:
        """Address of the server; empty for this process."""

    def send(self, path: str, body: object | None) -> bytes:
        """Return the response to a POST of a value as JSON, or to a GET without one.

        Raises
        ------
        Refused
            With the message of an error response.
        """

    def lines(self, path: str) -> Iterator[bytes]:
        """Return the lines of a stream of events, as they come."""


class Program(Struct, kw_only=True, forbid_unknown_fields=True):
    """A script, and for what it is compiled."""

    script: Script
    target: Target = "llvm -mcpu=native"
    threads: Threads = 1
    device: Annotated[
        str, Meta(max_length=20, description="show the code of cuda, opencl, metal, webgpu, nvptx or rocm")
    ] = ""

    @property
    def workspace(self) -> dict[str, Any]:
        """The workspace of the API."""
        return workspace(self.script, self.target, self.threads, self.device)


class Compile(Program, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``compile``."""

    pane: PaneName = "loops"
    function: FunctionName = ""
    step: Annotated[Name, Meta(description="after which pass or primitive; the last one by default")] = ""


class ExplainProgram(Program, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``explain``."""

    function: FunctionName = ""


class Propose(Program, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``propose``."""

    stage: Annotated[Position, Meta(description="position of the stage in the schedule, from 0")] = 0
    loop: Annotated[Position | None, Meta(description="position of the loop; the stage itself by default")] = None


class Compare(Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``compare``."""

    before: Script
    after: Script
    target: Target = "llvm -mcpu=native"
    threads: Threads = 1
    pane: PaneName = "loops"
    function: FunctionName = ""
    measure: Annotated[bool, Meta(description="also measure both, which takes a while")] = False


class Link(Program, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``link``."""


def workspace(script: str, target: str, threads: int, device: str = "") -> dict[str, Any]:
    """Return a workspace of the API; the assembly that it shows is that of the target.

    Raises
    ------
    Refused
        If there is no such target, or no assembly is shown for it.
    """
    try:
        options = {"target": target, "assembly": assembly_of(target), "threads": threads, "device": device}
    except TVMError as error:
        raise Refused(f"target: {error}") from None
    return {"script": script, "options": options}


def _compile(given: Compile, api: Api) -> Any:
    text = {"pane": given.pane, "function": given.function, "step": given.step}
    return _json(api, "/api/text", {**given.workspace, "text": text})


def _explain(given: ExplainProgram, api: Api) -> Any:
    return _json(api, "/api/explain", {**given.workspace, "function": given.function})


def _propose(given: Propose, api: Api) -> Any:
    place = {"stage": given.stage} | ({} if given.loop is None else {"loop": given.loop})
    return _json(api, "/api/proposals", {**given.workspace, "subject": {"place": place}})


def _why(given: Program, api: Api) -> Any:
    return _json(api, "/api/why", given.workspace)


def _ladder(given: Program, api: Api) -> Any:
    return _measured(api, "/api/ladders", given.workspace)


def _compare(given: Compare, api: Api) -> Any:
    before = workspace(given.before, given.target, given.threads)
    after = workspace(given.after, given.target, given.threads)
    text = {"pane": given.pane, "function": given.function}
    out = _json(api, "/api/compare", {"workspace": before, "after": after, "text": text})
    if given.measure:
        out["measured"] = {
            "before": _measured(api, "/api/measure", before),
            "after": _measured(api, "/api/measure", after),
        }
    return out


def _link(given: Link, api: Api) -> Any:
    if not api.address:
        raise Refused("a link needs a server that keeps it: strata mcp --server https://strata.example")
    saved = _json(api, "/api/links", {"workspace": given.workspace})
    return {"url": f"{api.address}/z/{saved['id']}", "delete_token": saved["delete_token"]}


def _measured(api: Api, path: str, body: object) -> dict[str, Any]:
    """Start a measurement and wait for its end."""
    out: dict[str, Any] = {"measurements": [], "failures": [], "notes": []}
    for line in api.lines(_json(api, path, body)["events"]):
        if not line.startswith(b"data: "):
            continue
        event = msgspec.json.decode(line[len(b"data: ") :])
        if event["type"] == "measured":
            out["measurements"].append(event["measurement"])
        elif event["type"] == "failed":
            out["failures"].append(event)
        elif event["type"] == "source" and event.get("reason"):
            out["notes"].append(f"the script's own process measures: {event['reason']}")
        elif event["type"] == "ended" and event["status"] != "ok":
            out["notes"].append(event.get("message") or event["status"])
    return out


def _json(api: Api, path: str, body: object) -> Any:
    return shortened(msgspec.json.decode(api.send(path, body)))


def shortened(value: Any) -> Any:
    """Return a value of JSON whose texts are cut at :data:`MAX_TEXT`, and say so."""
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}\n… {len(value) - MAX_TEXT:,} characters more; ask for one function"
    if isinstance(value, list):
        kept = value[:MAX_ITEMS]
        more = [] if len(kept) == len(value) else [f"… {len(value) - len(kept):,} more"]
        return [shortened(each) for each in kept] + more
    if isinstance(value, dict):
        return {name: shortened(each) for name, each in value.items()}
    return value


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes
    ----------
    arguments : type
        Their class, from which the JSON schema is made.
    read_only : bool
        Whether nothing is stored.
    """

    name: str
    description: str
    arguments: type[Struct]
    call: Callable[[Any, Api], Any]
    read_only: bool = True

    @property
    def described(self) -> dict[str, Any]:
        """The description that clients list."""
        schema = msgspec.json.schema(self.arguments)
        [inline] = [s for name, s in schema.pop("$defs").items() if schema["$ref"].endswith(f"/{name}")]
        hints = {"readOnlyHint": self.read_only, "destructiveHint": False, "openWorldHint": False}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {key: part for key, part in inline.items() if key not in ("title", "description")},
            "annotations": hints,
        }


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "compile",
            "Run a classic TVM script in a sandbox and return one text of what it compiles to: loop IR, LLVM IR, "
            "assembly, a graph, a GPU kernel, after any pass. Errors of the script are in problems.",
            Compile,
            _compile,
        ),
        Tool(
            "explain",
            "Return what is known of a function: every pass and schedule primitive with what it changed and whether "
            "results stayed equal, its loops, memory plan, occupancy, LLVM's throughput model of its hot loop, and "
            "what its instructions do.",
            ExplainProgram,
            _explain,
        ),
        Tool(
            "propose",
            "Try every schedule primitive that could come next on a loop or stage, and return the edit of the script "
            "for each that works with what it should gain, and the reason for each that is rejected.",
            Propose,
            _propose,
        ),
        Tool(
            "why",
            "Say why the last function of the script takes its time: causes with their shares by a model of its loops, "
            "the lines that each is about, and the edit that would remove it with the gain that is predicted. Measure "
            "the edited script before you believe it.",
            Program,
            _why,
        ),
        Tool(
            "ladder",
            "Measure every prefix of the script's schedule beside NumPy and the machine's peak. With source = "
            '"server" a process that never runs the script measured, and checked = "ok" says that the server '
            'found the same result; a time with source = "script" could be forged.',
            Program,
            _ladder,
        ),
        Tool(
            "compare",
            "Compare two scripts: the differences of one of their texts, and with measure their kernels' times, each "
            "with its spread and who measured it.",
            Compare,
            _compare,
        ),
        Tool(
            "link",
            "Store a script permanently on the server and return its address for people. It is public to whoever has "
            "the address.",
            Link,
            _link,
            read_only=False,
        ),
    )
}
