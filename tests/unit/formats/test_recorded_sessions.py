"""Folders of recorded sessions as suites: what is asked, expected and refused, and the messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from recorded import asked, item, save, session

from evalharness.domain.case import Case
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.formats.native.reader import load_native
from evalharness.formats.native.writer import dump_suite
from evalharness.formats.suite_files import load_paths, survey_paths
from evalharness.syntax.source import parse_text


def load(path: Path, format_name: str | None = None) -> LoadedFile:
    [file] = load_paths([path], format_name)
    return file


def suite_in(path: Path) -> Suite:
    file = load(path)
    assert file.suite is not None, file.problems
    return file.suite


def case_of(tmp_path: Path, data: Any) -> Case:
    [case] = suite_in(save(tmp_path / "evals", one=data)).cases
    return case


def errors(path: Path, format_name: str | None = None) -> list[str]:
    found = load(path, format_name)
    assert found.suite is None
    return [str(problem).removeprefix(f"{path}/") for problem in found.problems if problem.severity == "error"]


def kinds(case: Case) -> list[str]:
    return [spec.kind for spec in case.graders or ()]


def test_a_session_is_a_case(tmp_path: Path) -> None:
    case = case_of(tmp_path, asked("list them", "list_directory", answer="There are 2."))
    assert (case.id, case.name) == ("one", "A session")
    assert case.input == {"messages": [{"role": "user", "content": "list them"}]}
    assert case.reference == "There are 2."
    assert kinds(case) == ["tool_calls_f1"]
    assert case.graders is not None
    assert case.graders[0].options == ["list_directory"]
    assert case.metadata["session"] == {"file": "one.json", "id": "1"}


def test_criteria_become_graders(tmp_path: Path) -> None:
    evals = {
        "relevance": ["names Ada", "is short"],
        "size": "S",
        "setup": "touch c.txt",
        "assertions": [{"name": "polite", "type": "contains", "value": "please"}],
    }
    case = case_of(tmp_path, asked("hi", evals=evals))
    assert kinds(case) == ["size_class", "tool_calls_f1", "relevance", "session_assertions"]
    assert case.setup == "touch c.txt"
    assert case.metadata["session"]["evals"] == evals
    assert case.skip == ""


def test_calls_are_only_reported_where_none_were_recorded(tmp_path: Path) -> None:
    """In the original, unexpected calls are scored but never shown."""
    [spec] = case_of(tmp_path, asked("hi")).graders or ()
    assert (spec.kind, spec.options, spec.required, spec.weight) == ("tool_calls_f1", [], False, 0)


def test_an_image_needs_containers(tmp_path: Path) -> None:
    assert case_of(tmp_path, asked("hi", evals={"image": "debian"})).skip == "needs containers"


@pytest.mark.parametrize("evals", [None, {}, {"relevance": None}])
def test_empty_criteria_are_fine(tmp_path: Path, evals: Any) -> None:
    assert kinds(case_of(tmp_path, asked("hi", "search", evals=evals))) == ["tool_calls_f1"]


def test_the_oldest_form_loads(tmp_path: Path) -> None:
    wrappers = [item("user", "hi")["message"], item("assistant", "", "search")["message"]]
    case = case_of(tmp_path, wrappers)
    assert case.input == {"messages": [{"role": "user", "content": "hi"}]}
    assert case.title == "one"


def test_unknown_keys_of_a_session_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain = case_of(tmp_path / "plain", asked("hi", "search"))
    assert case_of(tmp_path, asked("hi", "search", thinking=True, harness_session={"a": 1})) == plain


def test_longest_first_then_by_name(tmp_path: Path) -> None:
    short, long = asked("hi", at=1), asked("hi", at=30)
    evals = save(tmp_path / "evals", a=short, b=long, c=short, d=long)
    assert [case.id for case in suite_in(evals).cases] == ["b", "d", "a", "c"]


def test_equal_titles_are_fine(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi"), b=asked("ho"))
    assert {case.name for case in suite_in(evals).cases} == {"A session"}


def test_only_the_folder_itself_is_read(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi"))
    save(evals / "results", b=asked("ho"), c="{")
    save(evals / "working_dirs" / "w", d=asked("hey"))
    assert [case.id for case in suite_in(evals).cases] == ["a"]
    assert load(tmp_path).path == evals


def test_a_single_file_works_too(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi", "search"), b="{")
    file = load(evals / "a.json")
    assert file.suite is not None
    assert (file.format, file.suite.name, file.root) == ("recorded-sessions", "a", evals)


def test_a_folder_is_known_by_its_name_and_is_its_own_root(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi"))
    file = load(evals)
    assert file.suite is not None
    assert (file.format, file.suite.name, file.root, file.path) == ("recorded-sessions", "evals", evals, evals)


def test_other_suites_beside_sessions_are_suites_of_their_own(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi"), other={"test_cases": [{"input": "x", "expected": "x"}]})
    found = load_paths([evals])
    assert [(file.format, file.suite is not None) for file in found] == [("recorded-sessions", True), ("native", True)]
    assert [case.id for case in found[0].suite.cases] == ["a"] if found[0].suite else False


def test_other_json_files_are_left_out_and_said_to_be(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi", "search"), package={"name": "x"})
    assert [str(problem) for problem in load(evals).problems] == [
        f"{evals}/package.json: warning: is not a recorded session, so it is skipped"
    ]
    save(evals, another={"name": "x"})
    assert [file.path for file in survey_paths([evals])] == [evals]


def test_a_link_is_left_out_and_said_to_be(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi", "search"))
    (evals / "b.json").symlink_to("a.json")
    file = load(evals)
    assert [str(problem) for problem in file.problems] == [
        f"{evals}/b.json: warning: is a symbolic link, so it is skipped"
    ]
    assert file.suite is not None
    assert [case.id for case in file.suite.cases] == ["a"]


def test_a_chat_request_is_not_a_session(tmp_path: Path) -> None:
    save(tmp_path, request={"messages": [{"role": "user", "content": "hi"}]})
    assert load(tmp_path).problems[0].message == "no suite was found in this folder"


def test_nothing_to_check_is_worth_a_warning(tmp_path: Path) -> None:
    [problem] = load(save(tmp_path / "evals", a=asked("hi"))).problems
    assert (problem.severity, "nothing is checked" in problem.message) == ("warning", True)


def test_a_warning_that_many_files_share_is_reported_once(tmp_path: Path) -> None:
    sessions = {name: asked("hi") for name in "abcdef"}
    evals = save(tmp_path / "evals", **sessions, y={"name": "x"}, z={"name": "x"}, bad="{", worse="{")
    told = [str(problem).removeprefix(str(evals)) for problem in load(evals).problems]
    [nothing] = [text for text in told if "nothing is checked" in text]
    assert nothing.startswith(": warning: nothing is checked: ")
    assert nothing.endswith(" (in 6 files: a.json, b.json, c.json, …)")
    assert ": warning: is not a recorded session, so it is skipped (in 2 files: y.json, z.json)" in told
    assert [text.split(":")[0] for text in told if "warning" not in text] == ["/bad.json", "/worse.json"]


def test_nothing_to_check_is_not_reported_for_what_is_skipped_or_broken(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", a=asked("hi", evals={"image": "debian"}))
    assert load(evals).problems == ()
    evals = save(tmp_path / "evals", a=asked("hi", evals={"working_dir": "none"}))
    assert [problem.severity for problem in load(evals).problems] == ["error"]


@pytest.mark.parametrize("value", ["cheap", True, "inf"])
def test_a_cost_threshold_is_a_number(value: Any, tmp_path: Path) -> None:
    evals = {"assertions": [{"type": "cost_threshold", "value": value}]}
    [problem] = load(save(tmp_path / "evals", a=asked("hi", evals=evals))).problems
    assert (problem.severity, problem.field) == ("error", "evals.assertions[0].value")


def test_all_problems_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    evals = {
        "siez": "S",
        "working_dir": "../..",
        "relevance": ["names Ada", ""],
        "assertions": [{"type": "cost_threshold", "value": "cheap"}, {"type": "cost_threshold", "value": ""}],
    }
    found = load(save(tmp_path / "evals", a=asked("hi", evals=evals))).problems
    assert sorted(problem.field.removeprefix("evals.") for problem in found) == [
        "assertions[0].value",
        "assertions[1].value",
        "relevance[1]",
        "siez",
        "working_dir",
    ]


def test_all_problems_are_reported_at_once_and_name_their_files(tmp_path: Path) -> None:
    """The original stops at the first bad file and does not name it."""
    evals = save(
        tmp_path / "evals",
        a=asked("hi", evals={"sise": "S", "size": "tiny"}),
        b="{",
        c=session({"message": {"message": {"role": 3}}}),
        d=session(item("assistant", "hello")),
        e=asked("hi", evals={"assertions": [{"type": "contains", "value": ""}]}),
        f=asked("fine"),
    )
    found = errors(evals)
    assert [line.split(":")[0] for line in found] == ["a.json", "a.json", "b.json", "c.json", "d.json", "e.json"]
    assert "did you mean 'size'" in "".join(found[:2])
    assert "allowed: S, M, L, XL" in "".join(found[:2])
    assert "nothing to ask" in found[4]
    assert "messages[0].message.message.role" in found[3]


def test_forced_every_json_file_must_be_a_session(tmp_path: Path) -> None:
    found = errors(save(tmp_path / "evals", a={"name": "x"}, b="[1"), "recorded-sessions")
    assert [line.split(":")[0] for line in found] == ["a.json", "b.json"]


def test_files_of_the_working_directory_are_the_cases_files(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", one=asked("hi", "search", evals={"working_dir": "two/deep"}))
    folder = evals / "working_dirs" / "two" / "deep"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "sub" / "b.txt").write_text("b")
    [case] = suite_in(evals).cases
    assert {name: file.path for name, file in case.files.items()} == {
        "a.txt": "working_dirs/two/deep/a.txt",
        "sub/b.txt": "working_dirs/two/deep/sub/b.txt",
    }


@pytest.mark.parametrize("name", ["../outside", "..", "two/../../outside", "link", "\0"])
def test_a_working_directory_is_where_it_should_be(tmp_path: Path, name: str) -> None:
    """In the original `../` works."""
    evals = save(tmp_path / "evals", one=asked("hi", evals={"working_dir": name}))
    (evals / "outside").mkdir()
    (evals / "working_dirs" / "two").mkdir(parents=True)
    (evals / "working_dirs" / "link").symlink_to(tmp_path)
    [found] = errors(evals)
    assert found.startswith("one.json:1: evals.working_dir: ")


def test_an_absolute_working_directory_is_refused(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", one=asked("hi", evals={"working_dir": str(tmp_path)}))
    assert "must be the name of a folder" in errors(evals)[0]


def test_a_missing_working_directory_is_reported(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", one=asked("hi", evals={"working_dir": "gone"}))
    assert "working directory not found: working_dirs/gone" in errors(evals)[0]


def test_a_file_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    evals = save(tmp_path / "evals", one=asked("hi", evals={"working_dir": "w"}))
    (evals / "working_dirs" / "w").mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    (evals / "working_dirs" / "w" / "a").symlink_to(tmp_path / "secret")
    (evals / "working_dirs" / "w" / "b").symlink_to(tmp_path, target_is_directory=True)
    first, second = errors(evals)
    assert "b is a link to a folder" in first and "a is a link that leads out of the folder" in second


def test_braces_are_text_in_sessions(tmp_path: Path) -> None:
    file = load(save(tmp_path / "evals", one=asked("What is {{name}}?", "search")))
    assert not file.problems
    assert file.suite is not None
    assert file.suite.templated


@pytest.mark.parametrize("question", ["hi", "What is {{name}}?"])
def test_written_as_a_native_suite_it_means_the_same(tmp_path: Path, question: str) -> None:
    evals = {
        "relevance": ["x"],
        "size": "S",
        "setup": "true",
        "image": "i",
        "assertions": [{"type": "regex", "value": "a"}],
    }
    suite = suite_in(save(tmp_path / "evals", one=asked(question, "search", evals=evals)))
    again, findings = load_native(parse_text(dump_suite(suite), ".yaml", tmp_path / "evals" / "suite.yaml"))
    assert not findings.has_errors, findings.problems
    assert again == suite
