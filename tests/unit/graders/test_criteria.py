"""Criteria and their weights: as a rubric's text lists them, and as `criteria:` gives them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.specification import GraderSpec
from evalharness.graders.judges.reading import parse_criteria
from evalharness.graders.judges.templates import built_in_rubrics, rubric_text


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
        ("- Tone (Weight 2)\n* **Length (in words)** (weight = .5)", {"tone": 2.0, "length_in_words": 0.5}),
        ("1. **Tone**: kind\n2. **Length**: short", {"tone": 1.0, "length": 1.0}),
        ("1. **Tone** (at most 3 jokes)\n2. **Length**: 100 words", {"tone": 1.0, "length": 1.0}),
        ("1. **Tone** (90%)\n2. **Length** (10 %)", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone** [weight: 0.9]\n2. **Length** [weight: 0.1]", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone** (weight: 0,4)\n2. **Length** (weight: 0,6)", {"tone": 0.4, "length": 0.6}),
        ("1. **Tone** (0.4): kind\n2. **Length** (0.6): short", {"tone": 0.4, "length": 0.6}),
        ("1. **Tone (40%)**\n2. **Length (60%)**", {"tone": 0.4, "length": 0.6}),
        ("1. **Tone**: 40%\n2. **Length** – 60 %: short", {"tone": 0.4, "length": 0.6}),
        ("1. Tone (40%)\n2. Length (60%)", {"tone": 0.4, "length": 0.6}),
        ("1. **Tone** (40 points)\n2. **Length** (60 points)", {"tone": 40, "length": 60}),
        ("- **Tone** (40%)\n- **Length** (60%)", {"tone": 0.4, "length": 0.6}),
        ("- 100%: all of it\n- 50%: half\n- 0%: nothing", {}),
        ("1. **Tone** - weight 0.9\n2. **Length** - weight 0.1", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone** weight: 0.9\n2. **Length** weight: 0.1", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone**\nWeight: 0.9\n2. **Length**\n   - 5: short\n   - **Weight:** 0.1", {"tone": 0.9, "length": 0.1}),
        ("- Tone\n  - Weight: 0.9\n- Length\n  - Weight: 0.1", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone** (wt: 0.9)\n2. **Length** (w=0.1)", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone** (Gewicht: 0,9)\n2. **Length** (Gewicht: 0,1)", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone** (90% of the grade)\n2. **Length** (10% of the grade)", {"tone": 0.9, "length": 0.1}),
        ("1. Tone, weight 0.9\n2. Length, weight 0.1", {"tone": 0.9, "length": 0.1}),
        ("Judge by these criteria:\n- Tone: 90%\n- Length: 10%", {"tone": 0.9, "length": 0.1}),
        ("## Weights\n- Tone: 0.9\n- Length: 0.1", {"tone": 0.9, "length": 0.1}),
        ("Criteria:\n- 90% Tone\n- 10% Length", {"tone": 0.9, "length": 0.1}),
        ("Criteria:\nTone: 0.9\nLength: 0.1", {"tone": 0.9, "length": 0.1}),
        ("Judge by:\nTone (90%)\nLength (10%)", {"tone": 0.9, "length": 0.1}),
        ("- A (33%)\n- B (33%)\n- C (33%)", {"a": 0.33, "b": 0.33, "c": 0.33}),
        ("- **Tone** (90 points)\n- **Length** (10 points)", {"tone": 90, "length": 10}),
        ("1. **Tone** (max 90)\n2. **Length** (max. 10 points)", {"tone": 90, "length": 10}),
        ("1. (90%) Tone\n2. (10%) Length", {"tone": 0.9, "length": 0.1}),
        ("1. **90% Tone**\n2. **10% Length**", {"tone": 0.9, "length": 0.1}),
        ("1. **Tone** – 0.9\n2. **Length** – 0.1", {"tone": 0.9, "length": 0.1}),
        ("a) Tone (90%)\n   - 5: kind\nb) Length (10%)", {"tone": 0.9, "length": 0.1}),
        ("1. Tone (90%)\n   a) kind\n   b) rude\n2. Length (10%)\n   a) short", {"tone": 0.9, "length": 0.1}),
        ("**Tone** (90%)\nIs it kind?\n**Length** (10%)\nIs it short?", {"tone": 0.9, "length": 0.1}),
        ("| Criterion | Weight |\n|---|---|\n| Tone | 0.9 |\n| Length | 0.1 |", {"tone": 0.9, "length": 0.1}),
        (
            "| Criterion | Weight |\n|---|---|\n| Tone | 9 |\n| Length | 1 |\n| **Total** | **10** |",
            {"tone": 9, "length": 1},
        ),
        ("| What | Points |\n|---|---|\n| Tone | 90 |\n| Length | 10 |\n| Total | |", {"tone": 90, "length": 10}),
        ("- Tone (90%)\n- Length (10%)\n- Total (100%)", {"tone": 0.9, "length": 0.1}),
        ("1. Tone (weight: 0.9)\n2. Length (weight: 0.1)\n\nTotal weight: 1.0", {"tone": 0.9, "length": 0.1}),
        ("| Year | Sales |\n|---|---|\n| First | 40 |\n| Second | 60 million |", {}),
        (
            "| # | What | Share |\n|---|---|---|\n| 1 | Tone | 90% |\n| 2 | Length | 10 % |",
            {"tone": 0.9, "length": 0.1},
        ),
        ("    1. **Tone** (weight: 0.9)\n    2. **Length** (weight: 0.1)", {"tone": 0.9, "length": 0.1}),
        ("- It says that sales rose by 40%\n- It says that costs fell by 60%", {}),
        ("- 5 points: all of it\n- 1 point: nothing", {}),
        ("- Yes (1)\n- No (0)", {}),
        ("1. **Tone**\n   - kind (2 points)\n   - rude (1 point)\n2. **Length**", {"tone": 1, "length": 1}),
        ("- It says that 40% agree.\n- It says that the rest do not.", {}),
        ("- It tells the weight: 5 kg\n- It is kind", {}),
        ("- **Great** (5): all of it\n- **Poor** (1): nothing", {}),
        ("Be kind (weighted by how much is said).", {}),
        ("1. It names the year (1815)\n2. It is kind", {}),
        ("1. Tone: is it kind? (weight: 3)\n2. Length: is it short? (weight: 1)", {"tone": 3, "length": 1}),
        ("1.\u00a0**Tone**\u00a0（weight： 0.4）\n2.\u00a0**Length** （weight： 0.6）", {"tone": 0.4, "length": 0.6}),
        ("1. **Tone** (weight: 0,400)\n2. **Length** (weight: 0,600)", {"tone": 0.4, "length": 0.6}),
        ("Score it (100 points):\n- Tone (90 points)\n- Length (10 points)", {"tone": 90, "length": 10}),
        ("# Rubric (100%)\n## Tone (90%)\n## Length (10%)", {"tone": 0.9, "length": 0.1}),
        (
            "1. **Tone** (weight: 3)\n   - 5: most is kind (80%)\n2. **Length** (weight: 1)\n   - 5: short (90%)",
            {"tone": 3, "length": 1},
        ),
        ("Score each (1-5 points):\n1. **Tone** (no double quotes)\n2. **Speed** (3x faster)", {"tone": 1, "speed": 1}),
        ("1. **Facts**: the mass (weight: 12 kg)\n2. **Tone**", {"facts": 1, "tone": 1}),
        (
            "| What | Weight | Most |\n|---|---|---|\n| Tone | 0.9 | 10 |\n| Length | 0.1 | 10 |",
            {"tone": 0.9, "length": 0.1},
        ),
        ("- ★★★: good\n- ★: bad", {}),
        ("It says that Europe (40%) leads.", {}),
        ("1) **Höflichkeit** (weight: 1)\n2) **Вежливость** (weight: 1)", {"höflichkeit": 1.0, "вежливость": 1.0}),
    ],
)
def test_criteria_are_read_from_the_text(rubric: str, found: dict[str, float]) -> None:
    assert weights(rubric) == pytest.approx(found)


def test_names_are_without_the_marks_around_them() -> None:
    assert [each.name for each in parse_criteria("> - Tone (40%)\n> - [ ] **Length** (60%)")] == ["Tone", "Length"]


@pytest.mark.parametrize(
    ("line", "scale"),
    [
        ("1. Tone: Is it kind? (0-5)", (0, 5)),
        ("1. Tone: Is it kind? (1 to 10)", (1, 10)),
        ("1. **Tone** (scale: 1–5)", (1, 5)),
        ("1. **Tone** (weight: 1) (0-3 points)", (0, 3)),
        ("1. **Tone** (1-5, weight: 1)", (1, 5)),
        ("- Tone (0-10, weight: 1)", (0, 10)),
        ("- Tone (weight: 1) (0-10)", (0, 10)),
        ("1. **Tone** (weight: 1)", None),
    ],
)
def test_a_scale_at_the_end_of_a_line_is_the_criterions(line: str, scale: tuple[float, float] | None) -> None:
    [criterion] = parse_criteria(f"Score it:\n{line}\nThank you (0-5).")
    assert (criterion.key, criterion.weight, criterion.range) == ("tone", 1.0, scale)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"rubric": "1. **Tone** (weight: 1)\n2. **Length**"}, "criterion 'Length' of the rubric has no weight"),
        ({"rubric": "1. **Tone** (40%)\n2. **Length**"}, "criterion 'Length' of the rubric has no weight"),
        ({"rubric": "1. **Tone** (40%%)\n2. **Length** (60%%)"}, "the weight in '1. .*' cannot be read"),
        ({"rubric": "1. **Tone** (40/100)\n2. **Length** (60/100)"}, "cannot be read: write"),
        ({"rubric": "1. **Tone** (weight: high)\n2. **Length** (weight: low)"}, "cannot be read: write"),
        ({"rubric": "1. **Tone** (40%)\n2. **Length** (weight: 60)"}, "weights in percent and others"),
        (
            {"rubric": "1. **Tone** (вес: 0,9)\n2. **Length** (вес: 0,1)"},
            r"'1. \*\*Tone\*\* \(вес: 0,9\)' cannot be read",
        ),
        ({"rubric": "1. **Tone** (double weight)\n2. **Length**"}, "cannot be read: write"),
        ({"rubric": "1. **Tone** weight: high\n2. **Length** weight: low"}, "cannot be read: write"),
        ({"rubric": "1. **Tone**\n2. **Length**\n\nWeights: tone 0.9, length 0.1"}, "'Weights: tone.*' cannot be read"),
        ({"rubric": "1. **Tone**\n2. **Length**\n\nTone counts 90%, length 10%."}, "'Tone counts.*' cannot be read"),
        ({"rubric": "1. Tone, weight 0.9\n2. Length"}, "criterion 'Length' of the rubric has no weight"),
        ({"rubric": "| Criterion | Weight |\n|---|---|\n| Tone | high |"}, "'. Tone . high .' cannot be read"),
        ({"rubric": "- Tone: 90%\n- Length: 20%"}, "look like criteria with weights, but .* make no whole"),
        ({"rubric": "- Tone (90%)\n- Length (5%)\n- Rest"}, "but not all have one of the same kind"),
        ({"rubric": "- Tone: 90%\n- Length: 10 points"}, "but not all have one of the same kind"),
        ({"rubric": "- Tone (9 points)\n- Length (1 point)"}, "write NAME .weight: 0.4. for each, .* `criteria:"),
        ({"rubric": "It says:\n- Revenue grew: 40%\n- Costs fell: 60%"}, "but nothing says that they are"),
        ({"rubric": "Tone: 0.9\nLength: 0.1"}, "but nothing says that they are"),
        ({"rubric": "- A (90%)\n- B (10%)\n\nAlso:\n- C (50%)\n- D (50%)"}, "but nothing says that they are"),
        (
            {"rubric": "| What | Weight |\n|---|---|\n| A | 0.9 |\n| B | 0.1 |\n| Total | 0.8 |"},
            "'. Total . 0.8 .' is not the sum",
        ),
        ({"rubric": "- **Great** (90%): all of it\n- **Poor** (20%): little"}, "what is no weight, tell in a sentence"),
        ({"rubric": "1. **Tone** (0-5)\n2. **Length**"}, "criterion 'Length' of the rubric has no scale"),
        ({"rubric": "1. **Tone** (5-0)"}, "must ascend"),
        ({"rubric": "1. **Tone** (weight: 0)"}, "no criterion has a weight above 0"),
        ({"rubric": "1. **Tone**\n2. **tone**"}, "criterion 'tone' is listed 2 times"),
        ({"criteria": ["Tone", "TONE"]}, "criterion 'tone' is listed 2 times"),
        ({"criteria": {"tone": -1}}, "greater than or equal to 0"),
        ({"criteria": {"tone": 0}}, "no criterion has a weight above 0"),
        ({"criteria": [""]}, "at least 1 character"),
    ],
)
def test_criteria_that_do_not_add_up_are_refused(written: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        options(**written)


@pytest.mark.parametrize(
    ("rubric", "left"),
    [
        ("1. **Tone** (weight: 0.4) 2. **Length** (weight: 0.6)", "(weight: 0.6)"),
        ("Tone (weight: 0.1), Length (weight: 0.9)", "(weight: 0.9)"),
        ("- Tone (weight: 0.5), Length (weight: 0.2)\n- Rest (weight: 0.3)", "(weight: 0.2)"),
        ("Tone (weight: 0.5), Length (weight: 0.5)", "(weight: 0.5)"),
        ("Judge by: 1. Tone (weight: 0.6) 2. Length (weight: 0.4)", "(weight: 0.4)"),
        ("- Tone (90%) - Length (10%)", "(90%)"),
        ("i. Tone (90%)\nii. Length (10%)", "(90%)"),
        ("1. **Tone** (9 marks)\n2. **Length** (1 mark)", "(9 marks)"),
        ("1. **Tone** (9 credits)\n2. **Length** (1 credit)", "(9 credits)"),
        ("1. **Tone** (out of 7)\n2. **Length** (out of 3)", "(out of 7)"),
        ("1. **Tone** ×3\n2. **Length** ×1", "×3"),
        ("1. **Tone** (factor 3)\n2. **Length** (factor 1)", "(factor 3)"),
        ("1. **Tone** (coefficient 3)\n2. **Length** (coefficient 1)", "(coefficient 3)"),
        ("1. **Tone** (counts double)\n2. **Length**", "counts double"),
        ("1. **Tone**\n2. **Length**\n\nTone counts double.", "counts double"),
        ("1. **Tone** ★★★\n2. **Length** ★", "★★★"),
        ("1. **Tone**\n   90%\n2. **Length**\n   10%", "90%"),
        ("1. **Tone**\n   (90%)\n2. **Length**\n   (10%)", "(90%)"),
        ("1. **Tone**\n   - its share (90 marks)\n2. **Length**\n   - its share (10 marks)", "(90 marks)"),
        ("- Tone (40-50%)\n- Length (50-60%)", "(40-50%)"),
        ("| What | 5 | 1 |\n|---|---|---|\n| Tone (90%) | all | none |\n| Length (10%) | all | none |", "(90%)"),
        ("What | Weight\n---|---\nTone | 90\nLength | 10", "| 90"),
        ('[{"name": "tone", "weight": 0.9}, {"name": "length", "weight": 0.1}]', 'weight": 0.9'),
    ],
)
def test_a_weight_that_no_criterion_has_is_refused(rubric: str, left: str) -> None:
    with pytest.raises(ValidationError) as refused:
        options(rubric=rubric)
    assert f"{left}' in '" in str(refused.value) or f"{left})' in '" in str(refused.value)
    assert "`criteria: {NAME: 0.4}`" in str(refused.value)
    assert [each.key for each in options(rubric=rubric, criteria={"tone": 3}).sheet.criteria] == ["tone"]


@pytest.mark.parametrize(
    "rubric",
    [
        "1. **Tone** (weight: 1,000)\n2. **Length** (weight: 500)",
        "1. **Tone** (40-50%)\n2. **Length** (50-60%)",
        "1. **Tone**（权重：0.9）\n2. **Length**（权重：0.1）",
        "- Tone (importance: 0.9)\n- Length (importance: 0.1)",
        "- [x] Tone (90%)\n- [x] Length (10%)",
        "i) Tone (weight 90%)\nii) Length (weight 10%)",
    ],
)
def test_neither_half_a_number_nor_half_a_name_is_read(rubric: str) -> None:
    with pytest.raises(ValidationError, match=r"the weight in '.*' cannot be read"):
        options(rubric=rubric)


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
