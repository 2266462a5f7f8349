"""The reference of the command, made from its tree: `python -m infra.cli.reference`. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from infra.cli.conditions import CONDITIONS, DEFAULTS
from infra.cli.kinds import KINDS
from infra.cli.main import app

HEADER = """\
# The `infra` command

<!-- Made from the command itself: python -m infra.cli.reference > docs/cli.md -->

`infra` is a client of the API and of nothing else. It finds its installation in this order: the
flags `--url` and `--token`; the variables `INFRA_URL` and `INFRA_TOKEN`; the folder that
`INFRA_DATA_DIR` names; the context chosen with `infra context use`, kept in
`~/.config/infra/contexts.json`, which only you can read; the installation that runs from this
checkout. A token is only ever sent to the address it belongs to.

Data goes to standard output, progress and errors to standard error. Output that is no terminal has
no colours and no shortened cells; `NO_COLOR` keeps a terminal plain too.

| exit code | meaning |
| --- | --- |
| 0 | well |
| 1 | an error; for `infra diff`: something differs |
| 2 | the command line cannot be meant as it stands |
| 3 | not found |
| 4 | conflict with the present state |
| 5 | timed out, or what came of it is not known |
| 130 | stopped with Ctrl-C |

Every change carries an idempotency key. When an answer is lost, `infra` asks again under the same
key, so nothing is done twice; when it gives up, it ends with 5 and says the key, under which the
command can be repeated: `infra --idempotency-key KEY ...`. A change is followed until its operation
has ended; `--no-wait` only sends it. Ctrl-C stops the following, never the operation.
"""


def reference() -> str:
    """Return the whole reference as Markdown."""
    root = typer.main.get_command(app)
    if not isinstance(root, TyperGroup):  # pragma: no cover  the tree has many commands
        raise TypeError(root)
    lines = [HEADER, *_kinds(), *_conditions(), "## Options before the command", ""]
    lines += _options(root)
    for name, command in _commands(root):
        lines += _command(f"infra {name}", command)
    return "\n".join(lines).rstrip() + "\n"


def _kinds() -> Iterator[str]:
    yield "## Kinds"
    yield ""
    yield "| kind | also called | columns; those in brackets with `-o wide` |"
    yield "| --- | --- | --- |"
    for kind in KINDS:
        also = ", ".join(f"`{name}`" for name in kind.names if name != kind.plural)
        columns = ", ".join(f"({c.title})" if c.wide else c.title for c in kind.columns)
        yield f"| `{kind.plural}` | {also} | {columns} |"
    yield ""


def _conditions() -> Iterator[str]:
    yield "## Conditions of `infra wait --for`"
    yield ""
    yield "| kind | conditions; the first is meant when none is named |"
    yield "| --- | --- |"
    for kind, known in CONDITIONS.items():
        default = DEFAULTS[kind]
        words = [default, *(word for word in known if word != default), "deleted"]
        yield f"| {kind} | {', '.join(f'`{word}`' for word in words)} |"
    yield "| any other | `deleted` |"
    yield ""
    yield "Every kind can also be waited for to have a value: `--for spec.vcpus=2`."
    yield ""


def _commands(group: TyperGroup) -> Iterator[tuple[str, TyperCommand]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, TyperGroup):
            for inner, found in _commands(command):
                yield f"{name} {inner}", found
        elif isinstance(command, TyperCommand):
            yield name, command


def _command(name: str, command: TyperCommand) -> Iterator[str]:
    arguments = [param for param in command.params if isinstance(param, TyperArgument)]
    usage = " ".join([name, *(_usage(argument) for argument in arguments), "[OPTIONS]"])
    yield ""
    yield f"## `{name}`"
    yield ""
    yield f"    {usage}"
    yield ""
    yield " ".join((command.help or "").split("\n\n")[0].split())
    for paragraph in (command.help or "").split("\n\n")[1:]:
        yield ""
        yield " ".join(paragraph.split())
    yield ""
    yield from _options(command)


def _usage(argument: TyperArgument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _options(command: TyperCommand | TyperGroup) -> Iterator[str]:
    options = [param for param in command.params if isinstance(param, TyperOption)]
    if not options:
        return
    yield "| option | |"
    yield "| --- | --- |"
    for option in options:
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        metavar = f" {option.metavar}" if option.metavar else ""
        must = "Needed. " if option.required else ""
        yield f"| {names}{metavar.replace('|', ' or ')} | {must}{option.help or ''} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
