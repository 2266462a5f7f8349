"""What the node was told, and what came of it, survives anything."""

from __future__ import annotations

import os
import signal
import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from agent.database import MIGRATIONS, Database, NewerLedger
from agent.facts import VERSION
from agent.incarnation import Machine, ensure_life
from agent.intents import Intents, Replaced
from agent.journal import Journal, Severity
from agent.ledger import Acceptance, Entry, Ledger, Rival
from agent.numbers import BLOCK, Growing
from agent.planning.droplets import StopAsked
from agent.protocol.declarations import Declaration
from agent.protocol.messages import StepOrder, StepOutcome
from agent.protocol.values import InstallationIdentity
from tests.agent.declared import WEB, absent, age, droplet, seen

HOME = InstallationIdentity(id=UUID(int=9), epoch=1, token="t" * 32)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


def order(declaration: Declaration, step: int = 1) -> StepOrder:
    return StepOrder(
        step_id=UUID(int=1000 + step), operation_id=UUID(int=2000 + step), declaration=declaration
    )


def take(ledger: Ledger, *orders: StepOrder, delivery: int = 1) -> list[Acceptance]:
    return [taken.acceptance for taken in ledger.take(HOME, delivery, orders, at=1.0)]


def held(ledger: Ledger) -> Entry:
    entry = ledger.find(WEB)
    assert entry is not None
    return entry


def reasons(ledger: Ledger) -> list[tuple[int, str]]:
    return [(each.step_id.int - 1000, each.reason) for each in ledger.results(limit=10)]


def test_a_new_declaration_is_held_with_its_step_and_delivery(ledger: Ledger) -> None:
    assert take(ledger, order(droplet(1)), delivery=7) == [Acceptance.ACCEPTED]

    assert held(ledger).declaration == droplet(1)
    assert [step.generation for step in held(ledger).steps] == [age(1)]
    assert ledger.delivery() == 7


def test_a_newer_declaration_ends_the_steps_of_the_older(ledger: Ledger) -> None:
    take(ledger, order(droplet(1), 1))

    assert take(ledger, order(droplet(2), 2)) == [Acceptance.ACCEPTED]

    assert reasons(ledger) == [(1, "superseded")]
    assert [step.step_id.int for step in held(ledger).steps] == [1002]


def test_a_late_declaration_is_refused_and_says_so(ledger: Ledger) -> None:
    take(ledger, order(droplet(3), 1))

    assert take(ledger, order(droplet(2), 2)) == [Acceptance.SUPERSEDED]

    assert held(ledger).declaration == droplet(3)
    assert reasons(ledger) == [(2, "superseded")]


def test_a_late_declaration_cannot_bring_back_what_was_deleted(ledger: Ledger) -> None:
    take(ledger, order(absent(2)))

    assert take(ledger, order(droplet(1), 2)) == [Acceptance.SUPERSEDED]

    assert held(ledger).absent


def test_the_same_order_twice_is_one(ledger: Ledger) -> None:
    take(ledger, order(droplet(1)))

    assert take(ledger, order(droplet(1))) == [Acceptance.REPEATED]

    assert len(held(ledger).steps) == 1


def test_a_step_sent_anew_under_a_newer_generation_goes_on(ledger: Ledger) -> None:
    take(ledger, order(droplet(1), 1))

    take(ledger, order(droplet(2), 1))

    assert reasons(ledger) == []
    assert [step.generation for step in held(ledger).steps] == [age(2)]


def test_the_lost_order_that_arrives_after_all_does_not_close_the_one_sent_anew(
    ledger: Ledger,
) -> None:
    take(ledger, order(droplet(2), 1))

    assert take(ledger, order(droplet(1), 1)) == [Acceptance.SUPERSEDED]

    assert [step.generation for step in held(ledger).steps] == [age(2)]


def test_one_generation_cannot_mean_two_things(ledger: Ledger) -> None:
    take(ledger, order(droplet(1), 1))

    assert take(ledger, order(droplet(1, vcpus=4), 2)) == [Acceptance.CONFLICTING]

    assert held(ledger).declaration == droplet(1)
    assert reasons(ledger) == [(2, "generation.conflict")]


def test_a_step_ends_once_and_is_told_until_it_is_recorded(ledger: Ledger) -> None:
    take(ledger, order(droplet(1)))
    entry = held(ledger)

    results = ledger.finish(entry, StepOutcome.DONE, at=2.0, observed=seen(droplet(1)))

    assert held(ledger).converged
    assert held(ledger).steps == ()
    assert ledger.results(limit=10) == results
    take(ledger, order(droplet(1)))
    assert held(ledger).steps == ()
    ledger.forget_results(results)
    assert ledger.results(limit=10) == ()


def test_a_step_asked_for_again_after_its_end_was_recorded_is_answered_again(
    ledger: Ledger,
) -> None:
    take(ledger, order(droplet(1)))
    ledger.forget_results(ledger.finish(held(ledger), StepOutcome.DONE, at=2.0))

    take(ledger, order(droplet(1)))

    assert len(held(ledger).steps) == 1


def test_the_end_of_a_replaced_declaration_is_not_that_of_its_successor(ledger: Ledger) -> None:
    take(ledger, order(droplet(1), 1))
    before = held(ledger)
    take(ledger, order(droplet(2), 2))

    assert ledger.finish(before, StepOutcome.DONE, at=2.0) == ()
    assert not ledger.mark(WEB, age(1), converged=True)

    assert not held(ledger).converged
    assert [step.step_id.int for step in held(ledger).steps] == [1002]


def test_what_was_reached_stays_known_when_the_node_differs_again(ledger: Ledger) -> None:
    take(ledger, order(droplet(1)))
    ledger.mark(WEB, age(1), converged=True)
    ledger.mark(WEB, age(1), converged=False)

    assert held(ledger).reached
    assert not held(ledger).converged


def test_a_rival_is_refused_whole(ledger: Ledger) -> None:
    take(ledger, order(droplet(1)))
    rivals = [
        HOME.model_copy(update={"id": UUID(int=8)}),
        HOME.model_copy(update={"token": "x" * 32}),
    ]

    for rival in rivals:
        with pytest.raises(Rival):
            ledger.take(rival, 9, [order(droplet(5), 2)], at=1.0)

    assert held(ledger).declaration == droplet(1)
    assert ledger.delivery() == 1


def test_a_restored_control_plane_is_obeyed_and_the_lost_one_no_more(ledger: Ledger) -> None:
    take(ledger, order(droplet(7)))
    restored = HOME.model_copy(update={"epoch": 2, "token": "u" * 32})

    newer = order(droplet(generation=age(1, epoch=2)), 2)
    taken = ledger.take(restored, 1, [newer], at=1.0)

    assert taken[0].acceptance is Acceptance.ACCEPTED
    with pytest.raises(Rival):
        take(ledger, order(droplet(8), 3))


def test_the_digest_tells_what_is_held(ledger: Ledger) -> None:
    take(ledger, order(droplet(3)), delivery=4)

    delivery, (entry,) = ledger.digest()

    assert delivery == 4
    assert (entry.resource_id, entry.generation, entry.absent) == (WEB, age(3), False)
    assert entry.step_id == UUID(int=1001)


def test_numbers_grow_across_crashes(database: Database) -> None:
    first = Growing(database, "poll")
    given = [first.next() for _ in range(BLOCK + 5)]

    after = Growing(database, "poll").next()

    assert given == list(range(1, BLOCK + 6))
    assert after == 2 * BLOCK + 1


def test_the_journal_has_no_gaps_and_is_trimmed_by_what_was_recorded(database: Database) -> None:
    journal = Journal(database, limit=3)
    for number in range(5):
        journal.write("test", f"line {number}", at=1.0, severity=Severity.WARNING)

    assert [line.number for line in journal.read(limit=9)] == [1, 2, 3]
    journal.forget(through=2)
    journal.write("test", "after", at=2.0)

    lines = journal.read(limit=9)
    assert [line.number for line in lines] == [3, 4, 5]
    assert [line.event for line in lines] == ["test", "journal.full", "test"]
    assert "2 lines" in lines[1].message


def test_the_journal_goes_on_counting_when_all_was_recorded(database: Database) -> None:
    Journal(database).write("test", "one", at=1.0)
    Journal(database).forget(through=1)

    Journal(database).write("test", "nul \0 goes", at=1.0)

    (line,) = Journal(database).read(limit=9)
    assert (line.number, line.message) == (2, "nul  goes")


def test_an_intent_for_a_replaced_declaration_is_not_begun(
    database: Database, ledger: Ledger
) -> None:
    intents = Intents(database, ordinal=1)
    take(ledger, order(droplet(1), 1))
    take(ledger, order(droplet(2), 2))

    with pytest.raises(Replaced):
        intents.begin(droplet(1), "start", at=1.0)


def test_an_interrupted_intent_is_told_of_once(database: Database, ledger: Ledger) -> None:
    take(ledger, order(droplet(1)))
    intents = Intents(database, ordinal=1)
    intents.end(intents.begin(droplet(1), "define", at=1.0), "done", at=1.0)
    intents.begin(droplet(1), "start", at=1.0)

    assert [each.action for each in intents.take_interrupted(at=2.0)] == ["start"]
    assert intents.take_interrupted(at=3.0) == ()


def test_a_grace_outlives_the_agent_but_not_the_machine_nor_the_declaration(
    database: Database, ledger: Ledger
) -> None:
    take(ledger, order(absent(2)))
    Intents(database, ordinal=1).ask_stop(absent(2), steady=100)
    Intents(database, ordinal=1).ask_stop(absent(2), steady=110)

    assert Intents(database, ordinal=1).find_stop(absent(2), steady=130) == StopAsked(30, 20)
    assert Intents(database, ordinal=2).find_stop(absent(2), steady=130) is None
    assert Intents(database, ordinal=1).find_stop(absent(3), steady=130) is None


def test_a_life_is_one_agent_after_the_other_and_ends_with_the_machine(
    database: Database, tmp_path: Path
) -> None:
    run, machine = tmp_path / "run", Machine("boot", 5)

    def life(number: int, machine: Machine = machine):
        return ensure_life(database, run, machine, fresh_id=UUID(int=number), at=1.0)

    first = life(1)
    assert life(2) == first
    (run / "incarnation.json").unlink()
    second = life(3)
    third = life(4, Machine("boot 2", 5))

    assert [first.ordinal, second.ordinal, third.ordinal] == [1, 2, 3]
    assert [second.id.int, third.id.int] == [3, 4]


def test_a_machine_that_lost_its_ledger_is_not_taken_for_its_past(tmp_path: Path) -> None:
    def first_life(name: str, at: float) -> int:
        opened = Database(tmp_path / name)
        life = ensure_life(opened, tmp_path / f"run {name}", Machine("b", 1), fresh_id=WEB, at=at)
        opened.close()
        return life.ordinal

    assert first_life("lost.sqlite", 1_700_000_000) < first_life("new.sqlite", 1_700_000_100)


def test_a_newer_ledger_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Database(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()

    with pytest.raises(NewerLedger):
        Database(path)


def test_the_ledger_is_synced_and_private(tmp_path: Path, database: Database) -> None:
    with database.reading() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert (tmp_path / "ledger.sqlite").stat().st_mode & 0o077 == 0


def work(path: Path) -> None:
    """Carry out a small life: a droplet is made, changed, and what came of it recorded."""
    database = Database(path)
    ledger, intents, journal = Ledger(database), Intents(database, ordinal=1), Journal(database)
    ledger.take(HOME, 1, [order(droplet(1), 1)], at=1.0)
    entry = ledger.find(WEB)
    if entry is not None and entry.declaration == droplet(1):
        intents.end(intents.begin(droplet(1), "define", at=1.0), "done", at=1.0)
        ledger.finish(entry, StepOutcome.DONE, at=1.0)
    journal.write("test", "half way", at=1.0)
    ledger.take(HOME, 2, [order(droplet(2), 2), order(droplet(1), 3)], at=1.0)
    ledger.finish(held(ledger), StepOutcome.DONE, at=1.0)
    journal.write("test", "done", at=1.0)
    database.close()


def killed_at(statement: int, path: Path) -> bool:
    """Work in a child that dies by SIGKILL before the n-th statement; whether it did die."""
    child = os.fork()
    if child == 0:
        seen_so_far = 0

        def count(_: str) -> None:
            nonlocal seen_so_far
            seen_so_far += 1
            if seen_so_far == statement:
                os.kill(os.getpid(), signal.SIGKILL)

        connect = sqlite3.connect

        def traced(*args, **options):
            connection = connect(*args, **options)
            connection.set_trace_callback(count)
            return connection

        sqlite3.connect = traced
        try:
            work(path)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_the_ledger_holds_together_wherever_the_agent_is_killed(tmp_path: Path) -> None:
    for statement in range(1, 400):
        path = tmp_path / f"{statement}.sqlite"
        died = killed_at(statement, path)

        database = Database(path)
        ledger = Ledger(database)
        entry, results = ledger.find(WEB), reasons(ledger)
        # An order and the number of its delivery are written together or not at all.
        assert (ledger.delivery() >= 1) == (entry is not None)
        if entry is not None:
            assert (entry.declaration.generation == age(2)) == (ledger.delivery() == 2)
            # A step is open or its end is told; never neither, never both.
            ended = {number for number, _ in results}
            still_open = {step.step_id.int - 1000 for step in entry.steps}
            assert not ended & still_open
            assert 1 in ended | still_open
            assert entry.converged == (not still_open)
        lines = Journal(database).read(limit=9)
        assert [line.number for line in lines] == list(range(1, len(lines) + 1))
        database.close()

        work(path)  # the next agent takes up where this one was killed
        database = Database(path)
        assert held(Ledger(database)).converged
        assert {number for number, _ in reasons(Ledger(database))} == {1, 2, 3}
        database.close()
        if not died:
            assert statement > 40
            return
    raise AssertionError("the work never ended")


def test_the_agent_says_the_version_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

    assert project["project"]["version"] == VERSION
