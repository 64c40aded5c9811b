"""``strata completion bash|zsh|fish``: what makes a shell complete commands and options, generated from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")
_VALUES = {"--server": "", "--target": "", "--threads": "", "--function": "", "--pass": "", "--stage": "", "--loop": ""}
"""Options whose values nothing is known of; those of others are files, or what the parser accepts."""


def script(shell: str, parser: argparse.ArgumentParser, panes: list[str]) -> str:
    """Return the script that a shell reads.

    Parameters
    ----------
    panes
        What may follow ``--emit``.
    """
    commands = dict(_commands(parser))
    if shell == "fish":
        return "".join(_fish(commands, panes))
    words = "".join(_bash(commands, panes))
    return f"autoload -Uz +X bashcompinit && bashcompinit\n{words}" if shell == "zsh" else words


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """Yield the commands with what they do and their options."""
    [group] = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {choice.dest: choice.help or "" for choice in group._choices_actions}
    for name, command in group.choices.items():
        options = [option for action in command._actions for option in action.option_strings]
        yield name, (helps.get(name, ""), options)


def _bash(commands: dict[str, tuple[str, list[str]]], panes: list[str]) -> Iterator[str]:
    yield "_strata() {\n"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""\n'
    yield "  COMPREPLY=()\n"
    yield f'  case "$before" in\n    {"|".join(_VALUES)}) return ;;\n'
    yield f'    --emit) COMPREPLY=($(compgen -W "{" ".join(panes)}" -- "$word")); return ;;\n  esac\n'
    yield f'  if [ "$COMP_CWORD" -eq 1 ]; then\n    words="{" ".join(commands)} --help --version"\n'
    yield '  elif [ "${word#-}" = "$word" ]; then\n    compopt -o default 2>/dev/null\n    return\n  else\n'
    yield '    case "${COMP_WORDS[1]}" in\n'
    for name, (_, options) in commands.items():
        yield f'      {name}) words="{" ".join(options)}" ;;\n'
    yield '    esac\n  fi\n  COMPREPLY=($(compgen -W "$words" -- "$word"))\n}\n'
    yield "complete -F _strata strata\n"


def _fish(commands: dict[str, tuple[str, list[str]]], panes: list[str]) -> Iterator[str]:
    for name, (text, options) in commands.items():
        quoted = text.replace("\\", "\\\\").replace("'", "\\'")
        yield f"complete -c strata -n __fish_use_subcommand -f -a {name} -d '{quoted}'\n"
        for option in options:
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values = f" -x -a '{' '.join(panes)}'" if option == "--emit" else " -x" if option in _VALUES else ""
            yield f"complete -c strata -n '__fish_seen_subcommand_from {name}' {kind}{values}\n"
