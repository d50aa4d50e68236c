"""Agents in real containers: how they reach their models, and what is judged when their container has ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from container_runtimes import IMAGE, TestRuntime, archive_of, busybox_archive
from driving import COMMAND, Outcome, clean_environment, drive, wait_until, write
from replayed import model_server
from threaded_server import Reply, serving

from evalharness.contracts.containers import BindMount, ContainerRequest
from evalharness.contracts.sandbox import ProcessResult
from evalharness.domain.run import ContainerOptions
from evalharness.errors import TargetUnavailable
from evalharness.sandboxes.container_runtime import ContainerRuntime

AGENT = r"""
question=$(cat)
ask() {
  wget -q -O - --header "Authorization: Bearer $OPENAI_API_KEY" --header "Content-Type: application/json" \
    --post-data "{\"model\": \"served\", \"messages\": [{\"role\": \"user\", \"content\": \"$question\"}]}" \
    "$OPENAI_BASE_URL/chat/completions"
}
ask | sed 's/.*"content": *"\([^"]*\)".*/\1/'
ls /sys/class/net | tr '\n' ' ' >network
cat given.txt >made.txt
echo outside >/out; chmod 600 /out
echo kept >/data/kept
mv /tmp /moved; ln -s /etc /tmp
[ "$question" = ruin ] && rm /bin/busybox
exit 0
"""
LOOK = """
cat /state/out /state/data/kept /state/working_dir/made.txt && ! test -e /out && ! touch /state/new && ls -l /state/tmp
"""
AGAIN = "cat /out made.txt && echo more >>made.txt && ls /data"
SUITE: dict[str, Any] = {
    "name": "contained",
    "gateway": True,
    "target": {"container": {"image": IMAGE, "command": ["sh", "-c", AGENT]}},
    "test_cases": [
        {
            "id": "good",
            "input": "hello",
            "files": {"given.txt": "given"},
            "graders": [
                {"exact": "reply to hello"},
                {"files": ["made.txt", {"path": "network", "contains": "lo"}]},
                {"container_command": LOOK},
                {"container_command": {"command": AGAIN, "in": "end_state"}},
                {"container_command": {"command": ["ls", "/state/bin/sh"], "image": "evalharness-test:other"}},
            ],
        },
        {
            "id": "bad",
            "input": "ruin",
            "graders": [
                {"container_command": "echo it is missing >&2; test -e /state/bin/busybox"},
                {"container_command": {"command": ["ls"], "in": "end_state"}},
                {"container_command": {"command": "sleep 60", "timeout_seconds": 0.5}},
            ],
        },
    ],
}


def run(folder: Path, runtime: TestRuntime, suite: dict[str, Any], *words: str, **env: str) -> Outcome:
    write(folder, suite_json=json.dumps(suite))
    flags = ("--container-runtime", runtime.name, "--json", *words)
    return drive(folder, "run", "suite.json", *flags, env={**runtime.environment, **env})


def test_the_gateway_and_the_end_state(container_runtime: TestRuntime, tmp_path: Path) -> None:
    runtime = container_runtime
    runtime.image("evalharness-test:other")
    images = runtime.images()
    machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    narrow = {**SUITE["target"]["container"], "limits": {"memory_bytes": int(machine_bytes * 0.45)}}
    with model_server() as server:
        done = run(tmp_path, runtime, {**SUITE, "target": {"container": narrow}}, **server.environment)
    assert done.code == 1, done.both
    assert "-j 1 instead of 2: each container may use" in str(done.report["notes"]), done.report["notes"]
    report = drive(tmp_path, "report", done.run_name, "--format", "html").out
    assert all(f"image {name}" in report for name in (IMAGE, "evalharness-test:other")), "by their digests"
    ended = {trial["case_id"]: trial for trial in done.report["trials"]}
    assert ended["good"]["state"] == "passed", ended["good"]["reason"]
    assert "(it ran files that the agent could change)" in ended["good"]["grades"][3]["reason"]
    missing, ruined, slow = (grade["reason"] for grade in ended["bad"]["grades"])
    assert missing == "exit code 1: it is missing"
    assert ruined.startswith("cannot start 'ls' in a container"), ruined
    assert slow == "time limit of 0.5 s"
    shown = drive(tmp_path, "show", done.run_name, "good", "--json").json["trials"][0]["trial"]["attempts"][-1]
    looked = [grade["evidence"] for grade in shown["grades"][2:]]
    assert len({found["end_state"] for found in looked}) == 1, "exported once"
    assert looked[0]["stdout"].startswith("outside\nkept\ngiven")
    assert [message["role"] for message in shown["transcript"]["messages"]] == ["user", "assistant"]
    again = drive(tmp_path, "regrade", done.run_name, "--json")
    assert "nothing is left of a container" in str(again.report["trials"]), again.both
    assert (runtime.containers(), runtime.volumes(), runtime.images()) == ([], [], images)


CONNECT = """
import os, socket
there = socket.socket(socket.AF_UNIX)
there.connect(os.environ["EVALHARNESS_GATEWAY_SOCKET"])
there.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
print(there.makefile().read().splitlines()[-1], os.listdir("/sys/class/net"))
"""


ASK = """
import os, sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/").read().decode(), os.listdir("/sys/class/net"))
"""


def test_an_image_without_a_shell_reaches_the_port_with_podman(use_runtime: Callable[[str], TestRuntime]) -> None:
    runtime = use_runtime("podman")
    folders = {"usr": None, "lib": "usr/lib", "lib64": "usr/lib64", "proc": None, "sys": None}
    runtime.call("import", "-", "evalharness-test:no-shell", stdin=archive_of(folders))

    async def ask(port: int, *words: str, timeout_s: float = 20) -> ProcessResult:
        containers = ContainerRuntime(ContainerOptions(runtime="podman"))
        mounts = (BindMount("/usr", "/usr"),)
        image = "evalharness-test:no-shell"
        request = ContainerRequest(image, words, mounts=mounts, reaches=port, timeout_s=timeout_s)
        try:
            return (await containers.run(request)).process
        finally:
            await containers.close()

    with serving(lambda *_: Reply("welcome")) as address:
        port = address.rpartition(":")[2]
        result = asyncio.run(ask(int(port), "/usr/bin/python3", "-c", ASK, port))
        with pytest.raises(TargetUnavailable, match="cannot start '/nowhere' in a container"):
            asyncio.run(ask(int(port), "/nowhere"))
        slow = asyncio.run(ask(int(port), "/usr/bin/sleep", "60", timeout_s=5))
    assert (result.stdout, result.exit_code) == (b"welcome ['lo']\n", 0), result.stderr
    assert slow.ended == "timeout"
    assert (runtime.containers(), runtime.halves()) == ([], [])


def test_an_image_without_a_shell_gets_a_socket_with_docker(use_runtime: Callable[[str], TestRuntime]) -> None:
    runtime = use_runtime("docker")
    folders = {"usr": None, "lib": "usr/lib", "lib64": "usr/lib64", "proc": None, "sys": None}
    runtime.call("import", "-", "evalharness-test:no-shell", stdin=archive_of(folders))
    program = ("/usr/bin/python3", "-c", CONNECT)

    async def ask(port: int) -> ProcessResult:
        containers = ContainerRuntime()
        mounts = (BindMount("/usr", "/usr"),)
        request = ContainerRequest("evalharness-test:no-shell", program, mounts=mounts, reaches=port)
        try:
            return (await containers.run(request)).process
        finally:
            await containers.close()

    with serving(lambda *_: Reply("welcome")) as address:
        result = asyncio.run(ask(int(address.rpartition(":")[2])))
    assert result.stdout == b"welcome ['lo']\n", result.stderr
    assert runtime.containers() == []


def test_a_run_goes_on_in_the_images_it_began_with(use_runtime: Callable[[str], TestRuntime], tmp_path: Path) -> None:
    runtime = use_runtime("docker")
    image = "evalharness-test:changing"
    suite = {**SUITE, "target": {"container": {"image": image, "command": ["/there"]}}}
    for name in (image, "evalharness-test:other"):
        runtime.image(name)
    try:
        assert run(tmp_path, runtime, suite).code == 3, "it cannot be started"
        runtime.call("import", "-", image, stdin=busybox_archive({"there": "#!/bin/sh\n"}))
        resumed = drive(tmp_path, "resume", env=dict(runtime.environment))
        assert resumed.code == 2 and f"the image {image} is " in resumed.err, resumed.both
    finally:
        runtime.call("rmi", "--force", image)


EVENTS = r"""
printf '{"type":"tool_call","tool_call":{"id":"1","type":"function","function":{"name":"look","arguments":"{}"}}}\n'
printf '{"type":"agent_choice","content":"%s asked, %s"}\n' "$1" "$(cat given.txt)"
echo made >made.txt
"""
DOCKERFILE = f'FROM {IMAGE}\nCOPY agent.sh /agent.sh\nENTRYPOINT ["/bin/sh", "/agent.sh"]\n'


def test_a_dockerfile_and_an_agent_that_prints_events(container_runtime: TestRuntime, tmp_path: Path) -> None:
    target = {"container": {"dockerfile": "Dockerfile", "events": "docker-agent", "input": "argument"}}
    graders = [{"exact": "hello asked, given"}, {"tool_calls_f1": ["look"]}, {"files": ["made.txt"]}]
    case = {"id": "one", "input": "hello", "files": {"given.txt": "given"}, "graders": graders}
    suite = {"name": "built", "target": target, "test_cases": [case]}
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "agent.sh").write_text(EVENTS)
    done = run(tmp_path, container_runtime, suite)
    assert done.code == 0, done.both
    assert f"image {IMAGE}" in drive(tmp_path, "report", done.run_name, "--format", "html").out, "what it was made from"
    images = container_runtime.images()
    assert run(tmp_path, container_runtime, suite).code == 0
    assert container_runtime.images() == images, "built once"
    (tmp_path / "Dockerfile").write_text(DOCKERFILE + "COPY missing /\n")
    broken = run(tmp_path, container_runtime, suite)
    assert (broken.code, "the image cannot be built" in broken.both) == (3, True), broken.both
    assert container_runtime.containers() == []


def test_the_next_command_works_after_an_error_and_after_a_failure(
    use_runtime: Callable[[str], TestRuntime], tmp_path: Path
) -> None:
    """An answer cannot be graded again without its container; a run is repeated with the flags that it had."""
    runtime = use_runtime("docker")
    flags = ("--container-runtime", "docker", "--pull", "never")

    def last_words(command: str, code: int) -> list[str]:
        case = {"id": "one", "input": "x", "graders": [{"container_command": {"command": [command]}}]}
        write(tmp_path, suite_json=json.dumps({"name": "s", "target": SUITE["target"], "test_cases": [case]}))
        done = drive(tmp_path, "run", "suite.json", *flags, env=dict(runtime.environment))
        assert done.code == code, done.both
        words = done.out.splitlines()[-1].split()
        again = drive(tmp_path, *words[2:], env=dict(runtime.environment))
        assert (again.code, "nothing is left of a container" in again.both) == (code, False), again.both
        return words

    assert last_words("/nowhere", 3)[:3] == ["resume", "eval-harness", "resume"]
    assert last_words("false", 1) == ["rerun", "eval-harness", "run", *flags, "suite.json", "--failed"]


def test_kept_containers_outlive_looks_at_their_end_state(container_runtime: TestRuntime, tmp_path: Path) -> None:
    looks = {"container_command": {"command": "true", "in": "end_state"}}
    target = {"container": {"image": IMAGE, "command": ["true"]}}
    suite = {"name": "s", "target": target, "test_cases": [{"id": "one", "input": "x", "graders": [looks]}]}
    done = run(tmp_path, container_runtime, suite, "--keep-containers")
    assert done.code == 0, done.both
    kept = container_runtime.containers()
    assert len(kept) == 2, "the agent's and that of the look"
    container_runtime.call("rm", "--volumes", *kept)
    dangling = container_runtime.call("images", "--quiet", "--filter", "dangling=true").split()
    container_runtime.call("rmi", "--no-prune", *dangling, check=False)


def test_a_signal_to_the_command_line_is_no_failure_of_the_agent(
    container_runtime: TestRuntime, tmp_path: Path
) -> None:
    """As when a whole service is stopped: the command line of docker or podman gets the signal, too."""
    target = {"container": {"image": IMAGE, "command": ["sh", "-c", "touch begun; sleep 3; cat"]}}
    case = {"id": "one", "input": "yes", "expected": "yes"}
    write(tmp_path, suite_json=json.dumps({"name": "s", "target": target, "test_cases": [case]}))
    (tmp_path / "tmp").mkdir()
    env = clean_environment(tmp_path, {**container_runtime.environment, "TMPDIR": str(tmp_path / "tmp")})
    words = [*COMMAND, "run", "suite.json", "--container-runtime", container_runtime.name]
    harness = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_until(lambda: any((tmp_path / "tmp").glob("*/workspace/begun")))
    children = Path(f"/proc/{harness.pid}/task/{harness.pid}/children").read_text().split()
    clients = [int(child) for child in children if b"\0run\0--sig" in Path(f"/proc/{child}/cmdline").read_bytes()]
    for client in clients:
        os.kill(client, signal.SIGTERM)
    out, _ = harness.communicate(timeout=60)
    assert clients and harness.returncode in (0, 3), out.decode()
    assert (harness.returncode == 3) == ("lost its container" in out.decode()), (
        "either lost and reported as an error, or undisturbed"
    )
    assert container_runtime.containers() == []


def test_when_images_are_pulled(use_runtime: Callable[[str], TestRuntime], tmp_path: Path) -> None:
    """From a registry that nobody can reach."""
    runtime = use_runtime("docker")
    here, elsewhere = "localhost:1/here:1", "localhost:1/elsewhere:1"
    runtime.image(here)
    for image, policy, problem in (
        (here, "missing", ""),
        (here, "never", ""),
        (here, "always", f"the image {here} cannot be pulled"),
        (elsewhere, "missing", f"the image {elsewhere} cannot be pulled"),
        (elsewhere, "never", f"there is no image {elsewhere} here"),
    ):
        target = {"container": {"image": image, "command": ["cat"]}}
        suite = {"name": "pulled", "target": target, "test_cases": [{"id": "one", "input": "x", "expected": "x"}]}
        done = run(tmp_path, runtime, suite, "--pull", policy)
        assert (done.code, problem in done.both) == (3 if problem else 0, True), (policy, done.both)
    runtime.call("rmi", here)


def test_an_agent_that_says_what_an_init_would_say_has_failed(container_runtime: TestRuntime, tmp_path: Path) -> None:
    """Whether its program is in the image decides: an error would be tried again, and counts for nothing."""
    spoof = "echo '[FATAL tini (7)] exec x failed: No such file' >&2; exit 127"
    cases = [
        {"id": "spoofed", "input": "x", "expected": "x", "target": {"container": {"image": IMAGE, "command": words}}}
        for words in (["sh", "-c", spoof],)
    ]
    missing = {"container": {"image": IMAGE, "command": ["/no-such-program"]}}
    cases.append({"id": "missing", "input": "x", "expected": "x", "target": missing})
    write(tmp_path, suite_json=json.dumps({"name": "s", "max_error_rate": 0.6, "test_cases": cases}))
    done = drive(tmp_path, "run", "suite.json", "--json", env=dict(container_runtime.environment))
    assert done.states() == {"spoofed": ["failed"], "missing": ["error"]}, done.both
    [why] = [trial["reason"] for trial in done.report["trials"] if trial["case_id"] == "missing"]
    assert why == "cannot start '/no-such-program' in a container: its image has no /no-such-program"
    assert container_runtime.containers() == []


@pytest.mark.parametrize("user", ["1000:1000", "somebody"])
def test_an_agent_that_is_not_root_may_use_its_workspace(
    container_runtime: TestRuntime, tmp_path: Path, user: str
) -> None:
    image = f"evalharness-test:user-{user.partition(':')[0]}"
    if not container_runtime.call("images", "--quiet", image).strip():
        known = {
            "etc/passwd": "root:x:0:0::/:/bin/sh\nsomebody:x:1000:1000::/:/bin/sh\n",
            "etc/group": "somebody:x:1000:\n",
        }
        container_runtime.call("import", "--change", f"USER {user}", "-", image, stdin=busybox_archive(known))
    agent = "test $(id -u) = 1000 && cat given.txt >made.txt && mkdir -m 700 sub && echo x >sub/file && cat made.txt"
    suite = {
        "name": "s",
        "target": {"container": {"image": image, "command": ["sh", "-c", agent]}},
        "test_cases": [
            {
                "id": "a",
                "input": "x",
                "files": {"given.txt": "given"},
                "graders": [{"exact": "given"}, {"files": ["made.txt", "sub/file"]}],
            }
        ],
    }
    write(tmp_path, suite_json=json.dumps(suite))
    done = drive(tmp_path, "run", "suite.json", "--json", env=dict(container_runtime.environment))
    assert done.states() == {"a": ["passed"]}, done.both


def test_images_without_a_name_outlive_what_is_made_from_them(container_runtime: TestRuntime, tmp_path: Path) -> None:
    """A look at an end state makes a temporary image; removing it must not remove what it was made from."""
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/Dockerfile").write_text(f"FROM {IMAGE}\nCOPY Dockerfile /own\n")
    mine = container_runtime.call("build", "--quiet", str(tmp_path / "agent")).split()[-1]
    looks = {"container_command": {"command": "test -f /own", "in": "end_state"}}
    cases = [{"id": f"c{n}", "input": "x", "graders": [looks]} for n in range(2)]
    write(tmp_path, suite_json=json.dumps({"name": "s", "test_cases": cases}))
    for target in ("container:agent/Dockerfile", f"container:{mine}"):
        words = {"container": {"dockerfile": "agent/Dockerfile", "command": ["true"]}}
        if target.endswith(mine):
            words = {"container": {"image": mine, "command": ["true"]}}
        write(tmp_path, suite_json=json.dumps({"name": "s", "target": words, "test_cases": cases}))
        done = drive(tmp_path, "run", "suite.json", "-j", "1", "--json", env=dict(container_runtime.environment))
        assert done.states() == {"c0": ["passed"], "c1": ["passed"]}, done.both
    assert (
        container_runtime.call("image", "inspect", "--format", "{{.Id}}", mine)
        .strip()
        .endswith(mine.removeprefix("sha256:"))
    )
    container_runtime.call("rmi", "--force", mine)


def test_a_dockerfile_that_fails_is_named_with_what_its_step_printed(
    container_runtime: TestRuntime, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(
        f"FROM {IMAGE}\nRUN echo earlier\nRUN echo begun; echo the reason >&2; exit 3\n"
    )
    suite = {
        "name": "s",
        "target": {"container": {"dockerfile": "Dockerfile"}},
        "test_cases": [{"id": "a", "input": "x", "expected": "x"}],
    }
    write(tmp_path, suite_json=json.dumps(suite))
    done = drive(tmp_path, "run", "suite.json", env=dict(container_runtime.environment))
    assert done.code == 3, done.both
    said = " ".join(done.both.split())
    assert "Dockerfile: the image cannot be built: " in said
    printed = said.partition("; it printed: ")[2].split(" / ")
    assert sorted(printed) == ["begun", "the reason"], said  # docker may mix the streams up
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPI a b\n")
    said = " ".join(drive(tmp_path, "run", "suite.json", env=dict(container_runtime.environment)).both.split())
    assert "COPI" in said and "it printed" not in said, said
