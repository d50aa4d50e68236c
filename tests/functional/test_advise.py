"""`advise`: what it says of a suite, as text and as JSON; nothing is run, and the exit code is 0."""

from __future__ import annotations

from pathlib import Path

from driving import drive, succeed, texts, write

SUITE = """
name: shop
target: agent.py:answer
test_cases:
  - {id: total, input: a, expected: {contains: 12}}
  - {id: items, input: b, expected: {contains: 3}}
  - {id: name, input: c, expected: Bookery}
"""


def test_cases_are_grouped_and_the_rest_is_counted(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, pyproject_toml="")
    out = succeed(tmp_path, "advise", "suite.yaml", "--goal", "reliable").out
    assert "! 2 cases: contains on a number" in out
    assert "    total, items\n" in out
    assert "✓ 1 case with graders that fit" in out
    assert "metric       pass^3: the chance that all of 3 answers are right" in out
    assert "gate         production, because every answer has to be right" in out
    assert out.rstrip().endswith("next         eval-harness selftest suite.yaml")
    assert not (tmp_path / ".evalharness").exists(), "nothing is stored"


def test_a_thousand_cases_are_a_few_lines(tmp_path: Path) -> None:
    cases = "".join(f"  - {{id: c{n}, input: a, expected: {{contains: {n}}}}}\n" for n in range(1000))
    write(tmp_path, suite_yaml=f"name: many\ntarget: agent.py:answer\ntest_cases:\n{cases}", pyproject_toml="")
    out = succeed(tmp_path, "advise", "suite.yaml").out
    assert "c0, c1, c2, c3, c4 and 995 more" in out
    assert len(out.splitlines()) < 15


def test_as_json_each_finding_has_its_code_its_words_and_its_cases(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, pyproject_toml="")
    [advice] = succeed(tmp_path, "advise", "suite.yaml", "--json").json["advice"]
    first = advice["choices"][0]
    assert (first["about"], first["finding"]["code"], first["cases"]) == (
        "grader",
        "choice.contains_number",
        ["total", "items"],
    )
    assert texts([first["finding"]])[0].startswith("contains on a number")
    assert (advice["goal"], advice["metric"], advice["preset"]) == (None, "pass_at_1", "development")


def test_several_suites_and_broken_ones(tmp_path: Path) -> None:
    write(tmp_path, one_yaml=SUITE, two_yaml=SUITE.replace("shop", "store"), pyproject_toml="")
    assert [each["suite_name"] for each in succeed(tmp_path, "advise", ".", "--json").json["advice"]] == [
        "shop",
        "store",
    ]
    write(tmp_path, bad_yaml="name: bad\ntest_cases: 3\n")
    assert drive(tmp_path, "advise", "bad.yaml").code == 2
    assert drive(tmp_path, "advise", "nothing.yaml").code == 2
    assert "retries" in drive(tmp_path, "advise", "one.yaml", "--goal", "fast").err
