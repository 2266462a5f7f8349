"""Which system packages are missing is read from the machine, not from dpkg."""

from pathlib import Path

import pytest

from infra.bootstrap.progress import Progress
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.systempackages import (
    PRODUCT,
    TESTS,
    Package,
    ensure_packages,
    is_present,
    missing,
)

ABSENT = Package("frobnicator", "to frobnicate", signs=("no-such-program-anywhere",))


def put(path: Path, *, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(mode)


def test_a_program_in_a_folder_of_daemons_counts_as_there(tmp_path: Path) -> None:
    package = Package("libvirt-daemon-system", "", signs=("libvirtd", "virtqemud"))
    assert not is_present(package, tmp_path)
    put(tmp_path / "usr/sbin/libvirtd", mode=0o755)
    assert is_present(package, tmp_path)


def test_a_file_that_cannot_be_run_is_not_a_program(tmp_path: Path) -> None:
    put(tmp_path / "usr/sbin/libvirtd")
    assert not is_present(Package("x", "", signs=("libvirtd",)), tmp_path)


def test_a_path_pattern_finds_any_version(tmp_path: Path) -> None:
    package = Package("postgresql", "", signs=("/usr/lib/postgresql/*/bin/initdb",))
    assert not is_present(package, tmp_path)
    put(tmp_path / "usr/lib/postgresql/17/bin/initdb", mode=0o755)
    assert is_present(package, tmp_path)


def test_modules_must_all_import() -> None:
    assert is_present(Package("x", "", modules=("venv", "ensurepip")))
    assert not is_present(Package("x", "", modules=("venv", "no_such_module_anywhere")))


def test_on_an_empty_machine_every_package_with_a_sign_is_missing(tmp_path: Path) -> None:
    names = {package.name for package in missing((*PRODUCT, *TESTS), tmp_path)}
    signs = {package.name for package in (*PRODUCT, *TESTS) if package.signs}
    assert names == signs
    assert {"postgresql", "redis-server", "qemu-system-x86", "libvirt-dev", "gcc"} <= names


def test_every_package_says_why_it_is_needed() -> None:
    assert all(package.why for package in (*PRODUCT, *TESTS))


def test_what_is_missing_is_printed_with_its_reason_before_the_refusal_to_install(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(CannotContinue, match=r"apt-get install .* frobnicator"):
        ensure_packages([ABSENT], may_install=False, progress=Progress())
    said = capsys.readouterr().out
    assert "frobnicator" in said
    assert "to frobnicate" in said


def test_without_apt_it_prints_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("infra.bootstrap.systempackages.SBIN", ())
    with pytest.raises(CannotContinue, match=r"no apt.*frobnicator"):
        ensure_packages([ABSENT], may_install=True, progress=Progress())
