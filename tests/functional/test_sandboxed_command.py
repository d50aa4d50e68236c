"""`sandbox: true`: the real command runs programs isolated, and they cannot affect anything else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import COMMAND, Outcome, clean_environment, drive, write
from isolating import GROUPS, MODES, SOURCE, USER, isolated, user_command
from missing_parts import missing

from evalharness.sandboxes import nobody

GREEDY = Path(__file__).parent / "probes" / "greedy.py"
SUITE = """
name: s
target: {command: [python3, agent.py], sandbox: true}
test_cases:
  - {id: a, input: Ada, expected: {contains: Ada}}
"""


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "apt-get install bubblewrap")


@pytest.fixture(params=[mode for mode in MODES if mode in (GROUPS, USER)])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(mode: str, tmp_path: Path) -> Iterator[Path]:
    with isolated(mode, tmp_path) as box:
        yield box.workspace


def drive_as(mode: str, folder: Path, *words: str, env: dict[str, str] | None = None) -> Outcome:
    """The same command as root, or as an ordinary user who then owns the folder."""
    if mode != USER or os.geteuid() != 0:
        return drive(folder, *words, env=env)
    nobody.give_away(folder)
    done = subprocess.run(
        [*user_command(folder), *COMMAND, *words],
        cwd=folder,
        env={**clean_environment(folder, env), "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))


def reasons(outcome: Outcome) -> dict[str, str]:
    return {trial["case_id"]: f"{trial['state']}: {trial.get('reason') or ''}" for trial in outcome.report["trials"]}


def test_greedy_programs_fail_alone_and_their_neighbours_go_on(mode: str, folder: Path) -> None:
    cases = ["fork", "memory", "disk", "flood", "time", *(f"ordinary-{number}" for number in range(6))]
    suite = {
        "name": "greedy",
        "target": {
            "command": ["python3", "agent.py"],
            "sandbox": True,
            "limits": {"memory_bytes": 100_000_000, "processes": 50, "disk_bytes": 30_000_000},
        },
        "config": {"timeout_seconds": 20},
        "test_cases": [{"id": case, "input": case, "expected": {"contains": f"good {case}"}} for case in cases],
    }
    suite["test_cases"][4]["timeout_seconds"] = 2  # type: ignore[index]
    write(folder, suite_json=json.dumps(suite), agent_py=GREEDY.read_text())
    outcome = drive_as(mode, folder, "run", "suite.json", "--json", "-j", "11")
    assert outcome.code == 1, outcome.err
    told = reasons(outcome)
    assert {case: told[case] for case in cases[5:]} == dict.fromkeys(cases[5:], "passed: ")
    assert told["fork"].startswith("failed: process limit")
    assert told["memory"].startswith("failed: memory limit") or "MemoryError" in told["memory"]
    assert told["disk"].startswith("failed: disk limit")
    assert told["flood"].startswith("failed: output limit")
    assert told["time"].startswith("failed: time limit")


def test_a_program_sees_its_files_and_nothing_of_the_suite(mode: str, folder: Path) -> None:
    agent = """
import json, os, sys
from pathlib import Path
here = Path(__file__).parent
print(json.dumps({
    "beside": sorted(path.name for path in here.iterdir()),
    "data": (here / "data/numbers.txt").read_text(),
    "home": os.environ["HOME"] == os.getcwd(),
    "own": [os.environ.get(name) for name in ("FROM_SUITE", "EVALHARNESS_MAX_ROUNDS")],
    "others": [name for name in os.environ if "KEY" in name or "EVALHARNESS" in name],
    "workspace": sorted(os.listdir()),
}))
"""
    suite = SUITE.replace("sandbox: true", "sandbox: true, readable: [data], env: {FROM_SUITE: red}, result: json")
    suite = suite.replace("expected: {contains: Ada}", "max_rounds: 3, files: {in.txt: hello}")
    write(folder, suite_yaml=suite, agent_py=agent, secret_txt="secret")
    write(folder / "data", numbers_txt="1 2 3")
    env = {"HOST_API_KEY": "secret-value", "EVALHARNESS_MAX_CONCURRENCY": "2", "LC_TIME": "C"}
    outcome = drive_as(mode, folder, "run", "suite.yaml", "--json", env=env)
    assert outcome.code == 0, outcome.both
    assert json.loads(outcome.report["trials"][0]["output"]) == {
        "beside": ["agent.py", "data"],
        "data": "1 2 3",
        "home": True,
        "own": ["red", "3"],
        "others": ["EVALHARNESS_MAX_ROUNDS"],
        "workspace": ["in.txt"],
    }


def test_links_out_of_the_workspace_show_nothing_and_odd_names_do_no_harm(mode: str, folder: Path) -> None:
    secret = "the-secret-of-the-host"
    agent = """
import os, sys
outside = sys.stdin.read()
os.symlink(outside, "link")
os.symlink(os.path.dirname(outside), "folder-link")
os.symlink("/proc/self/environ", "environment")
os.makedirs("sub"); os.symlink(outside, "sub/link")
os.remove("in/given.txt"); os.rmdir("in"); os.symlink(os.path.dirname(outside), "in")
os.mkfifo("pipe")
for name in (b"latin-\\xe9", b"new\\nline", b"\\x1b[31mred", b" ", b"a" * 255):
    open(name, "w").write("harmless")
print("Ada")
"""
    write(folder, agent_py=agent, outside_txt=secret, given_txt=secret)
    suite = SUITE.replace("input: Ada", f"input: '{folder}/given.txt', files: {{in/given.txt: given}}")
    write(folder, suite_yaml=suite)
    outcome = drive_as(mode, folder, "run", "suite.yaml", "--json")
    assert outcome.code == 0, outcome.both
    shown = drive_as(mode, folder, "show", outcome.report["metadata"]["run_id"], "a", "--json")
    assert shown.code == 0, shown.both
    assert "harmless" in shown.both
    assert secret not in outcome.both + shown.both
    assert drive_as(mode, folder, "show", outcome.report["metadata"]["run_id"], "a").code == 0


def test_a_workspace_is_removed_whatever_a_program_made_of_it(mode: str, folder: Path) -> None:
    agent = """
import os
os.makedirs("closed/inner")
open("closed/inner/file", "w").write("x")
for place in ("closed/inner", "closed"): os.chmod(place, 0)
for _ in range(60):
    os.mkdir("d" * 200); os.chdir("d" * 200); open("file", "w").write("x")
os.chmod(".", 0)
print("Ada")
"""
    write(folder, suite_yaml=SUITE, agent_py=agent)
    (folder / "temporary").mkdir()
    outcome = drive_as(mode, folder, "run", "suite.yaml", env={"TMPDIR": str(folder / "temporary")})
    assert outcome.code == 0, outcome.both
    assert list((folder / "temporary").iterdir()) == []


def test_a_command_line_and_the_users_own_programs(mode: str, folder: Path) -> None:
    tool = folder / "tools" / "mytool"
    write(folder, suite_yaml=SUITE.replace("[python3, agent.py]", "mytool agent.py"), agent_py="Ada")
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\ncat $1; ls $(dirname $0)\n")
    tool.chmod(0o755)
    (tool.parent / "other").write_text("")
    path = f"{tool.parent}:/usr/bin:/bin"
    outcome = drive_as(mode, folder, "run", "suite.yaml", "--json", env={"PATH": path})
    assert outcome.code == 0, outcome.both
    assert outcome.report["trials"][0]["output"] == "Adamytool\n"


def test_no_network_unless_asked(tmp_path: Path) -> None:
    agent = "import socket; print(sorted(name for _, name in socket.if_nameindex()) == ['lo'] and 'alone')"
    everything = "import os; print('Ada', os.path.exists('/etc/resolv.conf'))"
    write(tmp_path, suite_yaml=SUITE.replace("contains: Ada", "contains: alone"), agent_py=agent)
    assert drive(tmp_path, "run", "suite.yaml").code == 0
    asked = SUITE.replace("sandbox: true", "sandbox: true, network: true").replace("Ada}", '"True"}')
    write(tmp_path, suite_yaml=asked, agent_py=everything)
    if Path("/etc/resolv.conf").exists():
        assert drive(tmp_path, "run", "suite.yaml").code == 0


def test_without_bubblewrap_nothing_is_run_unless_the_user_says_so(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, agent_py="open('/dev/shm/ran', 'a'); print('Ada')")
    hidden = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/dev/shm", "--ro-bind", "/dev/null", "/usr/bin/bwrap", "--"]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [*hidden, *COMMAND, "run", "suite.yaml", *words]
        env = clean_environment(tmp_path)
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    refused = run()
    assert refused.returncode == 3, refused.stderr
    assert "apt-get install bubblewrap" in refused.stderr and "--sandbox none" in refused.stderr
    unprotected = run("--sandbox", "none")
    assert unprotected.returncode == 0, unprotected.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("readable: [nowhere]", ["nowhere", "does not exist"]),
        ("readable: [.]", ["whole suite", "expected answers"]),
        ("readable: [..]", ["whole suite"]),
        ("limits: {memory: 1}", ["memory"]),
        ("limits: {processes: 0}", ["processes"]),
    ],
)
def test_options_that_cannot_be_meant(options: str, words: list[str], tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE.replace("sandbox: true", f"sandbox: true, {options}"), agent_py="")
    outcome = drive(tmp_path, "run", "suite.yaml")
    assert outcome.code in (2, 3)
    assert [word for word in words if word not in outcome.both] == []


@pytest.mark.parametrize("option", ["network: true", "readable: [agent.py]", "limits: {processes: 9}"])
def test_options_of_the_sandbox_need_one(option: str, tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE.replace("sandbox: true", option), agent_py="")
    outcome = drive(tmp_path, "run", "suite.yaml")
    assert outcome.code == 2
    assert "sandbox: true" in outcome.both


def test_the_interpreter_of_the_harness_is_found(tmp_path: Path) -> None:
    suite = SUITE.replace("[python3, agent.py]", f"[{sys.executable}, agent.py]")
    write(tmp_path, suite_yaml=suite, agent_py="import sys, json; print(sys.stdin.read(), sys.prefix)")
    outcome = drive(tmp_path, "run", "suite.yaml", "--json")
    assert outcome.code == 0, outcome.both
    assert outcome.report["trials"][0]["output"].split() == ["Ada", sys.prefix]
