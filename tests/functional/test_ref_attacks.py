"""`$ref`, `baseline: {$ref}` and file inputs cannot be used to open anything outside the suite's folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from driving import clean_environment, drive

SECRET = "TOP-SECRET-7f3a"
TRAVERSALS = [
    "../secret.yaml",
    "../../secret.yaml",
    "./../secret.yaml",
    "sub/../../secret.yaml",
    "sub/./.././../secret.yaml",
    "../suite/../secret.yaml",
    "..//secret.yaml",
    ".././secret.yaml",
    "../secret.yaml/",
    "../secret.yaml/.",
    "../../../../../../../../../../etc/passwd",
    "sub/../../../../../../../../etc/hostname",
    "../" * 200 + "etc/passwd",
    "../.env",
    "..",
    "../",
    ".",
    "",
    " ",
    " ../secret.yaml",
    "../secret.yaml ",
]
ENCODED = [
    "%2e%2e/secret.yaml",
    "%2e%2e%2fsecret.yaml",
    "..%2fsecret.yaml",
    "..%252fsecret.yaml",
    "%252e%252e%252fsecret.yaml",
    "..%c0%afsecret.yaml",
    "..%00/secret.yaml",
    "ok.yaml%00",
    "..%5csecret.yaml",
    "%2fetc%2fpasswd",
    "..\u2215secret.yaml",
    "\uff0e\uff0e/secret.yaml",
    "..\uff0fsecret.yaml",
    "..;/secret.yaml",
    "....//secret.yaml",
    "..../secret.yaml",
    ".../secret.yaml",
]
WINDOWS = [
    "..\\secret.yaml",
    "..\\..\\secret.yaml",
    "sub\\..\\..\\secret.yaml",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "C:secret.yaml",
    "c:secret.yaml",
    "\\\\server\\share\\secret.yaml",
    "//server/share/secret.yaml",
    "\\secret.yaml",
    "\\\\?\\C:\\secret.yaml",
    "NUL",
    "CON:",
]
ABSOLUTE = [
    "/etc/passwd",
    "/etc/hostname",
    "/proc/self/environ",
    "/proc/self/cmdline",
    "/proc/self/fd/0",
    "/proc/self/root/etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/dev/tty",
    "/sys/kernel/notes",
    "//etc/passwd",
    "~/.ssh/id_rsa",
    "~root/.profile",
    "$HOME/.env",
    "${HOME}/.env",
    "{{home}}/secret.yaml",
]
URLS = [
    "file:///etc/passwd",
    "file:/etc/passwd",
    "file:../secret.yaml",
    "FILE:///etc/passwd",
    "http://127.0.0.1:1/x.yaml",
    "https://localhost/x.yaml",
    "ftp://localhost/x.yaml",
    "data:text/yaml,test_cases",
    "jar:file:///x.jar!/a.yaml",
    "ok.yaml#/../../secret.yaml",
    "ok.yaml?x=../secret.yaml",
    "http:secret.yaml",
]
ODD = [
    "ok.yaml\0.txt",
    "\0",
    "../secret.yaml\0.yaml",
    "ok.yaml\n../secret.yaml",
    "\x1b[2Jok.yaml",
    "a" * 300 + ".yaml",
    "a/" * 5000 + "b.yaml",
    "link.yaml",
    "link-folder/secret.yaml",
    "linked-environ.yaml",
    "chain-1.yaml",
    "pipe.yaml",
    "socket.yaml",
    "circle.yaml",
    "sub",
]
PAYLOADS = [*TRAVERSALS, *ENCODED, *WINDOWS, *ABSOLUTE, *URLS, *ODD]
WATCHING = """
import json, os, sys
from pathlib import Path
from evalharness.formats.suite_files import load_paths

inside = os.path.realpath(sys.argv[1])
opened = []

def watch(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "socket.connect") and isinstance(arguments[0], (str, bytes)):
        opened.append(os.fsdecode(arguments[0]))

paths = sorted(Path(inside).glob("attack-*.json"))
load_paths(paths[:3])  # one of each kind: whatever is imported late is imported now
sys.addaudithook(watch)
loaded = [file for path in paths for file in load_paths([path])]
found = [[bool(file.suite), [str(problem) for problem in file.problems]] for file in loaded]
print(json.dumps({"found": found, "opened": opened}))
"""


@pytest.fixture
def suite_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    (folder / "sub").mkdir(parents=True)
    case = f"{{id: {SECRET}, input: {SECRET}, expected_output: x}}"
    (tmp_path / "secret.yaml").write_text(case, encoding="utf-8")
    (tmp_path / ".env").write_text(f"KEY={SECRET}", encoding="utf-8")
    (folder / "ok.yaml").write_text("{id: ok, input: x, expected_output: x}", encoding="utf-8")
    (folder / "link.yaml").symlink_to("../secret.yaml")
    (folder / "link-folder").symlink_to("..", target_is_directory=True)
    (folder / "linked-environ.yaml").symlink_to("/proc/self/environ")
    (folder / "chain-1.yaml").symlink_to("chain-2.yaml")
    (folder / "chain-2.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder / "circle.yaml").symlink_to("circle.yaml")
    os.mkfifo(folder / "pipe.yaml")
    return folder


def attacks(folder: Path) -> int:
    """Every payload in each of the three places where a file can be named."""
    count = 0
    for payload in PAYLOADS:
        documents = [
            {"eval_suite": {"name": "s", "evals": [{"$ref": payload}]}},
            [{"id": "a", "baseline": {"$ref": payload}, "current": {"input": "x"}}],
            [{"id": "a", "input": {"type": "file", "content": payload}, "expected_output": "x"}],
        ]
        for document in documents:
            (folder / f"attack-{count:04}.json").write_text(json.dumps(document), encoding="utf-8")
            count += 1
    return count


def test_no_payload_opens_anything_outside(suite_folder: Path) -> None:
    count = attacks(suite_folder)
    done = subprocess.run(
        [sys.executable, "-c", WATCHING, str(suite_folder)],
        cwd=suite_folder,
        env=clean_environment(suite_folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    seen = json.loads(done.stdout)
    assert len(PAYLOADS) >= 80
    assert len(seen["found"]) == count
    assert len([path for path in seen["opened"] if "attack-" in path]) == count, "the watcher sees what is opened"
    assert {Path(path).name for path in seen["opened"] if "attack-" not in path} == set()
    assert [problems for is_suite, problems in seen["found"] if is_suite or not problems] == []
    told = "\n".join(line for _, problems in seen["found"] for line in problems)
    assert SECRET not in told
    assert all(":1: " in problems[0] and "attack-" in problems[0] for _, problems in seen["found"])


def test_the_command_says_which_line_is_at_fault(suite_folder: Path) -> None:
    text = "eval_suite:\n  name: s\n  evals:\n    - $ref: ok.yaml\n    - $ref: ../secret.yaml\n"
    (suite_folder / "suite.yaml").write_text(text, encoding="utf-8")
    done = drive(suite_folder, "validate", "suite.yaml")
    assert done.code == 2
    assert "suite.yaml:5: eval_suite.evals[1].$ref: ../secret.yaml is outside the suite's folder" in done.err
    assert SECRET not in done.both
    assert drive(suite_folder, "run", "suite.yaml", "--target", "oracle").code == 2


def test_a_walked_folder_lists_a_suite_but_not_its_parts(suite_folder: Path) -> None:
    for path in suite_folder.iterdir():
        if path.is_symlink() or path.is_fifo():
            path.unlink()
    text = "eval_suite: {name: whole, target: oracle, evals: [{$ref: ok.yaml}]}"
    (suite_folder / "suite.yaml").write_text(text, encoding="utf-8")
    (suite_folder / "alone.yaml").write_text("{id: alone, input: x, expected_output: x}", encoding="utf-8")
    done = drive(suite_folder, "validate", ".", "--json")
    assert sorted(file["file"] for file in done.json["files"]) == ["alone.yaml", "suite.yaml"]
