"""`grade` and `reviewers` as people type them: over a pipe, interrupted at every step, with files of other tools."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from driving import COMMAND, LONGEST_WAIT_S, clean_environment, drive, printed_name, succeed, write

LIKERT = "{type: likert, range: [1, 5], labels: {1: Poor, 5: Excellent}, criteria: [accurate, complete]}"
SUITE = f"""
name: tone
target: echo
test_cases:
  - {{id: first-secret, input: Dear customer, graders: [{{human: {{rubric: Is it polite?, interface: cli}}}}]}}
  - {{id: other-secret, input: Go away, graders: [{{human: {{rating_scale: {LIKERT}, interface: cli}}}}]}}
"""


def grade(folder: Path, typed: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The real command with these lines on its standard input."""
    command = [*COMMAND, "grade", *words]
    return subprocess.run(
        command,
        input=typed,
        capture_output=True,
        text=True,
        cwd=folder,
        env=clean_environment(folder),
        timeout=LONGEST_WAIT_S,
        check=False,
    )


def start_grading(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "grade", "--reviewer", "ann"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=clean_environment(folder),
        text=True,
    )


def type_next(process: subprocess.Popen[str], shown: str, comment: str = "fine") -> None:
    """What the last prompt asks for: the order of the items is the reviewer's own."""
    assert process.stdin is not None
    prompt = shown.splitlines()[-1].removesuffix(" > ")
    process.stdin.write({"Pass/Fail": "pass", "1-5": "4"}.get(prompt, comment) + "\n")
    process.stdin.flush()


def until_prompt(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    shown = ""
    while not shown.endswith(" > "):
        letter = process.stdout.read(1)
        if not letter:
            break
        shown += letter
    return shown


def rate_all(folder: Path, comment: str) -> None:
    with start_grading(folder) as process:
        while (shown := until_prompt(process)).endswith(" > "):
            type_next(process, shown, comment)
    assert process.returncode == 0


def waiting(folder: Path) -> str:
    write(folder, suite_yaml=SUITE)
    done = drive(folder, "run", "suite.yaml")
    assert done.code == 4
    assert re.search(rf"^rate +.* grade {printed_name(done)} --reviewer NAME$", done.out, re.MULTILINE)
    return printed_name(done)


def exported(folder: Path, layout: str = "jsonl") -> str:
    return succeed(folder, "reviewers", "export", "latest", "--layout", layout).out


def test_everything_over_a_pipe(tmp_path: Path) -> None:
    name = waiting(tmp_path)
    done = grade(tmp_path, "maybe\npass\n9\n4\n5\n" * 20, name, "--reviewer", "ann")
    assert done.returncode == 0, done.stderr
    assert "That was the last one. Thank you." in done.stdout
    for hidden in ("secret", "tone", "echo", name):
        assert hidden not in done.stdout
    report = json.loads(succeed(tmp_path, "show", name, "--json").out)["eval_report"]
    assert report["summary"]["awaiting"] == 0
    assert report["reviews"]["decided"] == 2
    assert "There is nothing to rate for you now." in grade(tmp_path, "", "--reviewer", "ann").stdout


def test_killed_between_any_two_lines_nothing_is_lost(tmp_path: Path) -> None:
    """After each line that was typed the command is killed; what comes next asks only for what was not typed yet."""
    waiting(tmp_path)
    steps = 0
    while steps < 20:
        process = start_grading(tmp_path)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            shown = until_prompt(process)
            if "last one" in shown or "nothing to rate" in shown:
                break
            type_next(process, shown)
            until_prompt(process)
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        steps += 1
    assert steps == 5, "a rating with a comment, and two ratings with a comment: nothing was asked twice"
    rows = [json.loads(line) for line in exported(tmp_path).splitlines()]
    assert {json.dumps(row["rating"]) for row in rows} == {"true", '{"accurate": 4, "complete": 4}'}
    assert [row["comment"] for row in rows] == ["fine", "fine"]
    assert json.loads(succeed(tmp_path, "show", "latest", "--json").out)["eval_report"]["summary"]["passed"] == 2


def test_skip_undo_and_leaving(tmp_path: Path) -> None:
    waiting(tmp_path)
    done = grade(tmp_path, "/undo\n/skip\n/skip I know the author\n/undo\n/quit\n", "--reviewer", "ann")
    assert done.returncode == 0, done.stderr
    for said in ("nothing to undo", "a skip needs a reason", "skipped", "taken back", "The same command goes on"):
        assert said in done.stdout
    assert [json.loads(line)["kind"] for line in exported(tmp_path).splitlines()] == ["skipped", "returned"]


def test_what_was_taken_back_is_asked_again(tmp_path: Path) -> None:
    options = [{"value": True, "label": "Good"}, {"value": False, "label": "Good enough"}]
    human = {"interface": "cli", "rating_scale": {"type": "binary", "options": options}}
    cases = [{"id": name, "input": name, "graders": [{"human": human}]} for name in "ab"]
    (tmp_path / "suite.json").write_text(json.dumps({"name": "s", "target": "echo", "test_cases": cases}))
    drive(tmp_path, "run", "suite.json")
    done = grade(tmp_path, "good\noops\n/undo\ngood e\nnot quite\n/quit\n", "--reviewer", "ann")
    assert "taken back; you said Good: oops" in done.stdout
    kept = [json.loads(line) for line in exported(tmp_path).splitlines()]
    assert [(row["kind"], row["rating"], row["comment"]) for row in kept] == [
        ("rated", True, "oops"),
        ("returned", None, ""),
        ("rated", False, "not quite"),
    ]


def test_the_owner_decides_where_people_disagree(tmp_path: Path) -> None:
    evaluators = "{min_required: 2, max_allowed: 2}"
    case = f"{{id: a, input: hello, graders: [{{human: {{interface: cli, evaluators: {evaluators}}}}}]}}"
    write(tmp_path, suite_yaml=f"name: split\ntarget: echo\ntest_cases: [{case}]\n")
    name = printed_name(drive(tmp_path, "run", "suite.yaml"))
    for person, says in (("ann", "pass"), ("ben", "fail")):
        grade(tmp_path, f"{says}\nbecause\n", "--reviewer", person)
    shown = drive(tmp_path, "show", name)
    assert "disputed" in shown.out
    assert f"grade {name} --reviewer NAME --disputed" in shown.out
    done = grade(tmp_path, "/undo\nfail\nno\n", name, "--reviewer", "owner", "--disputed")
    assert "/undo cannot be used here; type a rating, or /quit" in done.stdout
    assert "ann said Pass: because" in done.stdout
    assert "Fail by the adjudicator owner: no" in succeed(tmp_path, "show", name, "a").out


@pytest.mark.parametrize("layout", ["jsonl", "csv", "label-studio", "argilla"])
def test_what_is_exported_can_be_imported(layout: str, tmp_path: Path) -> None:
    """Into a copy of the store from before anybody had rated anything."""
    waiting(tmp_path)
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / ".evalharness" / "store.db").read_bytes())
    rate_all(tmp_path, "=1+1")
    file = tmp_path / ("reviews.csv" if layout == "csv" else "reviews.json")
    file.write_text(exported(tmp_path, layout))
    words = ("reviewers", "import", "latest", str(file), "--layout", layout, "--store", str(copy))
    assert succeed(tmp_path, *words).out == "2 reviews added, 2 of them counted\n"
    assert succeed(tmp_path, *words).out == "0 reviews added, 0 of them counted; 2 were there already\n"
    there = succeed(tmp_path, "reviewers", "export", "latest", "--store", str(copy)).out
    kept = [_without_times(json.loads(line)) for line in (there, exported(tmp_path)) for line in line.splitlines()]
    assert kept[:2] == kept[2:]
    assert '"summary"' in succeed(tmp_path, "show", "latest", "--json", "--store", str(copy)).out


def test_label_studio_gets_the_labelling_config_of_its_tasks(tmp_path: Path) -> None:
    """Every result of an annotation has its control, and every control the data that it shows."""
    waiting(tmp_path)
    rate_all(tmp_path, "fine")
    words = ("reviewers", "export", "latest", "--layout", "label-studio", "-o", "tasks.json")
    assert "wrote tasks.xml" in succeed(tmp_path, *words).out
    view = ElementTree.parse(tmp_path / "tasks.xml").getroot()
    controls = {each.get("name"): each for each in view.iter() if each.get("name")}
    for task in json.loads((tmp_path / "tasks.json").read_text()):
        assert {each.get("value", "")[1:] for each in view.iter("Text")} <= task["data"].keys()
        for result in task["annotations"][0]["result"]:
            control = controls[result["from_name"]]
            assert (control.tag.lower(), control.get("toName")) == (result["type"], result["to_name"])
            assert result["to_name"] in controls
            if result["type"] == "choices":
                assert result["value"]["choices"][0] in [each.get("value") for each in control]
            if result["type"] == "rating":
                assert 1 <= result["value"]["rating"] <= int(control.get("maxRating", ""))


def _without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("case", "trial", "item", "reviewer", "rating", "comment", "is_surplus")}


def test_an_import_is_whole_or_not_at_all(tmp_path: Path) -> None:
    waiting(tmp_path)
    good = {"case": "first-secret", "reviewer": "ann", "rating": "Pass"}
    for bad, said in (
        ({"case": "nobody", "reviewer": "ann", "rating": True}, "no review of trial 1 of case 'nobody'"),
        ({"case": "other-secret", "reviewer": "ann", "rating": 9}, "a number for each of: accurate, complete"),
        ({"reviewer": "ann", "rating": True}, "names its item"),
        ({"case": "first-secret", "rating": True}, "'reviewer' is missing"),
    ):
        (tmp_path / "reviews.jsonl").write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
        done = drive(tmp_path, "reviewers", "import", "latest", "reviews.jsonl")
        assert (done.code, said in done.err, "reviews.jsonl:2" in done.err) == (2, True, True), done.err
    assert exported(tmp_path) == ""


def test_reviewers_are_invited_listed_and_revoked(tmp_path: Path) -> None:
    waiting(tmp_path)
    token = json.loads(succeed(tmp_path, "reviewers", "invite", "ann", "--json").out)["token"]
    listed = succeed(tmp_path, "reviewers", "list", "--json").out
    assert "ann" in listed
    assert token not in listed
    assert token.encode() not in (tmp_path / ".evalharness" / "store.db").read_bytes()
    succeed(tmp_path, "reviewers", "revoke", "ann")
    done = grade(tmp_path, "", "--reviewer", "ann")
    assert (done.returncode, "may no longer review" in done.stderr) == (2, True)
    assert "2 reviews pending" in succeed(tmp_path, "reviewers", "status").out
    assert drive(tmp_path, "reviewers", "revoke", "nobody").code == 2


def test_ctrl_c_keeps_what_was_typed_and_says_so(tmp_path: Path) -> None:
    waiting(tmp_path)
    with start_grading(tmp_path) as process:
        type_next(process, until_prompt(process))
        until_prompt(process)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert "kept. The same command goes on from here." in process.stdout.read()
    assert process.returncode == 130
    assert "typed before" in grade(tmp_path, "", "--reviewer", "ann").stdout
