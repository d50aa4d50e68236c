"""A sandbox that cannot start is an error, never the target's answer, whichever exit code a case expects."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from driving import COMMAND, Outcome, clean_environment, write
from isolating import GROUPS, MODES, SOURCE, USER, isolated, user_command
from missing_parts import missing

from evalharness.sandboxes import nobody

EXPECTS_1 = "expected: {exit_code: 1}"
SUITE = """
name: s
target: {command: [sh, agent.sh], sandbox: true}
test_cases:
"""


@pytest.fixture(params=[mode for mode in MODES if mode in (GROUPS, USER)])
def mode(request: pytest.FixtureRequest) -> str:
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "apt-get install bubblewrap")
    return str(request.param)


@pytest.fixture
def folder(mode: str, tmp_path: Path) -> Iterator[Path]:
    with isolated(mode, tmp_path) as box:
        yield box.workspace


def run_suite(
    mode: str,
    folder: Path,
    *words: str,
    machine: Sequence[str] = (),
    limits: Sequence[str] = (),
    env: dict[str, str] | None = None,
) -> Outcome:
    """On a machine that `machine` changes, as root or as an ordinary user with `limits`."""
    as_user = mode == USER and os.geteuid() == 0
    if as_user:
        nobody.give_away(folder)
    bounded = ["/usr/bin/prlimit", *limits, "--"] if limits else []
    done = subprocess.run(
        [
            *machine,
            *(user_command(folder) if as_user else ()),
            *bounded,
            *COMMAND,
            "run",
            "suite.yaml",
            "--json",
            *words,
        ],
        cwd=folder,
        env={**clean_environment(folder, env), "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))


def machine_with(place: str, content: Path) -> list[str]:
    return ["/usr/bin/bwrap", "--dev-bind", "/", "/", "--ro-bind", str(content), place, "--"]


@pytest.mark.parametrize("limit", ["--nofile=200", "--fsize=4000000"])
def test_a_program_runs_within_what_the_harness_itself_may_use(mode: str, folder: Path, limit: str) -> None:
    write(folder, suite_yaml=f"{SUITE}  - {{id: a, input: Ada, {EXPECTS_1}}}", agent_sh="ulimit -n; echo ran; exit 1")
    outcome = run_suite(mode, folder, limits=[limit])
    trial = outcome.report["trials"][0]
    assert (outcome.code, trial["state"]) == (0, "passed"), outcome.both
    assert trial["output"] == ("200\nran\n" if "nofile" in limit else "1024\nran\n")


# As root, a test needs bwrap itself to become an ordinary user.
NEEDED = [(mode, program) for mode in MODES if mode in (GROUPS, USER) for program in ("prlimit", "bwrap")]


@pytest.mark.parametrize(
    ("mode", "program"), [each for each in NEEDED if os.geteuid() or each != (USER, "bwrap")], indirect=["mode"]
)
def test_a_program_of_the_sandbox_that_fails_is_not_an_answer(mode: str, folder: Path, program: str) -> None:
    write(folder, suite_yaml=f"{SUITE}  - {{id: a, input: Ada, {EXPECTS_1}}}", agent_sh="echo ran; exit 1")
    first = machine_with(f"/usr/bin/{program}", Path("/bin/false"))
    outcome = run_suite(mode, folder, machine=first)
    assert outcome.code == 3, outcome.both
    assert "passed" not in outcome.out


@pytest.mark.parametrize("mode", [GROUPS] if os.geteuid() == 0 else [USER], indirect=True)
@pytest.mark.parametrize(("failures", "code"), [(2, 0), (100, 3)])
def test_a_file_system_that_is_unmounted_meanwhile_is_looked_at_again(
    mode: str, folder: Path, failures: int, code: int
) -> None:
    """What bubblewrap says then, here said by a program in its place for so many times."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        place = Path(made)
        (place / "said").mkdir()
        for path in (place, place / "said"):
            path.chmod(0o777)
        shutil.copy("/usr/bin/bwrap", place / "real")
        (place / "text").write_text('bwrap: Unable to apply mount flags: remount "/newroot/gone": Invalid argument')
        refuse = f"mkdir {place}/said/$n 2>/dev/null && {{ cat {place}/text >&2; exit 1; }}"
        fake = place / "bwrap"
        fake.write_text(f'#!/bin/sh\nfor n in $(seq {failures}); do {refuse}; done\nexec {place}/real "$@"\n')
        fake.chmod(0o755)
        write(folder, suite_yaml=f"{SUITE}  - {{id: a, input: Ada, {EXPECTS_1}}}", agent_sh="echo ran; exit 1")
        outcome = run_suite(mode, folder, machine=machine_with("/usr/bin/bwrap", fake))
        assert outcome.code == code, outcome.both
        assert (place / "said/2").exists(), "it was tried again"
        assert code == 0 or "Unable to apply mount flags" in outcome.both


@pytest.mark.parametrize("mode", [USER], indirect=True)  # root's sandboxes are limited by their control group
def test_a_number_of_processes_that_cannot_be_limited_is_not_an_answer(mode: str, folder: Path) -> None:
    """Without control groups, this happens while the sandbox waits to start its program."""
    shutil.copy("/usr/bin/prlimit", folder / "real")
    fake = folder / "prlimit"
    fake.write_text(f'#!/bin/sh\ncase "$*" in *--pid=*) echo refused >&2; exit 1;; esac\nexec {folder}/real "$@"\n')
    fake.chmod(0o755)
    write(folder, suite_yaml=f"{SUITE}  - {{id: a, input: Ada, {EXPECTS_1}}}", agent_sh="echo ran; exit 1")
    outcome = run_suite(mode, folder, machine=machine_with("/usr/bin/prlimit", fake))
    assert outcome.code == 3, outcome.both
    assert "refused" in outcome.both


def test_a_folder_on_the_path_that_may_not_be_read_is_passed_over(mode: str, folder: Path) -> None:
    closed = folder.parent / "closed"
    (closed / "tools/bin").mkdir(parents=True)
    closed.chmod(0o700 if os.geteuid() == 0 else 0)
    write(folder, suite_yaml=f"{SUITE}  - {{id: a, input: Ada, {EXPECTS_1}}}", agent_sh="exit 1")
    outcome = run_suite(mode, folder, env={"PATH": f"{closed}/tools/bin:{closed}:/usr/bin:/bin"})
    assert outcome.code == 0, outcome.both


def test_too_many_open_files_are_not_an_answer(mode: str, folder: Path) -> None:
    made = "expected: {files: [made]}"
    cases = "".join(f"  - {{id: a{number}, input: Ada, {made}}}\n" for number in range(40))
    write(folder, suite_yaml=SUITE + cases, agent_sh="sleep 0.2; echo x >made")
    (folder / "temporary").mkdir()
    env = {"TMPDIR": str(folder / "temporary")}
    outcome = run_suite(mode, folder, "-j", "40", limits=["--nofile=80:4096"], env=env)
    states = Counter(trial["state"] for trial in outcome.report["trials"])
    assert outcome.code == 3, outcome.both
    assert set(states) == {"passed", "error"}, outcome.both
    assert states["error"] > 2, "otherwise nothing was tried"
    assert list((folder / "temporary").iterdir()) == []


def test_root_that_may_not_use_folders_of_others_is_an_error_that_leaves_nothing_behind(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        missing("root", "run the tests as root: an ordinary user's sandboxes run as that user")
    write(tmp_path, suite_yaml=f"{SUITE}  - {{id: a, input: x, {EXPECTS_1}}}", agent_sh="exit 1")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    lacks = "-dac_override,-dac_read_search"
    machine = ["/usr/bin/setpriv", f"--bounding-set={lacks}", f"--inh-caps={lacks}"]
    done = run_suite(GROUPS, tmp_path, machine=machine, env={"TMPDIR": str(temporary)})
    assert done.code == 3, done.both
    assert "this root may not use folders of other users" in done.both
    assert "RecursionError" not in done.both
    assert not list(temporary.iterdir())
