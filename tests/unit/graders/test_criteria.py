"""Criteria and their weights: as a rubric's text lists them, and as `criteria:` gives them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.specification import GraderSpec
from evalharness.graders.judges.criteria import parse_criteria
from evalharness.graders.judges.prompts import built_in_rubrics, rubric_text


def weights(rubric: str) -> dict[str, float]:
    return {criterion.key: criterion.weight for criterion in parse_criteria(rubric)}


def options(**written: Any) -> Any:
    return registry.parse_options("grader", GraderSpec(kind="model", options=written))


def test_the_built_in_rubrics_have_the_documented_criteria_and_weights() -> None:
    assert weights(rubric_text("code_quality")) == {
        "correctness": 0.4,
        "readability": 0.2,
        "efficiency": 0.2,
        "best_practices": 0.2,
    }
    assert weights(rubric_text("documentation")) == {
        "completeness": 0.3,
        "accuracy": 0.3,
        "clarity": 0.25,
        "organization": 0.15,
    }
    assert set(built_in_rubrics()) == {
        *("better_answer", "code_quality", "documentation", "good_answer", "same_meaning"),
    }


@pytest.mark.parametrize(
    ("rubric", "found"),
    [
        ("Is it kind?", {}),
        ("Score it.\n\n- 5: good\n- 1: bad", {}),
        (
            "1. **Correctness** (weight: 0.4)\n   - 5: right\n2. **Tone** (weight: 0.6)",
            {"correctness": 0.4, "tone": 0.6},
        ),
        ("### 1. Best Practices (weight: 40%)\n### 2. Rest (weight: 60 %)", {"best_practices": 0.4, "rest": 0.6}),
        ("* Tone (Weight 2)\n* **Length (in words)** (weight = .5)", {"tone": 2.0, "length_in_words": 0.5}),
        ("1. **Tone** [weight: 0.9]\n2. **Length** [weight: 0.1]", {"tone": 0.9, "length": 0.1}),
        ("**Tone** (weight: 9)\nIs it kind?\n**Length** (weight: 1)\nIs it short?", {"tone": 9, "length": 1}),
        ("Judge by:\nTone (weight: 90%)\nLength (weight: 10%)", {"tone": 0.9, "length": 0.1}),
        ("a) Tone (weight: 9)\n   - 5: kind\nb) Length (weight: 1)", {"tone": 9, "length": 1}),
        ("    1. **Tone** (weight: 0.9)\n    2. **Length** (weight: 0.1)", {"tone": 0.9, "length": 0.1}),
        ("1. Tone: is it kind? (weight: 3)\n2. Length: is it short? (weight: 1)", {"tone": 3, "length": 1}),
        ("1. **Tone** (weight: 3): is it kind?\n2. **Length** (weight: 1) - is it short?", {"tone": 3, "length": 1}),
        ("1.\u00a0**Tone**\u00a0（weight： 0.4）\n2.\u00a0**Length** （weight： 0.6）", {"tone": 0.4, "length": 0.6}),
        ("1) **Höflichkeit** (weight: 1)\n2) **Вежливость** (weight: 1)", {"höflichkeit": 1.0, "вежливость": 1.0}),
        ("1. Total price is right (weight: 6)\n2. Sum of it (weight: 4)", {"total_price_is_right": 6, "sum_of_it": 4}),
        ("1. Dose (body weight 70 kg) (weight: 6)", {"dose_body_weight_70_kg": 6}),
        (
            "1. **Tone** (weight: 3)\n   - 5: most is kind (80%)\n2. **Length** (weight: 1)\n   1. short (90%)",
            {"tone": 3, "length": 1},
        ),
        (
            "- Tone (weight: 0.9)\n- Length (weight: 0.1)\n\nTotal weight: 1.0\n* be strict",
            {"tone": 0.9, "length": 0.1},
        ),
    ],
)
def test_criteria_with_weights_are_read_from_the_text(rubric: str, found: dict[str, float]) -> None:
    assert weights(rubric) == pytest.approx(found)


@pytest.mark.parametrize(
    "rubric",
    [
        "1. **Tone**: kind\n2. **Length**: short",
        "1. **Tone** (90%)\n2. **Length** (10 %)",
        "1. **Tone**: is it right? 90%\n2. **Length**: is it short? 10%",
        "1. **Tone** (9 out of 10)\n2. **Length** (1 out of 10)",
        "- Tone counts 90 percent\n- Length counts 10 percent",
        "| Criterion | Weight |\n|---|---|\n| Tone | 0.9 |\n| Length | 0.1 |",
        "1. **Tone**\n   - Weight: 0.9\n2. **Length**\n   - Weight: 0.1",
        "1. **Tone** (0-10 points)\n2. **Length** (0-10 points)",
        "- It tells the weight: 5 kg\n- It is kind",
        "1. It names the years (1914-1918)\n2. It is kind",
        "1. It ended (3-2)\n2. It is kind",
        "1. Names the age (18-30)\n2. Names the dosage (5-10)",
        "It names the water (molecular weight 18) and the dose (by body weight: 5 mg/kg).",
        "Rate it (1-5).\n- Tone (1-5)",
        "Be kind (weighted by how much is said; weight matters).",
        '[{"name": "tone", "weight": 0.9}, {"name": "length", "weight": 0.1}]',
    ],
)
def test_a_rubric_in_other_words_gets_one_score(rubric: str) -> None:
    assert weights(rubric) == {}


@pytest.mark.parametrize(
    ("line", "scale"),
    [
        ("1. Tone: Is it kind? (0-5)", (0, 5)),
        ("1. Tone: Is it kind? (1 to 10).", (1, 10)),
        ("1. **Tone** (weight: 1) (0-3)", (0, 3)),
        ("1. **Tone** (1–5) (weight: 1): is it kind?", (1, 5)),
        ("- Tone (weight: 1) (0-10)", (0, 10)),
        ("1. Tone (0-1)", (0, 1)),
        ("1. **Tone** (weight: 1)", None),
        ("1. **Tone** (weight: 1): as in the war (1914-1918)", None),
    ],
)
def test_a_line_may_have_a_scale(line: str, scale: tuple[float, float] | None) -> None:
    [criterion] = parse_criteria(f"Score it:\n{line}\nThank you (0-5).")
    assert (criterion.key, criterion.weight, criterion.range) == ("tone", 1.0, scale)


def test_criteria_with_scales_alone_weigh_the_same() -> None:
    rubric = "Score these:\n1. Completeness: did it find all? (0-5)\n2. Accuracy: is it right? (0-5)"
    assert weights(rubric) == {"completeness": 1.0, "accuracy": 1.0}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"rubric": "1. **Tone** (weight: 1)\n2. **Length**"}, r"'2. .*Length.*' is in the list .* has no weight"),
        ({"rubric": "1. **Tone** (weight: 1)\n2. Length"}, "'2. Length' is in the list"),
        ({"rubric": "- Tone (weight: 1)\n- Length\n"}, "'- Length' is in the list .* another mark or indent it"),
        ({"rubric": "**Tone** (weight: 1)\nIs it kind?\n**Length**\nIs it short?"}, r"Length\*\*' is in the list"),
        ({"rubric": "## Tone (weight: 1)\n## Length\n"}, "'## Length' is in the list"),
        ({"rubric": "1. **Tone** (0-5)\n2. **Length**"}, r"Length\*\*' is in the list .* has no weight or scale"),
        ({"rubric": "1. Tone (weight: 1)\n   - parts (weight: 2)"}, "are not in the same list"),
        ({"rubric": "1. Tone (weight: 1) (0-5)\n2. Length (weight: 1)"}, "criterion 'Length' .* has no scale"),
        ({"rubric": "1. Tone (weight: 1) (0-5)\n2. Length (0-5)"}, "criterion 'Length' .* has no weight"),
        ({"rubric": "1. **Tone** (weight: 40%)\n2. **Length** (weight: 60)"}, "criterion 'Length' .* has no %"),
        ({"rubric": "1. **Tone** (weight: high)\n2. **Length** (weight: low)"}, "cannot be read .* write NAME"),
        ({"rubric": "1. **Tone** (weight: 0,4)\n2. **Length** (weight: 0,6)"}, "cannot be read as a criterion"),
        ({"rubric": "1. **Tone** (weight: 0.4, 0-5)"}, "cannot be read as a criterion"),
        ({"rubric": "1. **Tone** (weight: 40-50%)"}, "cannot be read as a criterion"),
        ({"rubric": "1. **Tone** (weight: 9" + "9" * 400 + ")"}, "cannot be read as a criterion"),
        ({"rubric": "Tone (weight: 0.4\nLength (weight: 0.6)"}, r"'Tone \(weight: 0.4' cannot be read"),
        ({"rubric": "1. Tone (weight: 0.4 (main))\n2. Length (weight: 0.6)"}, "cannot be read as a criterion"),
        ({"rubric": "Tone (0.4 weight)\nLength (weight: 0.6)"}, r"'Tone \(0.4 weight\)' cannot be read"),
        ({"rubric": "Tone (40% of the weight)\nLength"}, "cannot be read as a criterion"),
        ({"rubric": "1. (weight: 0.4) Tone"}, "cannot be read as a criterion"),
        ({"rubric": "| Tone (weight: 0.4) |"}, "cannot be read as a criterion"),
        ({"rubric": "T" * 200 + " (weight: 0.4)"}, "cannot be read as a criterion"),
        ({"rubric": "1. **Tone** (weight: 0.4) 2. **Length** (weight: 0.6)"}, "has several weights .*rubric: >"),
        ({"rubric": "- Tone (weight: 9)\n- Total (weight: 9)"}, "leave the total out"),
        ({"rubric": "- Tone (weight: 9)\n- Total score (weight: 9)"}, "leave the total out"),
        ({"rubric": "1. **Tone** (weight: 0)"}, "no criterion has a weight above 0"),
        ({"rubric": "1. **Tone** (weight: 1)\n2. **tone** (weight: 1)"}, "criterion 'tone' is listed 2 times"),
        ({"criteria": ["Tone", "TONE"]}, "criterion 'tone' is listed 2 times"),
        ({"criteria": {"tone": -1}}, "greater than or equal to 0"),
        ({"criteria": {"tone": 0}}, "no criterion has a weight above 0"),
        ({"criteria": [""]}, "at least 1 character"),
    ],
)
def test_criteria_that_do_not_add_up_are_refused(written: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        options(**written)


def test_beside_given_criteria_no_weights_are_read() -> None:
    sheet = options(rubric="1. **Tone** (weight: high)", criteria={"tone": 3}).sheet
    assert [each.weight for each in sheet.criteria] == [3]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("Tone", {"tone": 1.0}),
        (["Tone", "Best Practices"], {"tone": 1.0, "best_practices": 1.0}),
        ({"Tone": 3, "length": 1}, {"tone": 3.0, "length": 1.0}),
        ([{"name": "Tone", "weight": 2, "description": "Is it kind?"}, "Length"], {"tone": 2.0, "length": 1.0}),
    ],
)
def test_criteria_that_are_given_count_before_those_of_the_rubric(written: Any, found: dict[str, float]) -> None:
    sheet = options(criteria=written, rubric="code_quality").sheet
    assert {criterion.key: criterion.weight for criterion in sheet.criteria} == found
