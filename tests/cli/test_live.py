"""The command against the real API, with a node that really answers."""

from __future__ import annotations

import json

import pytest
import yaml

from inventory.models import Node, Placement, Resource, Zone
from operations.models import Operation
from tests import factories
from tests.cli.command import Infra
from tests.cli.live import Fleet, Web
from tests.cli.proxy import LossyProxy
from tests.waiting import wait_until

MANIFESTS = """
apiVersion: infra/v1
kind: Zone
metadata: {name: rack-1}
spec: {kind_label: rack}
---
apiVersion: infra/v1
kind: Droplet
metadata: {name: web, labels: {app: web}}
spec: {image: tiny, vcpus: 2, memory_mib: 512, disk_gib: 2}
"""


def columns(line: str) -> list[str]:
    return [cell for cell in line.split("   ") if cell.strip()]


def test_a_droplet_is_created_followed_and_listed(live: Infra, fleet: Fleet) -> None:
    made = live(
        "create", "droplet", "服务测试", "--image", "tiny", "--vcpus", "2", "--memory", "1G"
    )

    assert (made.code, made.err.count("Error")) == (0, 0), made.err
    assert "succeeded" in made.out
    wait_until(lambda: "running" in live("get", "droplets").out, what="the droplet to be seen")
    listed = live("get", "droplets")
    title, line = listed.out.splitlines()
    assert title.split()[:3] == ["NAME", "STATE", "NODE"]
    assert line.split()[:6] == ["服务测试", "running", "n1", "-", "2", "1.0"]
    assert live("get", "droplet", "服务测试", "-o", "name").out == "droplet/服务测试\n"


def test_json_and_yaml_are_what_the_server_said(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "hello", "--image", "tiny", "-l", "app=web")

    one = json.loads(live("get", "droplet", "hello", "-o", "json").out)
    several = yaml.safe_load(live("get", "droplets", "-l", "app=web", "-o", "yaml").out)

    assert one["name"] == "hello"
    assert one["spec"]["image"]
    assert [found["id"] for found in several] == [one["id"]]
    assert live("get", "droplets", "-l", "app=db").out == ""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["get", "droplet", "nothing"], 3),
        (["describe", "node", "nothing"], 3),
        (["start", "nothing"], 3),
        (["create", "droplet", "a", "--image", "nothing"], 1),
        (["create", "droplet", "bad\u202ename", "--image", "tiny"], 1),
        (["create", "droplet", "hello", "--image", "tiny"], 4),
        (["delete", "droplet", "hello"], 2),
        (["delete", "droplet", "hello", "--yes-delete", "hallo"], 2),
        (["cancel", "999999"], 3),
    ],
)
def test_each_bad_end_has_its_code_and_leaves_nothing(
    live: Infra, fleet: Fleet, words: list[str], code: int
) -> None:
    live("create", "droplet", "hello", "--image", "tiny")

    ran = live(*words)

    assert ran.code == code, ran.err
    assert ran.out == ""
    assert ran.err.startswith("Error: ")
    assert "Traceback" not in ran.err
    assert Resource.objects.filter(kind="droplet").count() == 1


def test_without_a_token_one_is_told_how_to_sign_in(live: Infra) -> None:
    ran = live("get", "droplets", INFRA_TOKEN="")

    assert ran.code == 1
    assert "infra login" in ran.err


def test_signing_in_keeps_a_token_that_works(infra: Infra, web: Web) -> None:
    ran = infra("login", web.url, "--name", "lab", "--user", "admin", text="a long pass phrase\n")

    assert ran.code == 0, ran.err
    assert infra("get", "zones").code == 0
    assert "a long pass phrase" not in ran.err + ran.out
    kept = infra.home / "config" / "infra" / "contexts.json"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_wrong_password_keeps_nothing(infra: Infra, web: Web) -> None:
    ran = infra("login", web.url, "--user", "admin", text="wrong\n")

    assert ran.code == 1
    assert not (infra.home / "config").exists()


def test_a_dry_run_checks_and_leaves_nothing(live: Infra, fleet: Fleet) -> None:
    ran = live("create", "droplet", "hello", "--image", "tiny", "--dry-run")

    assert ran.code == 0, ran.err
    assert "nothing was changed" in ran.err
    assert not Resource.objects.filter(kind="droplet").exists()


def test_the_life_of_a_droplet(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "hello", "--image", "tiny")

    for words in (
        ["stop", "hello", "--grace", "5", "--force"],
        ["resize", "hello", "--memory", "1G"],
        ["rename", "hello", "hallo"],
        ["start", "hallo", "--reason", "back to work"],
        ["reboot", "hallo"],
        ["rebuild", "hallo", "--yes-rebuild", "hallo"],
        ["wait", "droplet", "hallo", "--for", "running", "--timeout", "20"],
        ["delete", "droplet", "hallo", "--yes-delete", "hallo"],
    ):
        ran = live(*words)
        assert ran.code == 0, (words, ran.err)

    assert not Placement.objects.filter(released_at__isnull=True).exists()
    assert live("get", "droplets").out == ""
    assert Operation.objects.filter(reason="back to work").count() == 1


def test_manifests_are_planned_compared_and_applied(live: Infra, fleet: Fleet) -> None:
    planned = live("plan", "-f", "-", text=MANIFESTS)
    assert planned.code == 0, planned.err
    assert planned.out.splitlines() == ["+ Zone rack-1: create", "+ Droplet web: create"]
    assert not Zone.objects.filter(name="rack-1").exists()

    assert live("diff", "-f", "-", text=MANIFESTS).code == 1
    applied = live("apply", "-f", "-", text=MANIFESTS)
    assert applied.code == 0, applied.err
    assert Zone.objects.get(name="rack-1").kind_label == "rack"
    same = live("diff", "-f", "-", text=MANIFESTS)
    assert (same.code, same.out) == (0, "")

    changed = live("diff", "-f", "-", text=MANIFESTS.replace("vcpus: 2", "vcpus: 4"))
    assert changed.code == 1
    assert "2 -> 4" in changed.out


def test_an_error_in_a_manifest_is_named_by_file_and_nothing_is_applied(
    live: Infra, fleet: Fleet
) -> None:
    (live.home / "all.yaml").write_text(MANIFESTS.replace("vcpus: 2", "vcpus: -2"))

    ran = live("apply", "-f", "all.yaml")

    assert ran.code == 1
    assert "all.yaml, document 2 (Droplet web): /spec/vcpus" in ran.err
    assert not Zone.objects.filter(name="rack-1").exists()


def test_a_lost_answer_is_asked_for_again_and_makes_one_droplet(
    live: Infra, web: Web, fleet: Fleet
) -> None:
    with LossyProxy(web.url, lose=2) as proxy:
        told = {"INFRA_URL": proxy.url}
        ran = live("create", "droplet", "once", "--image", "tiny", **told)

    assert ran.code == 0, ran.err
    assert proxy.lost == 2
    assert "Asking again" in ran.err
    assert Resource.objects.filter(kind="droplet").count() == 1
    assert Operation.objects.filter(resource_kind="droplet").count() == 1


def test_an_answer_that_stays_lost_is_uncertain_and_can_be_repeated_under_its_key(
    live: Infra, web: Web, fleet: Fleet
) -> None:
    words = ("create", "droplet", "once", "--image", "tiny")
    with LossyProxy(web.url, lose=99) as proxy:
        ran = live(*words, INFRA_URL=proxy.url)
    assert ran.code == 5
    assert "not known" in ran.err
    key = ran.err.partition("--idempotency-key ")[2].split()[0]

    again = live("--idempotency-key", key, *words)

    assert again.code == 0, again.err
    assert Resource.objects.filter(kind="droplet").count() == 1


def test_waiting_ends_with_5_and_says_what_is_known(live: Infra, fleet: Fleet) -> None:
    fleet.pause()
    ran = live("create", "droplet", "hello", "--image", "tiny", "--timeout", "1")

    assert ran.code == 5
    number = Operation.objects.get(resource_kind="droplet").public_id
    assert f"infra describe operation {number}" in ran.err
    waited = live("wait", "operation", str(number), "--for", "succeeded", "--timeout", "1")
    assert waited.code == 5
    fleet.resume()
    assert live("wait", "operation", str(number), "--timeout", "20").code == 0


def test_an_operation_explains_itself(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "hello", "--image", "tiny", "--reason", "a first one")
    number = Operation.objects.get(resource_kind="droplet").public_id

    told = live("describe", "operation", str(number))

    assert told.code == 0, told.err
    assert f"Operation {number}: droplet.create hello: succeeded" in told.out
    assert "Asked" in told.out
    assert "a first one" in told.out
    assert "Journal" in told.out


def test_an_operation_of_which_nothing_was_sent_can_be_cancelled(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "hello", "--image", "tiny")
    fleet.pause()
    live("stop", "hello", "--no-wait")
    number = Operation.objects.latest("public_id").public_id

    ran = live("cancel", str(number))

    assert Operation.objects.get(public_id=number).state == "cancelled"
    assert ran.code == 0, ran.err


def test_a_watch_shows_what_changes_as_lines(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "one", "--image", "tiny")
    with live.start("get", "droplets", "--watch", "-o", "name") as watching:
        watching.wait_for("droplet/one")
        live("create", "droplet", "two", "--image", "tiny")
        watching.wait_for("droplet/two")
    assert watching.err == []


def test_a_watch_at_a_terminal_is_redrawn_and_ctrl_c_ends_it_clean(
    live: Infra, fleet: Fleet
) -> None:
    live("create", "droplet", "one", "--image", "tiny")
    with live.at_terminal("get", "droplets", "--watch") as terminal:
        terminal.wait_for(b"one")
        live("create", "droplet", "two", "--image", "tiny", "--no-wait")
        terminal.wait_for(b"two")
        terminal.type(b"\x03")

        assert terminal.wait() == 130
        assert b"Traceback" not in terminal.screen
        assert terminal.screen.rstrip().endswith(b"goes on without you.")


def test_a_stream_that_is_lost_is_said_and_polled_for(live: Infra, web: Web, fleet: Fleet) -> None:
    live("create", "droplet", "one", "--image", "tiny")
    with LossyProxy(web.url, lose=99, method=b"GET /api/v1/events") as proxy:
        told = {"INFRA_URL": proxy.url}
        with live.start("get", "droplets", "--watch", "-o", "name", **told) as watching:
            watching.wait_for("droplet/one")
            watching.wait_for("event stream was lost", said=True)
            live("create", "droplet", "two", "--image", "tiny")
            watching.wait_for("droplet/two")
            proxy.lose = 0
            watching.wait_for("event stream is back", said=True)


def test_a_node_is_added_with_its_join_command_and_drained(live: Infra, fleet: Fleet) -> None:
    added = live("node", "add", "n2", "--zone", "home", "-l", "disk=ssd")

    assert added.code == 0, added.err
    assert "infra_node_" in added.out
    assert Node.objects.get(name="n2").labels == {"disk": "ssd"}
    drained = live("node", "drain", "n1")
    assert drained.code == 0, drained.err
    assert live("wait", "node", "n1", "--for", "drained", "--timeout", "10").code == 0
    assert live("node", "resume", "n1").code == 0
    assert live("node", "leave", "n1").code == 4


def test_an_image_is_uploaded_and_can_be_used(live: Infra, fleet: Fleet) -> None:
    (live.home / "disk.img").write_bytes(b"not much of a disk" * 1000)

    ran = live("image", "upload", "disk.img", "--name", "mine")

    assert ran.code == 0, ran.err
    spec = Resource.objects.get(kind="image", name="mine").spec
    assert (spec["format"], spec["size_bytes"]) == ("raw", 18000)


def test_tokens_are_made_shown_once_and_revoked(live: Infra) -> None:
    made = live("create", "token", "laptop", "--read-only", "--days", "7")
    assert made.code == 0, made.err
    reader = {"INFRA_TOKEN": made.out.strip()}

    assert live("get", "zones", **reader).code == 0
    refused = live("create", "zone", "attic", **reader)
    assert refused.code == 1
    assert "laptop" in live("get", "tokens").out
    assert made.out.strip() not in live("get", "tokens", "-o", "json").out
    assert live("delete", "token", "laptop", "--yes-delete", "laptop").code == 0
    assert live("get", "zones", **reader).code == 1


def test_a_protected_droplet_is_not_deleted(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "precious", "--image", "tiny", "--protected")

    ran = live("delete", "droplet", "precious", "--yes-delete", "precious")

    assert ran.code == 4
    assert "protect" in ran.err
    assert live("unprotect", "droplet", "precious").code == 0
    assert live("delete", "droplet", "precious", "--yes-delete", "precious").code == 0


def test_labels_are_set_and_taken_away_beside_others(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "hello", "--image", "tiny", "-l", "app=web", "-l", "tier=1")

    ran = live("label", "droplet", "hello", "tier=2", "app-", "env=test")

    assert ran.code == 0, ran.err
    assert Resource.objects.get(name="hello").labels == {"tier": "2", "env": "test"}
    assert live("label", "droplet", "hello", "nonsense").code == 2


def test_asking_for_the_name_again_at_a_terminal(live: Infra, fleet: Fleet) -> None:
    live("create", "droplet", "hello", "--image", "tiny")
    with live.at_terminal("delete", "droplet", "hello") as terminal:
        terminal.wait_for(b"Repeat the name")
        terminal.type(b"hullo\r")
        assert terminal.wait() == 1
    assert Resource.objects.filter(kind="droplet", absent=False).exists()

    with live.at_terminal("delete", "droplet", "hello") as terminal:
        terminal.wait_for(b"Repeat the name")
        terminal.type(b"hello\r")
        assert terminal.wait() == 0
    assert not Resource.objects.filter(kind="droplet", deleted_at__isnull=True).exists()


def test_lists_of_many_are_cut_with_a_word_or_read_to_their_end(live: Infra, call) -> None:
    for number in range(130):
        factories.make_zone(call, f"zone-{number:03}")

    cut = live("get", "zones", "--limit", "3", "-o", "name")
    whole = live("get", "zones", "--all", "-o", "name")

    assert len(cut.out.splitlines()) == 3
    assert "more than 3" in cut.err
    assert len(whole.out.splitlines()) == 130


def test_a_reader_that_leaves_early_ends_a_list_without_words(live: Infra, call) -> None:
    for number in range(120):
        factories.make_zone(call, f"zone-{number:03}")
    words = ("get", "zones", "--all", "-o", "json")

    ran = live.in_shell(f"{live.shown(*words)} | head -1")

    assert (ran.out, ran.err) == ("[\n", "")


def test_every_kind_can_be_listed_and_described(live: Infra, fleet: Fleet, call) -> None:
    factories.make_ssh_key(call)
    live("create", "droplet", "hello", "--image", "tiny")
    names = {"droplets": "hello", "images": "tiny", "sshkeys": "ada", "nodes": "n1",
             "zones": "home", "owners": "default"}  # fmt: skip

    for kind in [*names, "resources", "operations", "found", "tokens"]:
        listed = live("get", kind, "-o", "wide")
        assert listed.code == 0, (kind, listed.err)
    for kind, name in names.items():
        told = live("describe", kind, name)
        assert told.code == 0, (kind, told.err)
        assert name in told.out.splitlines()[0]


def test_events_are_told_one_a_line(live: Infra, fleet: Fleet) -> None:
    with live.start("events", "--follow", "--topic", "operation") as listening:
        for attempt in range(20):
            live("create", "zone", f"zone-{attempt}")
            live("create", "droplet", f"hello-{attempt}", "--image", "tiny")
            if listening.out:
                break
        listening.wait_for("operation")


def test_the_server_is_asked_for_its_version(live: Infra) -> None:
    ran = live("version")

    assert ran.code == 0
    assert len(ran.out.splitlines()) == 2
