"""Agents that are given a network or all rights: what they then can do, and that no key is on a command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from container_runtimes import IMAGE, TestRuntime
from driving import Outcome, drive
from test_docker_agent_target import session
from threaded_server import Reply, serving

KEY = "xai-0123456789abcdef"
AGENT_IMAGE = "evalharness-test:network-agent"
# Says whether it was asked to come in at the address, which capabilities it has, and which keys.
SCRIPT = r"""#!/bin/sh
[ -n "$ADDRESS" ] && said=$(wget -q -O - --header "X-Key: $XAI_API_KEY" "$ADDRESS")
rights=$(sed -n 's/^CapBnd:[^0-9a-f]*//p' /proc/self/status)
keys=$(env | sed -n 's/^\([A-Z]*_API_KEY\)=.*/\1/p' | tr '\n' ' ')
printf '{"type":"agent_choice","content":"said %s; rights %s; keys %s; base %s"}\n' \
  "$said" "$rights" "$keys" "$OPENAI_BASE_URL"
printf '{"type":"stream_stopped","session_id":"s1"}\n'
"""
ALL_RIGHTS = "000001ffffffffff"
"""The mask of all capabilities."""


def ask(folder: Path, runtime: TestRuntime, *flags: str, env: Mapping[str, str]) -> Outcome:
    runtime.image(AGENT_IMAGE, {"docker-agent": SCRIPT})
    (folder / "agent.yaml").write_text("configured")
    (folder / "evals").mkdir(exist_ok=True)
    recorded = session("Who?", assertions=[{"type": "contains", "value": "said"}])
    recorded["messages"] = recorded["messages"][:1]  # no tool is called
    (folder / "evals/who.json").write_text(json.dumps(recorded))
    images = ("--base-image", IMAGE, "--agent-image", AGENT_IMAGE, "--pull", "never")
    words = ("agent.yaml", "--container-runtime", runtime.name, *images, *flags, "--json")
    return drive(folder, "docker-agent", *words, env={**runtime.environment, **env})


def said_by(done: Outcome) -> dict[str, str]:
    [trial] = done.report["trials"]
    assert trial["state"] == "passed", done.both
    return dict(part.strip().partition(" ")[::2] for part in trial["output"].split(";"))


@pytest.fixture
def podman_on_the_machines_network(use_runtime: Callable[[str], TestRuntime], tmp_path: Path) -> TestRuntime:
    """An open network is podman's own; here that of the machine, as bridges cannot be made everywhere."""
    runtime = use_runtime("podman")
    written = Path(runtime.environment["CONTAINERS_CONF"]).read_text()
    (tmp_path / "containers.conf").write_text(written.replace("[containers]", '[containers]\nnetns = "host"'))
    environment = {**runtime.environment, "CONTAINERS_CONF": str(tmp_path / "containers.conf")}
    return TestRuntime(runtime.name, environment, runtime.folder, runtime.pid)


def test_an_open_network_and_the_keys_of_providers(podman_on_the_machines_network: TestRuntime, tmp_path: Path) -> None:
    came: list[str] = []
    lines: list[bytes] = []

    def reply(request: BaseHTTPRequestHandler, _body: bytes) -> Reply:
        came.append(request.headers["X-Key"])
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(file.read_bytes())
            except OSError:  # it has ended
                continue
        return Reply("welcome")

    env = {"XAI_API_KEY": KEY, "GITHUB_TOKEN": "ghp-0123456789abcdef", "OPENAI_API_KEY": ""}
    with serving(reply) as address:
        flags = ("-e", f"ADDRESS={address}")
        opened = ask(tmp_path, podman_on_the_machines_network, *flags, "--network", "open", env=env)
        closed = ask(tmp_path, podman_on_the_machines_network, *flags, env=env)
    answer = said_by(opened)
    assert (answer["said"], answer["keys"].split(), answer["base"]) == ("welcome", ["XAI_API_KEY"], "")
    assert came == [KEY], "and without a network it did not come"
    answer = said_by(closed)
    assert answer["said"] == "" and answer["base"].startswith("http://127.0.0.1:"), "there it has the gateway"
    assert "XAI_API_KEY" not in answer["keys"]
    starting = [line for line in lines if b"podman\0run\0" in line and b"--network" not in line]
    assert starting and not any(KEY.encode() in line for line in starting), "by its name alone"
    assert all(b"--env\0XAI_API_KEY\0" in line for line in starting)


def test_a_network_and_all_rights_only_by_flag(use_runtime: Callable[[str], TestRuntime], tmp_path: Path) -> None:
    runtime = use_runtime("docker")
    env = {"XAI_API_KEY": KEY}
    for flags, network in (((), "none"), (("--network", "open"), "default")):
        answer = said_by(ask(tmp_path, runtime, *flags, "--keep-containers", env=env))
        assert not answer["rights"].startswith(ALL_RIGHTS)
        assert ("XAI_API_KEY" in answer["keys"]) == (network == "default"), answer
        [kept] = runtime.containers()
        asked = "{{.HostConfig.NetworkMode}} {{.HostConfig.Privileged}}"
        assert runtime.call("inspect", "--format", asked, kept).split() == [network, "false"]
        runtime.call("rm", "--volumes", kept)
    done = ask(tmp_path, runtime, "--privileged", env=env)
    if ALL_RIGHTS in Path("/proc/self/status").read_text():
        assert said_by(done)["rights"].startswith(ALL_RIGHTS)
    else:  # rights that root does not have here cannot be given to a container
        assert "unable to apply caps" in done.report["trials"][0]["error"], done.both
    assert runtime.containers() == []
