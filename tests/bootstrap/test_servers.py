"""The private PostgreSQL and Redis: really started, really stopped."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from infra.bootstrap import postgres, redisserver
from infra.bootstrap.installation import Installation
from infra.bootstrap.leftovers import end_leftovers, find_leftovers
from infra.bootstrap.places import CHECKOUT, Places, ensure_places
from infra.bootstrap.ports import Ports
from infra.bootstrap.progress import Progress
from infra.bootstrap.readiness import redis_answers
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.starting import Facts, Start, parse_facts
from infra.bootstrap.supervisor import Supervisor
from tests.waiting import wait_until


@pytest.fixture
def places() -> Iterator[Places]:
    # Not pytest's own folder: PostgreSQL's user cannot pass through it.
    with tempfile.TemporaryDirectory(prefix="infra-servers-") as folder:
        places = Places(Path(folder))
        ensure_places(places)
        yield places
        end_leftovers(find_leftovers(places))


def supervisor_of(places: Places) -> Supervisor:
    return Supervisor(places, port=1, progress=Progress())


def start_servers(places: Places, supervisor: Supervisor) -> None:
    installation = Installation(places, Ports(18110))
    Start(installation, supervisor, Progress()).servers(throw_away=True)


def shutdown_was_clean(places: Places) -> bool:
    log = (places.log / "postgres.log").read_text()
    return log.rstrip().endswith("database system is shut down")


def test_both_start_answer_stop_cleanly_and_keep_their_data(places: Places) -> None:
    supervisor = supervisor_of(places)
    with supervisor.watching():
        start_servers(places, supervisor)
        assert redis_answers(places.redis_socket)
        with psycopg.connect(postgres.database_url(places)) as connection:
            connection.execute("CREATE EXTENSION btree_gist")
            connection.execute("CREATE TABLE kept (n int)")
            connection.execute("INSERT INTO kept VALUES (7)")
    assert shutdown_was_clean(places)
    assert not redis_answers(places.redis_socket)
    assert not find_leftovers(places)

    again = supervisor_of(places)
    with again.watching():
        start_servers(places, again)
        with psycopg.connect(postgres.database_url(places)) as connection:
            assert connection.execute("SELECT n FROM kept").fetchall() == [(7,)]
    assert shutdown_was_clean(places)


def test_the_database_listens_on_its_own_socket_only(places: Places) -> None:
    supervisor = supervisor_of(places)
    with supervisor.watching():
        start_servers(places, supervisor)
        with psycopg.connect(postgres.database_url(places)) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert places.postgres_sockets.stat().st_mode & 0o077 == 0


def test_an_installation_that_matters_syncs_to_disk(places: Places) -> None:
    programs = postgres.find_programs(places.cluster)
    kept = postgres.server_settings(postgres.Cluster(places, programs))
    assert "fsync" not in kept
    thrown_away = postgres.server_settings(postgres.Cluster(places, programs, throw_away=True))
    assert thrown_away["fsync"] == "off"


def test_servers_that_outlive_a_killed_supervisor_are_shut_down_cleanly(places: Places) -> None:
    script = (
        "from pathlib import Path\n"
        "from tests.bootstrap.test_servers import *\n"
        f"places = Places(Path({str(places.data)!r}))\n"
        "supervisor = supervisor_of(places)\n"
        "with supervisor.watching():\n"
        "    start_servers(places, supervisor)\n"
        "    print('up', flush=True)\n"
        "    supervisor.serve()\n"
    )
    popen = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    )
    assert popen.stdout is not None
    wait_until(lambda: popen.stdout.readline() == "up\n", seconds=60, what="both to be up")
    os.kill(popen.pid, signal.SIGKILL)
    popen.wait()
    leftovers = find_leftovers(places)
    assert len(leftovers.database) == 1
    assert len(leftovers.others) == 1
    end_leftovers(leftovers)
    assert shutdown_was_clean(places)
    assert not find_leftovers(places)


def test_a_crash_while_the_cluster_is_made_leaves_nothing_that_looks_like_one(
    places: Places,
) -> None:
    draft = places.data / "pg.new"
    draft.mkdir()
    (draft / "PG_VERSION").write_text("15\n")
    cluster = postgres.Cluster(places, postgres.find_programs(places.cluster), throw_away=True)
    assert postgres.prepare(cluster)
    assert not draft.exists()
    assert not postgres.prepare(cluster)


def test_data_of_a_version_that_is_not_there_is_refused_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "16/bin").mkdir(parents=True)
    (tmp_path / "16/bin/initdb").write_text("")
    (tmp_path / "pg").mkdir()
    (tmp_path / "pg/PG_VERSION").write_text("9\n")
    with pytest.raises(CannotContinue, match=r"PostgreSQL 9.*found: 16"):
        postgres.find_programs(tmp_path / "pg", tmp_path)


def test_the_newest_version_is_chosen_by_number(tmp_path: Path) -> None:
    for version in ("9", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin/initdb").write_text("")
    assert postgres.find_programs(tmp_path / "pg", tmp_path) == tmp_path / "17/bin"


def test_redis_keeps_nothing_and_has_no_port(places: Places) -> None:
    words = redisserver.spec(places).argv
    assert words[words.index("--port") + 1] == "0"
    assert words[words.index("--save") + 1] == ""


def test_the_facts_of_an_installation_are_read_from_its_answer() -> None:
    told = {"installation_id": "i", "admin_password": "p", "node_token": None}
    facts = parse_facts(json.dumps({**told, "declare_example": True, "zone_id": "z"}))
    assert facts == Facts("i", admin_password="p", node_token=None, declare_example=True)
    with pytest.raises(CannotContinue, match="no JSON"):
        parse_facts("Traceback")
