"""What the command says about files, variables and earlier runs is complete and true."""

from __future__ import annotations

from pathlib import Path

from driving import drive


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def test_problems_beside_a_duplicate_key_or_a_tag_are_reported_too(tmp_path: Path) -> None:
    write(
        tmp_path,
        "suite.yaml",
        "name: a\nname: b\ntrails: 3\ntest_cases:\n"
        "  - {id: x, input: !secret y, expected: {exat: 1}}\n  - {id: x, inptu: 1}\n",
    )
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2
    for said in ("name", "trails", "tags are not supported", "exat", "already used", "inptu"):
        assert said in done.both


def test_problems_beside_a_broken_line_are_reported_too(tmp_path: Path) -> None:
    write(tmp_path, "suite.jsonl", '{"input": 1, "expected": {"exat": 1}}\nnonsense\n{"inptu": 2}\n')
    done = drive(tmp_path, "validate", "suite.jsonl")
    assert [word in done.both for word in ("suite.jsonl:1:", "suite.jsonl:2:", "suite.jsonl:3:")] == [True] * 3


def test_what_validate_accepts_can_be_loaded(tmp_path: Path) -> None:
    for text in (
        "test_cases: []\n",
        "target: echo\ngraders: [nope.py:x]\ntest_cases: [{id: a, input: 1}]\n",
        "target: a\ntargets: {a: b, b: a}\ntest_cases: [{id: a, input: 1, expected: 1}]\n",
    ):
        write(tmp_path, "suite.yaml", text)
        assert drive(tmp_path, "validate", "suite.yaml").code == 2


def test_an_unquoted_version_is_accepted_and_an_empty_target_explained(tmp_path: Path) -> None:
    write(tmp_path, "suite.yaml", "schema_version: 1.0\ntarget: null\ntest_cases: [{id: a, input: 1, expected: 1}]\n")
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 0
    assert '"null" in quotes' in done.both


def test_only_the_variables_that_are_used_are_asked_for(tmp_path: Path) -> None:
    write(
        tmp_path,
        "suite.yaml",
        'target: echo\ntargets: {prod: {http: {url: "http://127.0.0.1:1/{{token}}"}}}\n'
        "test_cases: [{id: a, input: hi, expected: hi}, {id: b, input: '{{word}}', expected: '{{word}}'}]\n",
    )
    assert drive(tmp_path, "run", "suite.yaml", "--only", "a").code == 0
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 2
    assert "word" in done.err
    assert "token" not in done.err


def test_a_variable_with_a_wrong_value_names_the_case(tmp_path: Path) -> None:
    write(tmp_path, "suite.yaml", "target: echo\ntest_cases: [{id: sum, input: 1, expected: {numeric: '{{n}}'}}]\n")
    done = drive(tmp_path, "run", "suite.yaml", "--var", "n=abc")
    assert done.code == 2
    assert "case sum" in done.err


def test_failed_means_each_case_when_it_was_last_run(tmp_path: Path) -> None:
    write(
        tmp_path,
        "suite.yaml",
        "target: echo\ntest_cases: [{id: a, input: x, expected: y}, {id: b, input: x, expected: x}]\n",
    )
    assert drive(tmp_path, "run", "suite.yaml").code == 1
    assert drive(tmp_path, "run", "suite.yaml", "--only", "b").code == 0
    done = drive(tmp_path, "run", "suite.yaml", "--failed", "--json")
    assert done.states() == {"a": ["failed"]}


def test_the_same_file_or_target_twice_is_run_once(tmp_path: Path) -> None:
    write(tmp_path, "suite.yaml", "target: echo\ntest_cases: [{id: a, input: x, expected: x}]\n")
    done = drive(
        tmp_path, "run", "suite.yaml", "--suite", "./suite.yaml", "--target", "echo", "--target", "echo", "--json"
    )
    assert done.states() == {"a": ["passed"]}


def test_a_login_in_a_url_is_neither_shown_nor_kept(tmp_path: Path) -> None:
    write(tmp_path, "suite.yaml", "config: {retries: 0}\ntest_cases: [{id: a, input: x, expected: x}]\n")
    url = "http://user:passw0rdlong@127.0.0.1:1/x?api_key=zzzzzzzzzzzz"
    refused = drive(tmp_path, "run", "suite.yaml", "--target", url)
    assert refused.code == 2
    given = ("--var", "password=passw0rdlong", "--var", "api_key=zzzzzzzzzzzz")
    url = "http://user:{{password}}@127.0.0.1:1/x?api_key={{api_key}}"
    done = drive(tmp_path, "run", "suite.yaml", "--target", url, *given)
    assert done.code == 3
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".evalharness").iterdir())
    for secret in ("passw0rdlong", "zzzzzzzzzzzz"):
        assert secret not in refused.both + done.both
        assert secret.encode() not in kept


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    assert drive(tmp_path, "runs").code == 0
    assert drive(tmp_path, "show", "nothing").code == 2
    assert drive(tmp_path, "resume").code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_is_shown_with_the_way_to_go_on(tmp_path: Path) -> None:
    write(tmp_path, "suite.yaml", "config: {timeout_global: 0.5}\ntest_cases: [{id: a, input: x, expected: x}]\n")
    done = drive(tmp_path, "run", "suite.yaml", "--target", "cmd:sleep 5")
    assert done.code == 3
    name = drive(tmp_path, "runs", "--json").json["runs"][0]["run_name"]
    for _ in range(2):  # looking changes nothing
        shown = drive(tmp_path, "show", name)
        assert "INVALID" in shown.out
        assert f"resume {name}" in shown.out
