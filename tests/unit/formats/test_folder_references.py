"""`$ref`: what is followed, what is refused, and every refusal names the line of the `$ref`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from eval_files import load, put, told

from evalharness.formats.native.folder import MAX_DEPTH

EVAL = "{id: a, input: x, expected_output: x}"


def referring(*refs: str) -> str:
    return "eval_suite:\n  name: s\n  evals:\n" + "".join(f"    - $ref: {ref}\n" for ref in refs)


@pytest.mark.parametrize("ref", ["./part.yaml", "sub/../part.yaml", "sub/./one.yaml", "link.yaml", "linked/one.yaml"])
def test_files_inside_the_folder_are_followed(tmp_path: Path, ref: str) -> None:
    put(tmp_path, {"suite.yaml": referring(f"'{ref}'"), "part.yaml": EVAL, "sub/one.yaml": EVAL})
    (tmp_path / "link.yaml").symlink_to("part.yaml")
    (tmp_path / "linked").symlink_to("sub", target_is_directory=True)
    suite, problems = load(tmp_path / "suite.yaml")
    assert suite is not None, problems
    assert [case.id for case in suite.cases] == ["a"]


def test_a_suite_may_itself_be_behind_a_link(tmp_path: Path) -> None:
    put(tmp_path / "real", {"suite.yaml": referring("part.yaml"), "part.yaml": EVAL})
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    suite, problems = load(tmp_path / "link" / "suite.yaml")
    assert suite is not None, problems


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("missing.yaml", "there is no file missing.yaml"),
        ("sub", "sub is not a regular file"),
        ("notes.txt", "notes.txt has an unknown ending"),
        ("''", "must be the path of a file, not empty"),
        ("[a]", "must be the path of a file, not a list"),
        ("../outside.yaml", "is outside the suite's folder"),
        ("leads-out.yaml", "is outside the suite's folder"),
        ("circle.yaml", "cannot be read: "),
        ("'part.yaml#/a'", "without # or ?"),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, ref: str, message: str) -> None:
    put(tmp_path, {"outside.yaml": EVAL})
    suite = put(tmp_path / "suite", {"sub/one.yaml": EVAL, "notes.txt": EVAL, "part.yaml": EVAL})
    (suite / "leads-out.yaml").symlink_to("../outside.yaml")
    (suite / "circle.yaml").symlink_to("circle.yaml")
    [line] = told(suite, referring("part.yaml", ref))
    assert line.startswith("evals.yaml:5: eval_suite.evals[1].$ref: ")
    assert message in line


def test_a_circle_is_reported_with_its_chain(tmp_path: Path) -> None:
    put(tmp_path, {"a.yaml": referring("sub/b.yaml"), "sub/b.yaml": referring("../a.yaml")})
    _, problems = load(tmp_path / "a.yaml")
    assert [str(problem) for problem in problems] == [
        f"{tmp_path}/sub/b.yaml:4: eval_suite.evals[0].$ref: refers back to itself: a.yaml → b.yaml → a.yaml"
    ]
    [line] = told(tmp_path, referring("evals.yaml"))
    assert "refers back to itself: evals.yaml → evals.yaml" in line


def test_a_chain_may_be_sixteen_files_long(tmp_path: Path) -> None:
    names = [f"{number}.yaml" for number in range(MAX_DEPTH + 1)]
    files = {name: referring(following) for name, following in pairwise(names)}
    put(tmp_path, {**files, names[-1]: EVAL})
    suite, problems = load(tmp_path / names[0])
    assert suite is not None, problems
    put(tmp_path, {"start.yaml": referring(names[0])})
    _, problems = load(tmp_path / "start.yaml")
    assert [problem.message for problem in problems] == [f"the chain of references is longer than {MAX_DEPTH} files"]


def test_a_file_is_part_of_a_suite_once(tmp_path: Path) -> None:
    put(tmp_path, {"part.yaml": EVAL})
    [line] = told(tmp_path, referring("part.yaml", "./part.yaml"))
    assert line.startswith("evals.yaml:5: ")
    assert "is already part of this suite" in line


def test_doubling_references_are_read_once_each(tmp_path: Path) -> None:
    """Sixteen files that each name the next one twice would be read 65,536 times."""
    for number in range(MAX_DEPTH):
        put(tmp_path, {f"{number}.yaml": referring(*[f"{number + 1}.yaml"] * 2)})
    put(tmp_path, {f"{MAX_DEPTH}.yaml": EVAL})
    _, problems = load(tmp_path / "0.yaml")
    assert len(problems) == MAX_DEPTH


def test_a_file_that_is_not_yaml_is_reported_with_its_own_line(tmp_path: Path) -> None:
    put(tmp_path, {"torn.yaml": "- id: a\n  input: [\n"})
    [line] = told(tmp_path, referring("torn.yaml"))
    assert line.startswith("torn.yaml:")
    put(tmp_path, {"double.yaml": "id: a\nid: b\ninput: x\nexpected_output: {type: exat, value: x}\n"})
    lines = told(tmp_path, referring("double.yaml"))
    assert [line.split(": ")[0] for line in lines] == ["double.yaml:2", "double.yaml:4"], "both problems at once"
