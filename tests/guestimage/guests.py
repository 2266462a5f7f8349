"""A guest started by QEMU directly: what it writes on its serial console, and its power button."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

QEMU = "qemu-system-x86_64"


@dataclass
class Guest:
    """A running guest. `heard` is all it has written so far."""

    process: subprocess.Popen[bytes]
    monitor: Path
    heard: str = field(default="")

    def expect(self, text: str, *, seconds: float) -> str:
        """Return what came up to `text` and take it as read; fail at the limit."""
        deadline = time.monotonic() + seconds
        while text not in self.heard:
            left = deadline - time.monotonic()
            assert left > 0, f"no {text!r} within {seconds} s; heard: {self.heard[-2000:]}"
            assert self._listen(left), (
                f"the guest ended before {text!r}; heard: {self.heard[-2000:]}"
            )
        before, found, self.heard = self.heard.partition(text)
        return before + found

    def line(self, start: str, *, seconds: float) -> str:
        """Return the rest of the line that starts with `start`."""
        self.expect(start, seconds=seconds)
        return self.expect("\n", seconds=seconds).strip()

    def type(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def press_power_button(self) -> None:
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(30)
            monitor.connect(str(self.monitor))
            answers = monitor.makefile()
            assert "QMP" in json.loads(answers.readline())
            for command in ("qmp_capabilities", "system_powerdown"):
                monitor.sendall(json.dumps({"execute": command}).encode())
                while "return" not in json.loads(answers.readline()):
                    pass  # events may come between

    def wait_off(self, *, seconds: float) -> int:
        """Return QEMU's exit code once the guest has switched itself off."""
        deadline = time.monotonic() + seconds
        while self._listen(deadline - time.monotonic()):
            assert time.monotonic() < deadline, f"still on after {seconds} s: {self.heard[-2000:]}"
        return self.process.wait(timeout=10)

    def _listen(self, seconds: float) -> bool:
        """Take in what the guest writes next, waiting that long; False when it has ended."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout=max(seconds, 0)):
                return True
        data = os.read(self.process.stdout.fileno(), 65536)
        self.heard += data.decode(errors="replace")
        return bool(data)


@contextlib.contextmanager
def running(
    image: Path, *, folder: Path, seed: Path | None = None, memory_mib: int = 128
) -> Iterator[Guest]:
    """Run a guest under emulation from a copy-on-write view of the image, with a network card."""
    monitor = folder / "monitor"
    seed_disk = f"file={seed},if=virtio,format=raw,readonly=on"
    command = [
        *(QEMU, "-accel", "tcg", "-m", str(memory_mib), "-nodefaults", "-no-user-config"),
        *("-display", "none", "-serial", "stdio"),
        *("-qmp", f"unix:{monitor},server=on,wait=off"),
        *("-drive", f"file={image},if=virtio,format=qcow2,snapshot=on"),
        *(("-drive", seed_disk) if seed else ()),
        *("-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Guest(process, monitor)
    finally:
        process.kill()
        process.wait(timeout=10)
