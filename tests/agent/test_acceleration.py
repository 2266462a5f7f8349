"""The acceleration probe: what it concludes, and that it never hangs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.acceleration.cache import Ground, cached_probe, recall, remember
from agent.acceleration.probe import probe
from agent.acceleration.sector import SECTOR
from agent.acceleration.verdict import Acceleration, Ending, Kind, Trial, decide
from tests.waiting import wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
QEMU = "qemu-system-x86_64"
GROUND = Ground("6.1.0", "QEMU emulator version 7.2.22", "b0")


def trial(accelerator: Kind, ending: Ending, written: bytes = b"", complaint: str = "") -> Trial:
    return Trial(accelerator, ending, written, complaint, 0.5)


def fake_emulator(folder: Path, script: str) -> str:
    path = folder / "emulator"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_guest_that_ran_under_kvm_is_enough() -> None:
    verdict = decide([trial(Kind.KVM, Ending.COMPLETED, b"RLIW")])
    assert verdict.kind is Kind.KVM
    assert verdict.evidence == "kvm: a test guest ran through in 0.5 s."


def test_a_hang_under_kvm_falls_back_to_tcg_and_says_where_it_hung() -> None:
    verdict = decide(
        [
            trial(Kind.KVM, Ending.LIMIT, b"RL", "KVM internal error. Suberror: 1"),
            trial(Kind.TCG, Ending.COMPLETED, b"RLIW"),
        ]
    )
    assert verdict.kind is Kind.TCG
    assert "kvm: the test guest hung at the first interrupt in long mode" in verdict.evidence
    assert "KVM internal error" in verdict.evidence
    assert verdict.seconds == 1.0


def test_no_guest_that_ran_means_none() -> None:
    verdict = decide([trial(k, Ending.EXITED, b"R") for k in (Kind.KVM, Kind.TCG)])
    assert verdict.kind is Kind.NONE


def test_nothing_tried_means_none() -> None:
    assert decide([]).kind is Kind.NONE


@pytest.mark.parametrize("ending", [e for e in Ending if e is not Ending.COMPLETED])
def test_every_other_ending_is_no_evidence(ending: Ending) -> None:
    verdict = decide([trial(Kind.KVM, ending, b"RLI"), trial(Kind.TCG, ending, b"RLI")])
    assert verdict.kind is Kind.NONE
    assert verdict.evidence.startswith("kvm: ")
    assert "tcg: " in verdict.evidence


def test_an_emulator_does_not_outlive_an_agent_that_is_killed_while_it_probes(
    tmp_path: Path,
) -> None:
    told = tmp_path / "pid"
    emulator = fake_emulator(tmp_path, f"echo $$ > {told}.new; mv {told}.new {told}; exec sleep 60")
    words = f"from agent.acceleration.probe import probe; probe({emulator!r}, limit_seconds=50)"
    agent = subprocess.Popen([sys.executable, "-c", words], cwd=CHECKOUT)
    wait_until(told.exists, what="the emulator")
    emulated = Path("/proc") / told.read_text().strip()
    assert emulated.exists()
    agent.kill()
    agent.wait()
    wait_until(lambda: not emulated.exists(), what="the end of the emulator")


def test_a_missing_emulator_is_a_reason_not_an_exception() -> None:
    verdict = probe("/nowhere/qemu", limit_seconds=5)
    assert verdict.kind is Kind.NONE
    assert "could not be started (No such file or directory)" in verdict.evidence


def test_an_emulator_that_hangs_is_ended_at_the_limit_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    emulator = fake_emulator(tmp_path, f"sleep 1000 & echo $! >> {pids}; echo R; wait")
    started = time.monotonic()
    verdict = probe(emulator, limit_seconds=0.5)
    assert time.monotonic() - started < 60  # it would sleep for 1000 s
    assert verdict.kind is Kind.NONE
    assert "hung between real mode and long mode and was ended after 0.5 s" in verdict.evidence
    assert len(pids.read_text().split()) == 2
    family = [int(pid) for pid in pids.read_text().split()]
    wait_until(lambda: not any(map(is_alive, family)), what="the end of the whole family")


def test_an_emulator_that_talks_without_end_is_ended(tmp_path: Path) -> None:
    emulator = fake_emulator(tmp_path, "yes nonsense")
    started = time.monotonic()
    assert probe(emulator, limit_seconds=60).kind is Kind.NONE
    assert time.monotonic() - started < 60


def test_a_broken_accelerator_is_not_waited_for(tmp_path: Path) -> None:
    emulator = fake_emulator(
        tmp_path, "printf RL; echo 'KVM internal error. Suberror: 1' >&2; sleep 1000"
    )
    started = time.monotonic()
    verdict = probe(emulator, limit_seconds=30)
    assert time.monotonic() - started < 30
    assert "broke" in verdict.evidence


def test_a_verdict_is_recalled_only_on_the_same_ground() -> None:
    found = Acceleration(Kind.TCG, "tcg: ran.", 0.4)
    text = remember(found, GROUND)
    assert recall(text, GROUND) == found
    assert recall(text, Ground("6.1.0", GROUND.emulator_version, "b1")) is None
    assert recall(text, Ground("6.2.0", GROUND.emulator_version, "b0")) is None
    assert recall(text, Ground("6.1.0", "QEMU emulator version 8", "b0")) is None


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"ground": 1}'])
def test_an_unreadable_record_is_no_record(text: str) -> None:
    assert recall(text, GROUND) is None


def test_the_second_probe_is_answered_from_the_file(tmp_path: Path) -> None:
    count = tmp_path / "count"
    emulator = fake_emulator(
        tmp_path,
        f'[ "$1" = --version ] && echo "QEMU emulator version 1" && exit; '
        f"echo run >> {count}; printf RLIW",
    )
    path = tmp_path / "facts" / "acceleration.json"
    first = cached_probe(path, emulator, limit_seconds=5)
    assert cached_probe(path, emulator, limit_seconds=5) == first
    assert first.kind is Kind.KVM
    assert count.read_text().split() == ["run"]


def test_none_is_not_kept_because_its_cause_may_pass(tmp_path: Path) -> None:
    emulator = fake_emulator(tmp_path, '[ "$1" = --version ] && echo "QEMU 1"; exit 1')
    path = tmp_path / "acceleration.json"
    assert cached_probe(path, emulator, limit_seconds=5).kind is Kind.NONE
    assert not path.exists()


def test_the_sector_is_what_its_source_says(tmp_path: Path) -> None:
    if not (shutil.which("as") and shutil.which("objcopy")):
        pytest.skip("binutils are not installed")
    source = Path("agent/acceleration/sector.S").resolve()
    subprocess.run(["as", "--64", source, "-o", tmp_path / "o"], check=True)
    subprocess.run(["objcopy", "-O", "binary", tmp_path / "o", tmp_path / "bin"], check=True)
    assert (tmp_path / "bin").read_bytes() == SECTOR


@pytest.mark.libvirt
def test_this_machine_runs_a_guest_within_the_limits() -> None:
    started = time.monotonic()
    verdict = probe(QEMU, limit_seconds=15)
    assert time.monotonic() - started < 2 * 16
    assert verdict.kind in {Kind.KVM, Kind.TCG}, verdict.evidence
    assert "ran through" in verdict.evidence


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in {"Z", "X"}
