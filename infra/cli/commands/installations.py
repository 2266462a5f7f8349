"""`infra login`, `infra context`: which installation is spoken to, and as whom."""

from __future__ import annotations

import getpass
from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

import typer

from infra.cli.contexts import Context, read_contexts, write_contexts
from infra.cli.documents import text
from infra.cli.failures import ExitCode, Failure, usage
from infra.cli.session import Session, session_of
from infra.cli.tables import make_table
from infra.cli.target import Target, check_url
from infra.cli.words import or_missing

app = typer.Typer(help="Keep and choose installations.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The context's name.")]


@app.command("list")
def list_contexts(context: typer.Context) -> None:
    """List the contexts; the current one has a star. Tokens are not shown."""
    session = session_of(context)
    contexts = read_contexts(session.contexts_path)
    if not contexts.known:
        target = session.target()
        session.output.say(f"No contexts yet; {target.url} is used, from {target.source}.")
        return
    rows = [
        ("*" if name == contexts.current else "", or_missing(name), or_missing(known.url),
         "yes" if known.token else "no")
        for name, known in sorted(contexts.known.items())
    ]  # fmt: skip
    session.output.table(make_table(("CURRENT", "NAME", "URL", "TOKEN"), rows))


@app.command("use")
def use(context: typer.Context, name: NameArgument) -> None:
    """Make a context the current one."""
    session = session_of(context)
    contexts = read_contexts(session.contexts_path)
    if name not in contexts.known:
        known = ", ".join(sorted(contexts.known)) or "none yet"
        raise usage(f"There is no context {name!r}; known are: {known}.")
    write_contexts(session.contexts_path, contexts.with_current(name))
    session.output.say(f"{name} ({contexts.known[name].url}) is used from now on.")


@app.command("set")
def set_context(
    context: typer.Context,
    name: NameArgument,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="The installation's address.")],
    *,
    token: Annotated[
        str, typer.Option("--token", metavar="TOKEN", help="Better: infra login --context NAME.")
    ] = "",
) -> None:
    """Keep an installation under a name, and use it from now on."""
    session = session_of(context)
    contexts = read_contexts(session.contexts_path)
    known = Context(check_url(url), token)
    write_contexts(session.contexts_path, contexts.with_context(name, known))
    session.output.say(f"Kept in {session.contexts_path}; {name} is used from now on.")


@app.command("remove")
def remove(context: typer.Context, name: NameArgument) -> None:
    """Forget a context and its token; the token itself stays valid."""
    session = session_of(context)
    contexts = read_contexts(session.contexts_path)
    if name not in contexts.known:
        raise Failure(ExitCode.NOT_FOUND, f"There is no context {name!r}.")
    write_contexts(session.contexts_path, contexts.without(name))
    session.output.say(f"{name} is forgotten.")


def login(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="[URL]", help="Else the one in use.")] = "",
    *,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The context to keep it in.")
    ] = "",
    user: Annotated[
        str, typer.Option("--user", "-u", metavar="USER", help="Asks if left out.")
    ] = "",
    paste: Annotated[
        bool, typer.Option("--paste", help="Paste a token made elsewhere instead of signing in.")
    ] = False,
) -> None:
    """Sign in, and keep a token of your own for this machine."""
    session = session_of(context)
    found = session.target()
    target = Target(check_url(url) if url else found.url, "", "login")
    kept = name or session.flags.context or urlsplit(target.url).netloc
    token = read_secret(session, "Token: ") if paste else sign_in(session, target, user)
    person = who_is(session, Target(target.url, token, "login"))
    contexts = read_contexts(session.contexts_path)
    write_contexts(session.contexts_path, contexts.with_context(kept, Context(target.url, token)))
    session.output.say(f"Signed in to {target.url} as {person}; kept as context {kept}.")


def sign_in(session: Session, target: Target, user: str) -> str:
    """Return a new token for the person. Raises Failure."""
    user = user or session.output.ask(f"User at {target.url}: ")
    password = read_secret(session, "Password: ")
    with session.api(target) as api:
        try:
            answer = api.write("POST", "login", {"username": user, "password": password})
        except Failure as failure:
            raise replace(failure, advice="") from failure  # it advises to sign in
    return text(answer.document, "token")


def who_is(session: Session, target: Target) -> str:
    """Return who the token stands for. Raises Failure when it stands for nobody."""
    with session.api(target) as api:
        return text(api.get("me").document, "username")


def read_secret(session: Session, question: str) -> str:
    """Return what is typed without showing it, or a line of the input where there is no person."""
    secret = getpass.getpass(question) if session.output.asks else session.output.ask("")
    if not secret:
        raise usage("Nothing was entered.")
    return secret.strip()
