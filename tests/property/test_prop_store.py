"""Whatever a target answers and whatever the secrets are: a trial is stored without them, and can be read back."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from evalharness.domain.grade import Grade
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.redaction import Redactor
from evalharness.stores.decoding import Decoder
from evalharness.stores.encoding import trial_row, unpack

texts = st.text(st.characters(exclude_categories=()))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
)
proper_texts = st.text(st.characters(codec="utf-8"))
proper_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | proper_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(proper_texts, inner, max_size=4),
)
secrets = st.text(st.characters(codec="utf-8"), min_size=8, max_size=24).filter(lambda text: len(text.strip()) >= 8)


def trial_of(output: object, text: str) -> Trial:
    transcript = Transcript(output=output, messages=({"content": output},), stdout=text, files={text: text})
    grade = Grade(state="fail", reason=text, evidence=output)
    return Trial(
        case_id="a",
        index=0,
        seed=1,
        attempts=(Attempt(state="failed", reason=text, duration_s=0.5, grades=(grade,), transcript=transcript),),
    )


def stored(trial: Trial, redactor: Redactor) -> tuple[Trial, bytes]:
    row = trial_row(1, trial, redactor)
    read = Decoder("store.db").trial(("a", 0, 1, row[-1], ""), "brave-otter-042")
    return read, unpack(row[-1]) + row[-2].encode() + row[7].encode()


@given(proper_values, proper_texts)
def test_a_proper_trial_comes_back_as_it_was(output: object, text: str) -> None:
    trial = trial_of(output, text)
    assert stored(trial, Redactor.none())[0] == trial


@given(values, texts)
def test_any_trial_comes_back(output: object, text: str) -> None:
    again, _ = stored(trial_of(output, text), Redactor({"KEY": "correct horse battery"}))
    assert (again.state, again.duration_s, len(again.grades)) == ("failed", 0.5, 1)


@given(values, texts, secrets)
def test_no_secret_comes_back(output: object, text: str, secret: str) -> None:
    trial = trial_of([output, secret, {secret: f"<{secret}>"}], f"{text} {secret}")
    again, written = stored(trial, Redactor({"KEY": secret}))
    bare = secret.strip()
    assert again.state == "failed"
    assert bare not in again.reason
    # The harness's own words are in every row, so only a secret that is none of them can be searched for.
    if bare not in stored(trial_of("", ""), Redactor.none())[1].decode():
        assert json.dumps(bare, ensure_ascii=False)[1:-1].encode() not in written
