"""A libvirtd of its own for tests: in namespaces, ended as a whole, never the machine's.

Its daemons see private copies of /run, /etc/libvirt and /var/lib/libvirt, so nothing that a test
leaves or breaks can be seen outside, and a kill of its first process ends every guest in it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import wait_until

ANSWER_SECONDS = 60.0
"""About two when the capabilities of QEMU are not cached yet; more on a busy machine."""

_INIT = """
set -e
mount --make-rprivate /
[ ! -e /proc/sysrq-trigger ] || mount --bind /dev/null /proc/sysrq-trigger
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/libvirt
mount --bind {base}/etc /etc/libvirt
mount --bind {base}/lib /var/lib/libvirt
mount --bind {base}/cache /var/cache/libvirt
mount --bind {base}/log /var/log
# Name look-ups must not leave: libvirtd asks for its own name and would wait for an answer.
echo 127.0.0.1 localhost "$(hostname)" >/run/hosts; mount --bind /run/hosts /etc/hosts
: >/run/resolv.conf; mount --bind "$(readlink -f /run/resolv.conf)" "$(readlink -f /etc/resolv.conf)"
ip link set lo up || true
virtlogd -d
libvirtd -d
trap : CHLD
while :; do sleep 3600 & wait $!; done
"""

_LIBVIRTD_CONF = """
unix_sock_dir = "{base}/sock"
auth_unix_rw = "none"
log_outputs = "3:file:/var/log/libvirtd.log"
"""

_QEMU_CONF = """
security_driver = "none"
namespaces = []
cgroup_controllers = []
"""


@dataclass(frozen=True)
class Lab:
    """A running private libvirtd. `base` can be reached by QEMU's user."""

    base: Path
    init_pid: int

    @property
    def socket(self) -> Path:
        return self.base / "sock" / "libvirt-sock"

    @property
    def uri(self) -> str:
        return uri_of(self.socket)

    def virsh(self, *words: str) -> str:
        """Return what virsh says, asked beside the driver."""
        return subprocess.check_output(
            ["virsh", "-q", "-c", self.uri, *words], text=True, timeout=60
        ).strip()

    def define(self, xml: str) -> None:
        """Define a guest by hand."""
        path = self.base / "by-hand.xml"
        path.write_text(xml)
        self.virsh("define", str(path))

    def kill_guest(self, name: str) -> None:
        """Kill the emulator of this guest."""
        marked = [pid for pid in self.guest_pids() if f"guest={name}," in _command(pid)]
        os.kill(marked[0], signal.SIGKILL)

    def daemon_pid(self) -> int:
        """Return the process id of libvirtd; fails when it does not run."""
        return self._pids("libvirtd")[0]

    def guest_pids(self) -> list[int]:
        return self._pids("qemu-system-x86")

    def freeze(self) -> None:
        os.kill(self.daemon_pid(), signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.daemon_pid(), signal.SIGCONT)

    def kill_daemon(self) -> None:
        """Kill libvirtd as an accident would; its guests run on."""
        pid = self.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self._pids("libvirtd"), what="libvirtd to end")

    def start_daemon(self) -> None:
        subprocess.run(
            [
                "nsenter",
                "-t",
                str(self.init_pid),
                *("-n", "-m", "-u", "-p", "-i"),
                "libvirtd",
                "-d",
            ],
            check=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        try:
            wait_until(self._answers, seconds=ANSWER_SECONDS, what="the private libvirtd")
        except AssertionError as error:
            error.add_note((self.base / "init.log").read_text())
            raise

    def _answers(self) -> bool:
        command = ["virsh", "-q", "-c", self.uri, "version"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            return (
                subprocess.run(command, capture_output=True, timeout=15, check=False).returncode
                == 0
            )
        return False

    def _pids(self, name: str) -> list[int]:
        """Return the processes of this name in the lab, oldest first; zombies do not count."""
        space = (Path("/proc") / str(self.init_pid) / "ns" / "pid").readlink()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (path / "ns" / "pid").readlink() != space:
                    continue
                stat = (path / "stat").read_text()
                if f"({name})" in stat and f"({name}) Z" not in stat:
                    found.append(int(path.name))
        return sorted(found)


def _command(pid: int) -> str:
    return (Path("/proc") / str(pid) / "cmdline").read_bytes().decode(errors="replace")


def uri_of(socket: Path) -> str:
    """Return the address of the libvirtd that listens on this socket."""
    return f"qemu+unix:///system?mode=direct&socket={socket}"


@contextlib.contextmanager
def private_libvirt() -> Iterator[Lab]:
    """Run a private libvirtd; root only. Nothing of it is left afterwards."""
    base = Path(tempfile.mkdtemp(prefix="infra-lab-", dir="/var/tmp"))
    base.chmod(0o711)
    launcher = _launch(base)
    try:
        lab = Lab(base, wait_until(lambda: _child_of(launcher), what="the first process"))
        lab.wait_until_it_answers()
        yield lab
    finally:
        launcher.kill()
        launcher.wait(timeout=10)
        shutil.rmtree(base, ignore_errors=True)


def _launch(base: Path) -> subprocess.Popen[bytes]:
    for name in ("lib", "cache", "log/libvirt", "sock"):
        (base / name).mkdir(parents=True)
    shutil.copytree(
        "/etc/libvirt", base / "etc", ignore=shutil.ignore_patterns("*.xml", "autostart")
    )
    with contextlib.suppress(OSError):
        # What the machine's libvirtd found out of QEMU spares the lab a second of asking.
        shutil.copytree("/var/cache/libvirt", base / "cache", dirs_exist_ok=True)
    (base / "etc" / "libvirtd.conf").write_text(_LIBVIRTD_CONF.format(base=base))
    (base / "etc" / "qemu.conf").write_text(_QEMU_CONF)
    init = base / "init.sh"
    init.write_text(_INIT.replace("{base}", str(base)))
    with (base / "init.log").open("wb") as log:
        return subprocess.Popen(
            [
                # Ends with the tests, however they end.
                *("setpriv", "--pdeathsig", "KILL"),
                *("unshare", "-n", "-m", "-u", "-p", "-i", "--fork", "--kill-child=KILL"),
                *("--mount-proc", "bash", str(init)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _child_of(launcher: subprocess.Popen[bytes]) -> int:
    assert launcher.poll() is None, "the lab's first process could not be started"
    path = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    children = path.read_text().split()
    return int(children[0]) if children else 0
