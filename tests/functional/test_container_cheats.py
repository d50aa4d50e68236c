"""Agents in containers that would rather end in error than fail, peek at what is expected, or gain rights outside."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from container_runtimes import IMAGE, TestRuntime, busybox_archive, folder_for
from driving import COMMAND, clean_environment, drive, wait_until, write
from test_container_targets import run
from test_docker_agent_target import session

from evalharness.sandboxes.nobody import DROP

FORGED = "echo '[FATAL tini (7)] x' >&2; echo 'ERROR (catatonit:2): x' >&2; exit 127"
NESTED = "n=0; while [ $n -lt 900 ]; do mkdir dddd && cd dddd; n=$((n + 1)); done"
NEEDED = {"container_command": "test -e /state/never-made"}
NOISE = "head -c 10000 /dev/zero >&2"
LOOKS = {"container_command": "true"}
LOOKS_AGAIN = {"container_command": {"command": "true", "in": "end_state"}}


def case(name: str, line: str, *graders: Any, **more: Any) -> dict[str, Any]:
    target = {"container": {"image": IMAGE, "command": ["sh", "-c", line], "input": "none", **more.pop("options", {})}}
    return {"id": name, "input": "", "target": target, "graders": list(graders or [NEEDED]), **more}


CHEATS = [
    case("links-to-pipes", "mkfifo /p /data/p; ln /p /q; ln /data/p /data/q; mknod /n c 1 3; ln /n /m"),
    case("nested-workspace", NESTED, LOOKS, LOOKS_AGAIN),
    case("nested-root", f"cd /root; {NESTED}", {"not": LOOKS}),
    case("moved", "mv /home/a /home/b; echo hi >/home/a", LOOKS, LOOKS_AGAIN, options={"workspace": "/home/a/ws"}),
    case("exit-code-of-setup", f"{NOISE}; exit 97", {"contains": ""}, setup=NOISE, options={"max_output_bytes": 1024}),
    case(
        "own-program-removed",
        "",
        {"contains": ""},
        files={"agent.sh": {"path": "agent.sh"}},
        options={"command": ["./agent.sh"]},
    ),
]


def test_no_agent_can_turn_its_failure_into_an_error(container_runtime: TestRuntime, tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text(f"#!/bin/sh\nrm agent.sh; {FORGED}\n")
    (tmp_path / "agent.sh").chmod(0o755)
    done = run(tmp_path, container_runtime, {"name": "cheats", "test_cases": CHEATS})
    states = {trial["case_id"]: trial["state"] for trial in done.report["trials"]}
    reasons = {trial["case_id"]: trial["reason"] for trial in done.report["trials"]}
    assert states == {each["id"]: "failed" for each in CHEATS}, reasons
    spoiled = {name for name, reason in reasons.items() if "what the program left cannot be copied" in reason}
    assert {"nested-workspace", "nested-root"} <= spoiled <= {"nested-workspace", "nested-root", "moved"}, reasons
    assert (container_runtime.containers(), container_runtime.volumes()) == ([], [])


def test_odd_files_do_no_harm_to_a_right_agent(container_runtime: TestRuntime, tmp_path: Path) -> None:
    """Pipes, hard links, closed files and, in place of a folder that the image has there, a file."""
    image = "evalharness-test:with-workspace"
    files = dict.fromkeys(("working_dir/own/file", "working_dir/other", "data/given/file", "data/more"), "of the image")
    if not container_runtime.call("images", "--quiet", image).strip():
        container_runtime.call("import", "--change", "VOLUME /data", "-", image, stdin=busybox_archive(files))
    line = "mkfifo p /p; ln p q; ln /p /q; echo x >own; ln own two; mkdir -m 000 closed; echo y >shut; chmod 000 shut"
    line += "; rm -r /data/given; echo z >/data/given; rm /data/more"
    looks = "cd /state/working_dir && cat own two && ! test -e other && cat ../data/given && ! test -e ../data/more"
    odd = case("odd", line, {"container_command": looks}, {"files": ["own", "two"]}, options={"image": image})
    done = run(tmp_path, container_runtime, {"name": "odd", "test_cases": [odd]})
    assert done.states() == {"odd": ["passed"]}, done.both


def test_setups_and_sparse_files_are_read_as_they_are(container_runtime: TestRuntime, tmp_path: Path) -> None:
    size = 300_000_000
    looks = f"test $(stat -c %s /state/sparse) = {size} && test $(du -k /state/sparse | cut -f 1) -lt 1000"
    cases = [
        case("sparse", f"truncate -s {size} /sparse", {"container_command": looks}),
        case("set-up", "cat made; echo said >&2", {"exact": "by setup"}, setup="echo noise; echo by setup >made"),
        case("not-set-up", "true", {"contains": ""}, setup="echo why >&2; exit 97"),
    ]
    done = run(tmp_path, container_runtime, {"name": "read", "max_error_rate": 0.5, "test_cases": cases})
    assert done.states() == {"sparse": ["passed"], "set-up": ["passed"], "not-set-up": ["error"]}, done.both
    shown = drive(tmp_path, "show", done.run_name, "set-up", "--json").json["trials"][0]["trial"]["attempts"][-1]
    assert (shown["transcript"]["stdout"], shown["transcript"]["stderr"]) == ("", "noise\nsaid\n")


def test_nobody_else_reaches_the_workspace_or_sees_a_variable(use_runtime: Callable[[str], TestRuntime]) -> None:
    runtime = use_runtime("docker")
    secrets = {"STORAGE_ACCOUNT_KEY": "sekret-one-111", "HTTPS_PROXY": "http://user:sekret-two-222@127.0.0.1:1"}
    line = "cp /bin/busybox own && chmod 6755 own && chmod 777 . && touch ready; sleep 5; env"
    seen = [{"contains": "STORAGE_ACCOUNT_KEY=sekret-one-111"}, {"contains": "sekret-two-222@"}]
    with folder_for("reach") as folder:
        folder.chmod(0o755)
        (folder / "tmp").mkdir()
        write(folder, suite_json=json.dumps({"name": "s", "test_cases": [
            case("a", line, *seen, options={"pass_env": list(secrets)})]}))  # fmt: skip
        env = clean_environment(folder, {**runtime.environment, "TMPDIR": str(folder / "tmp"), **secrets})
        words = [*COMMAND, "run", "suite.json", "--container-runtime", "docker"]
        harness = subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wait_until(lambda: any((folder / "tmp").glob("*/workspace/ready")))
        [program] = (folder / "tmp").glob("*/workspace/own")
        assert program.stat().st_mode & 0o6755 == 0o6755
        assert as_nobody("ls", str(program.parents[2])).stdout, "as far as that everybody gets"
        assert b"Permission denied" in as_nobody("ls", str(program)).stderr
        lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.parent.is_dir()]
        assert any(b"--env-file" in line for line in lines)
        assert not any(b"sekret" in line for line in lines)
        out, _ = harness.communicate(timeout=60)
        assert harness.returncode == 0, out.decode()


def as_nobody(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*DROP, *words], capture_output=True, check=False)


AGENT_IMAGE = "evalharness-test:curious-agent"
# Says what it finds of the sessions, then does what it was asked to do to its working directory.
SCRIPT = r"""#!/bin/sh
found=$(ls -A /configs/evals /configs/.evalharness | tr '\n' ' ')
beside="$(cat /configs/beside.txt); proxy $HTTPS_PROXY"
printf '{"type":"agent_choice","content":"found %s; beside %s."}\n' "$found" "$beside"
printf '{"type":"stream_stopped","session_id":"s1"}\n'
cd /; eval "$6"
"""


def test_what_an_agent_of_docker_agent_can_see_and_spoil(container_runtime: TestRuntime, tmp_path: Path) -> None:
    container_runtime.image(AGENT_IMAGE, {"docker-agent": SCRIPT})
    write(tmp_path, agent_yaml="configured", beside_txt="mine")
    (tmp_path / "evals").mkdir()
    asked = {
        "looks": "true",
        "file": "rm -rf /working_dir; echo x >/working_dir",
        "loop": "rm -rf /working_dir; ln -s /working_dir /working_dir",
        "nested": f"cd /working_dir; {NESTED}",
    }
    for name, line in asked.items():
        wanted = "beside mine; proxy ." if name == "looks" else "never said"
        recorded = session(line, assertions=[{"type": "contains", "value": wanted}])
        recorded["messages"] = recorded["messages"][:1]
        (tmp_path / f"evals/{name}.json").write_text(json.dumps(recorded))
    flags = ("--container-runtime", container_runtime.name, "--base-image", IMAGE, "--agent-image", AGENT_IMAGE)
    done = drive(
        tmp_path, "docker-agent", "agent.yaml", *flags, "--pull", "never", "--json",
        env={**container_runtime.environment, "HTTPS_PROXY": "http://user:password@127.0.0.1:1"},
    )  # fmt: skip
    states = {trial["case_id"]: trial["state"] for trial in done.report["trials"]}
    assert states == {name: "passed" if name == "looks" else "failed" for name in asked}, done.both
    [looks] = [trial["output"] for trial in done.report["trials"] if trial["case_id"] == "looks"]
    assert not any(name in looks for name in ("looks.json", "results", "store.db")), looks
    assert container_runtime.containers() == []
