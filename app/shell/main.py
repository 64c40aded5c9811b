"""The command line of ``strata``."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from app import __version__
from app.device_languages import DEVICE_LANGUAGES
from app.shell.failures import WRONG_COMMAND, WRONG_PROGRAM, Failure

EPILOG = """\
Programs are files, - for standard input, or links such as https://strata.example/z/1a2b3c4d.
Exit codes: 0; 1 if the program has an error or computes something else; 2 if the command is wrong; 3 if no server
answers.  --json prints what GET /api/openapi.json describes."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    out = argparse.ArgumentParser(
        prog="strata",
        description="Strata, a compiler explorer for tensor programs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out.add_argument("--version", action="version", version=f"strata {__version__}")
    commands = out.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("serve", help="serve the page", add_help=False)
    python = commands.add_parser("python", help="run a program with `import tvm`, as it is, without the explorer")
    python.add_argument("arguments", nargs=argparse.REMAINDER)

    tuning = commands.add_parser(
        "tune", help="search for a faster schedule of what a program builds last; Ctrl+C ends it"
    )
    tuning.add_argument("script", help="the program")
    tuning.add_argument("--seconds", type=float, default=60.0, help="by the clock (60)")
    tuning.add_argument("--trials", type=int, default=1000, help="schedules to measure at most (1000)")
    tuning.add_argument("--seed", type=int, help="the same candidates each time")
    tuning.add_argument("--log", metavar="F", help="where what is measured is noted, and where the search goes on from")
    tuning.add_argument("--target", default="", help='e.g. "llvm -mcpu=haswell" (what the script builds for)')
    tuning.add_argument("--threads", type=int, help="threads of parallel loops (1)")
    tuning.add_argument("-o", "--output", help="the file of the script that is written (the script's name with _tuned)")

    emitting = _command(commands, "compile", "print the loops, LLVM IR, assembly, … of a script")
    emitting.add_argument("script")
    emitting.add_argument(
        "--emit", default="loops", metavar="PANE", help="the pane whose text is printed: asm, llvm, graph, … (loops)"
    )
    emitting.add_argument("--function", default="", help="of which function or graph; the last one by default")
    emitting.add_argument("--pass", dest="step", default="", help="after which pass or primitive")
    emitting.add_argument(
        "--device", default="", choices=DEVICE_LANGUAGES, metavar="DEVICE",
        help=f"show the code of a device: {', '.join(DEVICE_LANGUAGES)}",
    )  # fmt: skip
    _command(commands, "run", "run a script in full, and print its output and times").add_argument("script")
    _command(commands, "ladder", "measure a schedule primitive by primitive").add_argument("script")
    comparing = _command(commands, "diff", "compare two programs")
    comparing.add_argument("before")
    comparing.add_argument("after")
    comparing.add_argument("--emit", default="loops", metavar="PANE", help="the pane whose text is compared (loops)")
    comparing.add_argument("--function", default="", help="of which function")
    comparing.add_argument("--time", action="store_true", help="measure both as well")
    reviewing = _command(commands, "review", "write what a change does to programs as the comment of a pull request")
    reviewing.add_argument("scripts", nargs="+", metavar="FILE", help="paths from the root of the repository")
    reviewing.add_argument("--base", required=True, metavar="DIR", help="where the repository is as it was before")
    reviewing.add_argument(
        "--pairs", type=int, default=3, help="measurements of both in turns; 0 compares code only (3)"
    )
    reviewing.add_argument("--link", action="store_true", help="keep the scripts on the server, and link to them")
    reviewing.add_argument("-o", "--output", help="the file of the comment (standard output)")
    proposing = _command(commands, "propose", "print which primitives may be applied next, and what they should gain")
    proposing.add_argument("script")
    proposing.add_argument("--stage", type=int, default=0, help="position of the stage in the schedule (0)")
    proposing.add_argument("--loop", type=int, help="position of the loop in the stage; the stage itself by default")
    proposing.add_argument("--all", action="store_true", help="also what cannot be applied, and why")
    _command(commands, "why", "print why a program takes its time, and what would shorten it").add_argument("script")
    _command(commands, "link", "store a script on a server and print its address").add_argument("script")
    lessons = commands.add_parser("lesson", help="check lessons: answers must pass, and beginnings must not")
    lessons.add_argument("action", choices=["check"])
    lessons.add_argument("files", nargs="+", metavar="FILE", help="a lesson such as 03_split.md, or a folder of some")
    lessons.add_argument("--no-measure", action="store_true", help="leave out what has to be measured")
    challenges = commands.add_parser("challenge", help="list challenges, check a script for one, record pars")
    challenges.add_argument("action", choices=["list", "check", "par"])
    challenges.add_argument("names", nargs="*", metavar="NAME", help="check: a challenge and a script; par: challenges")
    challenges.add_argument("--trials", type=int, default=64, help="par: schedules that a search measures (64)")
    challenges.add_argument("--server", default=os.environ.get("STRATA_SERVER", ""), help="check it there, not here")
    completing = commands.add_parser("completion", help="print what makes a shell complete commands and options")
    completing.add_argument("shell", choices=["bash", "zsh", "fish"])
    assisting = commands.add_parser("mcp", help="serve an assistant over standard input and output")
    assisting.add_argument("--server", default=os.environ.get("STRATA_SERVER", ""), help="carry it out there, not here")
    exporting = _command(commands, "export", "write a page in one file, which needs no server")
    exporting.add_argument("script")
    exporting.add_argument("-o", "--output", help="the file (the script's name with .html)")
    return out


def _of_command(whole: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    """Return the parser of a command, whose errors show its options."""
    [group] = (action for action in whole._actions if isinstance(action, argparse._SubParsersAction))
    found: argparse.ArgumentParser = group.choices[name]
    return found


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    out = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    out.add_argument("--server", default=os.environ.get("STRATA_SERVER", ""), help="carry it out there, not here")
    out.add_argument(
        "--target",
        default="",
        help='whose assembly is shown, and what is compiled for where a script names no target: "llvm -mcpu=haswell"',
    )
    out.add_argument("--threads", type=int, help="threads of parallel loops")
    out.add_argument("--file", action="append", default=[], metavar="PATH", help="attach a model, a module, …")
    out.add_argument("--json", action="store_true", help="print JSON")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command and return the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["python"]:  # what follows are options of the program, -m for example
        from compiler.__main__ import main as run

        return run(arguments[1:], "strata python")
    parsing = parser()
    given, rest = parsing.parse_known_args(arguments)
    if given.command == "serve":
        from app.__main__ import main as serve

        serve(rest, "strata serve")
        return 0
    if rest:
        _of_command(parsing, given.command).error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        _prepare_to_print()
        code = _carry_out(given)
        sys.stdout.flush()
        return code
    except Failure as failure:
        print(f"strata: {failure}", file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads any more, as in `| head`
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print("strata: the disk has no space left for what is written", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of it is not tried again
        return WRONG_PROGRAM


def _prepare_to_print() -> None:
    if sys.stdout is None:
        raise Failure("standard output is closed: expected a file, a terminal or /dev/null", WRONG_COMMAND)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # of arrows and the like, where the locale has none


def _carry_out(given: argparse.Namespace) -> int:
    if given.command == "tune":
        from app.shell.tuning import tune

        return tune(given)
    from app.shell import commands
    from app.shell.explorer import Server, here
    from app.shell.review import review

    if given.command == "lesson":
        from app.shell.lesson_check import check

        return check(given.files, measures=not given.no_measure)
    if given.command == "challenge":
        from app.shell import challenge

        if given.action == "list":
            if given.names:
                raise Failure(f"challenge list: lists all, got {' '.join(given.names)}", status=2)
            return challenge.list_problems()
        if given.action == "par":
            return challenge.record_pars(given.names, given.trials)
        if len(given.names) != 2:
            raise Failure("challenge check: name a challenge and a script", status=2)
        problem, workspace = challenge.read_attempt(*given.names)
        with nullcontext(Server(given.server)) if given.server else here() as explorer:
            return challenge.check(explorer, problem, workspace, given.names[1])
    if given.command == "completion":
        from app.panes.texts import TEXT_PANES
        from app.shell.completion import script

        print(script(given.shell, parser(), list(TEXT_PANES)), end="")
        return 0
    if given.command == "mcp":
        from app.shell.assistant import serve

        return serve(given.server)
    carried_out = (
        review if given.command == "review" else getattr(commands, given.command.replace("compile", "compile_"))
    )
    with nullcontext(Server(given.server)) if given.server else here() as explorer:
        return carried_out(given, explorer)


if __name__ == "__main__":
    sys.exit(main())
