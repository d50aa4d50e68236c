"""Escape probes in each mode of the sandbox. Each really tries to escape, and all of them fail.

They refuse to run anywhere else, see `probes/inside.py`.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from container_runtimes import TestRuntime
from isolating import CONTAINERS, ENV, MODES, Isolated, isolated

PROBES = Path(__file__).parent / "probes"
REFUSED = 77
AREAS = {"secrets": 10, "writing": 9, "network": 9, "processes": 9, "mounts": 13, "privileges": 12}
"""How many attempts each area makes."""


class Host:
    """Things outside that a probe could read, reach, write or kill."""

    def __init__(self, box: Isolated) -> None:
        self.box = box
        self.secret = secrets.token_hex(16)
        self.secret_file = box.beside / "secret.txt"
        self.secret_file.write_text(self.secret)
        self.secret_file.chmod(0o666)  # file permissions are not what keeps the sandbox away from it
        self.marker = box.beside / "marker"
        self.nonce = secrets.token_hex(16)
        self.marker.write_text(self.nonce)
        self.marker.chmod(0o666)
        self.victim = subprocess.Popen(
            ["/bin/sh", "-c", "while :; do sleep 1; done", self.secret], env={**ENV, "HOST_API_KEY": self.secret}
        )
        self.listeners = [self._listen(*place) for place in self._places()]

    def _places(self) -> Iterator[tuple[socket.AddressFamily, Any]]:
        self.socket_file = str(self.box.beside / "socket")
        yield socket.AF_INET, ("127.0.0.1", 0)
        yield socket.AF_UNIX, f"\0evalharness-{self.secret}"
        yield socket.AF_UNIX, self.socket_file

    def _listen(self, family: socket.AddressFamily, place: Any) -> socket.socket:
        listener = socket.socket(family)
        listener.bind(place)
        listener.listen()
        threading.Thread(target=self._greet, args=(listener,), daemon=True).start()
        return listener

    @staticmethod
    def _greet(listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                client.sendall(b"welcome")

    def facts(self) -> dict[str, Any]:
        return {
            "secret": self.secret,
            "secret_file": str(self.secret_file),
            "marker": str(self.marker),
            "victim_pid": self.victim.pid,
            "victim_mark": self.secret,
            "harness_pid": os.getpid(),
            "port": self.listeners[0].getsockname()[1],
            "abstract_socket": f"evalharness-{self.secret}",
            "socket_file": self.socket_file,
            "way_to_readable": [part for folder in (PROBES, self.box.beside) for part in folder.parts],
        }

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for listener in self.listeners:
            listener.shutdown(socket.SHUT_RDWR) if listener.family == socket.AF_INET else None
            listener.close()


@pytest.fixture(params=[*MODES, *CONTAINERS])
def host(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    use_runtime: Callable[[str], TestRuntime],
) -> Iterator[Host]:
    if request.param in CONTAINERS:
        use_runtime(request.param)
    with isolated(request.param, tmp_path) as box:
        made = Host(box)
        monkeypatch.setenv("HOST_API_KEY", made.secret)
        try:
            yield made
        finally:
            made.close()


def probe(host: Host, area: str, **options: Any) -> dict[str, str]:
    words = ["-B", "-P", str(PROBES / f"probe_{area}.py"), str(host.marker), host.nonce]
    readable = (str(PROBES), str(host.marker), *options.pop("readable", ()))
    env = {**ENV, "PYTHONPATH": str(PROBES)}
    result = host.box.run(
        "/usr/bin/python3", *words, readable=readable, env=env, stdin=json.dumps(host.facts()).encode(), **options
    )
    assert (result.ended, result.exit_code) == ("exited", 0), result.stderr.decode()
    outcomes: dict[str, str] = json.loads(result.stdout)
    return outcomes


@pytest.mark.parametrize("area", AREAS)
def test_every_attempt_comes_to_nothing(area: str, host: Host) -> None:
    outcomes = probe(host, area)
    assert len(outcomes) == AREAS[area]
    assert {name: outcome for name, outcome in outcomes.items() if not outcome.startswith("blocked: ")} == {}
    assert host.secret_file.read_text() == host.secret, "what is outside is unchanged"
    assert host.marker.read_text() == host.nonce
    assert not (host.box.beside / "planted").exists()
    assert host.victim.poll() is None, "and alive"


def test_the_probes_notice_what_is_open(host: Host) -> None:
    """Without this, a failing probe would prove nothing."""
    seen = probe(host, "secrets", readable=(str(host.secret_file),))
    escaped = {name for name, outcome in seen.items() if outcome.startswith("ESCAPED")}
    assert escaped == {"read_a_file_of_the_host", "read_through_the_first_process"}
    if host.box.mode in CONTAINERS:
        return  # a network of their own, where the machine allows one: not that of the machine
    reached = probe(host, "network", network=True)
    assert "welcome" in reached["connect_to_a_service_of_the_host"]
    assert "welcome" in reached["connect_to_an_abstract_socket_of_the_host"]
    assert reached["connect_to_a_socket_file_of_the_host"].startswith("blocked")
    assert reached["make_a_raw_socket"].startswith("blocked")
    assert reached["configure_the_network"].startswith("blocked")
    assert reached["talk_to_the_machines_host"].startswith("blocked")


@pytest.mark.parametrize("area", AREAS)
def test_a_probe_refuses_to_run_outside(area: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    marker.write_text("nonce")
    for nonce in ("nonce", "other", ""):
        done = subprocess.run(
            [sys.executable, str(PROBES / f"probe_{area}.py"), str(marker), nonce],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**ENV, "PYTHONPATH": str(PROBES)},
            check=False,
        )
        assert (done.returncode, done.stdout) == (REFUSED, b""), done.stderr
