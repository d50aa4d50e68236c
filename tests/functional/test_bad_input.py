"""Any bad input: a clear error or a trial with that reason, the right exit code, and nothing lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from driving import COMMAND, Outcome, Started, clean_environment, drive, start, wait_until, write
from small_disk import mounted

ONE = "name: one\ntarget: agent.py:answer\ntest_cases: [{id: a, input: x, expected: y}]\n"
AGENT = """
import sys, time

def raises(text):
    raise KeyError("missing thing")

def exits(text):
    sys.exit(7)

def hangs(text):
    time.sleep(3600)

async def hangs_async(text):
    import asyncio
    await asyncio.sleep(3600)

def nothing(text):
    return None

def huge(text):
    return "x" * 50_000_000

def odd(text):
    return {"when": object()}

def endless(text):
    value = []
    value.append(value)
    return value

def floods(text):
    line = "noise " * 100 + "\\n"
    for _ in range(20_000):
        sys.stdout.write(line)
    return "y"

def half(text):
    return "\\ud800"

answer = 5
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=ONE, pyproject_toml="")


def quiet(done: Outcome) -> Outcome:
    assert "Traceback" not in done.both
    assert "internal error" not in done.both
    return done


def test_files_that_cannot_be_read(project: Path) -> None:
    write(
        project,
        torn_yaml="test_cases:\n  - {id: a, input: [}\n",
        wrong_yaml=ONE.replace("expected: y", "expected: {exat: y}"),
    )
    write(project, nothing_yaml="", list_yaml="[1, 2]", suite_txt=ONE)
    (project / "latin.yaml").write_bytes(b"name: caf\xe9\ntest_cases: []\n")
    (project / "folder.yaml").mkdir()
    os.mkfifo(project / "pipe.yaml")

    names = ("missing", "torn", "wrong", "nothing", "list", "latin", "folder", "pipe")
    done = quiet(drive(project, "run", *(f"{name}.yaml" for name in names), "suite.txt"))
    assert done.code == 2
    for told in (
        "missing.yaml: no such file or folder",
        "torn.yaml:2: ",
        r"wrong.yaml:3: test_cases\[0\].expected: unknown grader 'exat'; .*did you mean 'exact'\?",
        "nothing.yaml: is empty",
        "list.yaml: its format is not recognised: a native file needs test_cases, an eval-harness file evals ",
        r"latin.yaml:1: not UTF-8 text \(byte 0xe9\)",
        "folder.yaml: no suite was found in this folder",
        "pipe.yaml: not a regular file",
        "suite.txt: unknown file ending '.txt'; allowed: .yaml, ",
    ):
        assert re.search(f"^{told}", done.err, re.M), (told, done.err)


@pytest.mark.parametrize(
    ("target", "code", "told"),
    [
        ("nowhere.py:answer", 2, "no file"),
        ("agent.py:raise", 2, "unknown function 'raise' in agent.py. Did you mean 'raises'?"),
        ("no_such_module:answer", 3, "No module named 'no_such_module'"),
        ("agent.py:answer", 3, "is not callable"),
        ("torn.py:answer", 3, "SyntaxError"),
        ("bad.py:answer", 3, "ZeroDivisionError: division by zero"),
        ("quits.py:answer", 3, "SystemExit"),
        ("cmd:no-such-program", 2, "the program 'no-such-program' was not found"),
        ("orcale", 2, "Did you mean 'oracle'?"),
        ("agent.py", 2, "'agent.py' is a file; name the function: agent.py:raises"),
        ("missing.yaml", 2, "missing.yaml: cannot be read"),
    ],
)
def test_targets_that_cannot_be_opened(project: Path, target: str, code: int, told: str) -> None:
    write(project, torn_py="def (", bad_py="1 / 0", quits_py="import sys\nsys.exit(0)")
    done = quiet(drive(project, "run", "suite.yaml", "--target", target))

    assert done.code == code, done.both
    assert told in done.err
    assert drive(project, "runs", "--json").json == {"runs": []}, "nothing was started"


def test_debug_shows_the_stack_trace(project: Path) -> None:
    write(project, bad_py="1 / 0")
    done = drive(project, "run", "suite.yaml", "--target", "bad.py:answer", "--debug")
    assert done.code == 3
    assert "Traceback" in done.err
    assert "ZeroDivisionError" in done.err
    assert "error: the target bad.py:answer cannot be imported" in done.err


def test_targets_that_misbehave(project: Path) -> None:
    """One run per target, in one command: the trial says what was wrong, and the other trials are not affected."""
    reasons = {
        "agent.py:raises": "the target raised KeyError: 'missing thing' (",
        "agent.py:exits": "7",
        "agent.py:nothing": "the target returned None",
        "agent.py:odd": "a value of type object",
        "agent.py:endless": "nested too deeply",
        "agent.py:half": "expected 'y', got",
        "cmd:exit 3": "exit code 3",
        "cmd:kill -9 $$": "killed by SIGKILL",
        "cmd:true && no-such-program": "exit code 127",
    }
    check_reasons(project, reasons)


def test_targets_that_hang(project: Path) -> None:
    write(project, suite_yaml=ONE.replace("target: agent.py:answer", "config: {timeout_seconds: 1}"))
    hanging = ("agent.py:hangs", "agent.py:hangs_async", "cmd:sleep 3600")
    check_reasons(project, dict.fromkeys(hanging, "time limit: no answer within 1 s"))


def check_reasons(project: Path, reasons: dict[str, str]) -> None:
    """Maps each target to a part of the reason why its only trial failed."""
    flags = [word for target in reasons for word in ("--target", target)]
    done = quiet(drive(project, "run", "suite.yaml", *flags, "--json", whole_shutdown=True))

    assert done.code == 1
    reports = done.json["eval_reports"]
    assert len(reports) == len(reasons)
    for report, (target, reason) in zip(reports, reasons.items(), strict=True):
        [trial] = report["trials"]
        assert (trial["state"], reason in trial["reason"]) == ("failed", True), (target, trial)


# A small process in between, because a child is charged with the memory of the process that forked it.
MEASURING = """
import resource, subprocess, sys
with open("out.json", "wb") as out:
    code = subprocess.call(sys.argv[1:], stdout=out)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_endless_output_is_cut_and_not_gathered_in_memory(project: Path) -> None:
    words = [sys.executable, "-c", MEASURING, *COMMAND, "run", "suite.yaml", "--target", "cmd:yes flood", "--json"]
    done = subprocess.run(
        words, cwd=project, env=clean_environment(project), capture_output=True, text=True, check=True
    )
    code, peak = map(int, done.stdout.split())

    assert code == 1
    [trial] = json.loads((project / "out.json").read_text())["eval_report"]["trials"]
    assert trial["state"] == "failed"
    assert "output limit" in trial["reason"]
    assert peak < 100_000 * (1024 if sys.platform == "darwin" else 1), "kilobytes"


def test_giant_answers_and_noisy_functions(project: Path) -> None:
    words = ("--target", "agent.py:huge", "--target", "agent.py:floods")
    done = quiet(drive(project, "run", "suite.yaml", *words, "--json"))

    huge, noisy = (report["trials"][0] for report in done.json["eval_reports"])
    assert huge["state"] == "failed"
    assert "expected 'y', got 'xxx" in huge["reason"]
    assert len(huge["output"]) <= 1000
    assert noisy["state"] == "passed"
    assert done.err.count("noise") == 2_000_000
    assert (project / ".evalharness" / "store.db").stat().st_size < 10_000_000


@pytest.fixture(params=["small disk", "small file"])
def little_space(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder with room for 1 MB, and the environment that tells the agent so where no small disk can be made."""
    if request.param == "small disk":
        with mounted(tmp_path) as folder:
            yield folder, {}
    else:
        folder = tmp_path / "files"
        folder.mkdir()
        yield folder, {"LIMIT_FILES": "1"}


def test_a_full_disk_stops_the_run_and_loses_nothing(tmp_path: Path, little_space: tuple[Path, dict[str, str]]) -> None:
    folder, env = little_space
    write(
        tmp_path,
        agent_py="""
import os, random, resource, signal, sqlite3, time
if os.environ.get("LIMIT_FILES"):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
def kept():
    store = sqlite3.connect(os.environ["STORE"])
    try:
        return store.execute("SELECT COUNT(*) FROM trials").fetchone()[0]
    finally:
        store.close()
def answer(text, context):
    while context.index == 5 and not kept():  # so that some are written before the disk is full
        time.sleep(0.01)
    return random.Random(context.seed).randbytes(15_000).hex()
""",
        suite_yaml="target: agent.py:answer\ntrials: 100\ntest_cases: [{id: a, input: x, expected: {regex: .}}]\n",
    )
    store = folder / "store.db"
    words = ("run", "suite.yaml", "--store", str(store), "-j", "1")
    done = quiet(drive(tmp_path, *words, env={**env, "STORE": str(store)}))
    assert done.code == 3, done.both
    assert re.search(r"no space is left|disk I/O error|cannot be written", done.err), done.err

    roomy = tmp_path / "roomy"
    roomy.mkdir()
    for file in folder.iterdir():
        if file.is_file():
            shutil.copy(file, roomy / file.name)
    with sqlite3.connect(roomy / "store.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept = connection.execute("SELECT COUNT(*) FROM trials").fetchone()[0]
    connection.close()
    assert 0 < kept < 100

    words = ("resume", "--store", str(roomy / "store.db"), "--json")
    resumed = quiet(drive(tmp_path, *words, env={"STORE": str(roomy / "store.db")}))
    assert resumed.code == 0, resumed.both
    assert resumed.report["summary"]["trials"]["passed"] == 100


def has_open(process: Started, path: Path) -> bool:
    assert process.poll() is None, "it did not wait"
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since they were listed
            if link.readlink() == path:
                return True
    return False


def test_a_locked_store_is_waited_for_then_reported(project: Path) -> None:
    assert drive(project, "run", "suite.yaml", "--target", "oracle").code == 0
    holder = sqlite3.connect(project / ".evalharness" / "store.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        waited = quiet(
            drive(project, "run", "suite.yaml", "--target", "oracle", env={"EVALHARNESS_STORE_TIMEOUT": "1"})
        )
    finally:
        holder.execute("ROLLBACK")
    assert waited.code == 3
    assert "locked" in waited.err
    assert "1 s" in waited.err

    holder.execute("BEGIN EXCLUSIVE")
    with start(project, "run", "suite.yaml", "--target", "oracle") as process:
        wait_until(lambda: has_open(process, project / ".evalharness" / "store.db"))
        holder.execute("ROLLBACK")
        holder.close()
        assert process.wait().code == 0, "the lock was released in time"
    assert len(drive(project, "runs", "--json").json["runs"]) == 2


def test_stores_that_are_none(project: Path) -> None:
    (project / "text.db").write_text("this is not a database, it is a text of some length\n" * 100)
    for store, told in (("text.db", "is not a store"), ("/proc/nowhere/store.db", "cannot be created")):
        done = quiet(drive(project, "run", "suite.yaml", "--target", "oracle", "--store", store))
        assert (done.code, told in done.err) == (3, True), done.both
    assert (project / "text.db").read_text().startswith("this is not")
    wrong = quiet(drive(project, "run", "suite.yaml", env={"EVALHARNESS_STORE_TIMEOUT": "soon"}))
    assert (wrong.code, "EVALHARNESS_STORE_TIMEOUT" in wrong.err) == (2, True)


def test_a_reader_that_leaves_early(project: Path) -> None:
    """`eval-harness runs | head -1` must not end with an error message."""
    line = f"{sys.executable} -m evalharness run suite.yaml --target oracle --repeat 500 --verbose | head -1"
    done = subprocess.run(
        ["sh", "-c", line], cwd=project, env=clean_environment(project), capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("one · oracle · 1 case × 500 trials")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
