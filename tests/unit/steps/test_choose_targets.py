"""Which targets a suite is run on, and their names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalharness.domain.case import Case
from evalharness.domain.specification import WrittenTarget
from evalharness.domain.suite import Suite
from evalharness.engine.planning.planned_cases import Variables, filled_target
from evalharness.errors import InvalidFile, UsageError
from evalharness.steps.choose_targets import choose_targets

SUITE = Suite(name="s", cases=(Case(id="a", input="?"),))


def names(*asked: WrittenTarget) -> list[str]:
    return [variant.name for variant in choose_targets(SUITE, asked, "suite.yaml")[1]]


def test_the_same_target_twice_is_one() -> None:
    assert names("oracle", "null", "oracle") == ["oracle", "null"]


def test_files_of_one_name_in_two_folders_are_two_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "agent.yaml").write_text(f"command: echo {folder}\n")
    assert names("a/agent.yaml", "b/agent.yaml", "a/agent.yaml") == ["agent", "b/agent.yaml"]


def test_functions_of_one_name_are_distinguished() -> None:
    first, second = names(lambda _: "a", lambda _: "b")
    assert second == f"{first} (2)"


def test_variables_of_a_target_file_and_an_address_are_filled_in_whatever_the_suite_contains(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text("command: 'echo {{town}}'\n")
    literal = SUITE.model_copy(update={"cases": (Case(id="a", input="literal {{x}}"),)})
    for asked, filled in (
        (str(path), "echo Rome"),
        ("http://127.0.0.1:1/?town={{town}}", "http://127.0.0.1:1/?town=Rome"),
        ("cmd:echo {{town}}", "echo {{town}}"),
    ):
        suite, (variant,) = choose_targets(literal, [asked], "suite.yaml")
        assert variant.target is not None
        assert set(Variables({"town": "Rome"}).used_by(suite, variant.target, "suite.yaml").locked) == (
            {"town"} if "Rome" in filled else set()
        )
        assert filled_target(variant.target, suite, {"town": "Rome"}).options == filled


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Api-Key", "litCanaryHeader77"),
        ("authorization", "Bearer litCanary"),
        ("Proxy-Authorization", "Basic bGl0OkNhbmFyeQ=="),
        ("Cookie", "session=1"),
        ("X-Secret", "lit{Canary"),
        ("apikey", "litCanaryHeader77"),
        ("accessToken", "litCanaryHeader77"),
        ("userToken", "litCanaryHeader77"),
        ("XApiKey", "litCanaryHeader77"),
        ("X-Signature", "litCanaryHeader77"),
    ],
)
def test_a_secret_written_into_a_header_is_refused(tmp_path: Path, name: str, value: str) -> None:
    path = with_header(tmp_path, name, value)
    with pytest.raises(InvalidFile) as caught:
        names(str(path))
    [problem] = caught.value.problems
    assert problem.field == f"http.headers.{name}"
    assert problem.message == "would be stored in plain text: write {{api_key}} and pass the value as a variable"


@pytest.mark.parametrize(
    "url",
    [
        "http://x/e?page=2&api_key=queryCanary99",
        "http://user:passw0rdCanary@x/e",
        "https://x?token=litCanary7",
        "https://litCanaryToken@x/e",
        "https://litCanaryToken:@x/e",
        "https://x/e?sig=litCanary7",
    ],
)
def test_a_secret_written_into_an_address_is_refused(tmp_path: Path, url: str) -> None:
    path = tmp_path / "agent.json"
    path.write_text(json.dumps({"http": {"url": url}}))
    with pytest.raises(InvalidFile) as caught:
        names(str(path))
    assert [problem.field for problem in caught.value.problems] == ["http.url"]
    with pytest.raises(UsageError, match="pass the value as a variable"):
        names(url)
    path.write_text(
        json.dumps(
            {"http": {"url": "http://x/e?author=somebodyelse&keyword=something&api_key={{api_key}}&token=short"}}
        )
    )
    assert names(str(path)) == ["agent"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Api-Key", "{{api_key}}"),
        ("Authorization", "Bearer {{ token }}"),
        ("Authorization", "Bearer short"),
        ("Idempotency-Key", "a-long-prefix-{case_id}"),
        ("Accept-Language", "de-DE,de;q=0.9"),
        ("Idempotency-Key", "a-long-constant"),
        ("X-Request-Author", "somebodyelse"),
        ("X-Tokenizer", "cl100k_base"),
        ("X-Auth-Method", "password"),
        ("sort_key", "created_at"),
    ],
)
def test_headers_without_a_secret_are_taken(tmp_path: Path, name: str, value: str) -> None:
    assert names(str(with_header(tmp_path, name, value))) == ["agent"]


def test_a_variable_in_a_secrets_place_must_be_known_for_one(tmp_path: Path) -> None:
    path = with_header(tmp_path, "Authorization", "Bearer {{mine}}")
    with pytest.raises(InvalidFile) as caught:
        names(str(path))
    assert "the variable mine would be stored in plain text" in caught.value.problems[0].message
    with pytest.raises(UsageError, match="the variable mine would be stored"):
        names("https://x/e?token={{mine}}")
    knows = SUITE.model_copy(update={"secrets": ("Mine",)})
    for asked in (str(path), "https://x/e?token={{mine}}"):
        assert len(choose_targets(knows, [asked], "suite.yaml")[1]) == 1


def with_header(folder: Path, name: str, value: str) -> Path:
    path = folder / "agent.json"
    path.write_text(json.dumps({"http": {"url": "http://x", "headers": {name: value}}}))
    return path


def prompted(*asked: WrittenTarget, **fields: object) -> list[str]:
    suite = Suite(name="s", prompts={"a": "{{input}}", "b": "{{input}}?"}, cases=SUITE.cases, **fields)
    variants = choose_targets(suite, asked, "suite.yaml")[1]
    assert all(variant.target and variant.target.prompt for variant in variants if variant.name != "oracle")
    return [variant.name for variant in variants]


def test_prompts_are_crossed_with_targets_and_variants() -> None:
    assert prompted(target="echo") == ["a", "b"]
    assert prompted(targets={"x": "echo", "y": "echo"}) == ["a · x", "b · x", "a · y", "b · y"]
    assert prompted(target="x", targets={"x": "echo", "y": "echo"}) == ["a", "b"]
    assert prompted(variants={"x": "echo", "y": "echo"}) == ["a · x", "b · x", "a · y", "b · y"]
    assert prompted("echo", "cmd:cat") == ["a · echo", "b · echo", "a · command cat", "b · command cat"]
    assert prompted("oracle", "echo") == ["oracle", "a · echo", "b · echo"]


def test_a_prompt_cannot_ask_a_target_that_wants_fields() -> None:
    with pytest.raises(UsageError, match="uses fields of the input"):
        prompted({"command": ["echo", "{input.name}"]})
