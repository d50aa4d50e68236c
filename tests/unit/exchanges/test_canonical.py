"""Canonical requests: what may differ between two runs does not count, everything else does."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evalharness.contracts.exchange import Taping
from evalharness.errors import UsageError
from evalharness.exchanges.canonical import Canon, first_difference
from evalharness.redaction import Redactor


def digest(request: Any, *ignore: str, workspace: str = "", redactor: Redactor | None = None) -> str:
    return Canon(Taping("record", "", ignore, redactor)).request(request, workspace)[1]


def called(id_: str, name: str = "f") -> dict[str, Any]:
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {"messages": [{"tool_calls": [call]}, {"role": "tool", "tool_call_id": id_, "content": "1"}]}


def test_keys_ids_of_calls_and_the_workspace_do_not_count() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(called("x")) == digest(called("y")) != digest(called("x", "g"))
    one = digest({"text": "in /tmp/one/file"}, workspace="/tmp/one")
    assert one == digest({"text": "in /tmp/two/file"}, workspace="/tmp/two") != digest({"text": "in /tmp/one/file"})


def test_the_order_of_ids_counts() -> None:
    one = {"messages": [{"tool_call_id": "a"}, {"tool_call_id": "b"}, {"tool_call_id": "a"}]}
    other = {"messages": [{"tool_call_id": "a"}, {"tool_call_id": "b"}, {"tool_call_id": "b"}]}
    assert digest(one) != digest(other)


def test_images_count_by_their_hash_and_are_not_kept() -> None:
    def image(data: str) -> dict[str, Any]:
        return {"messages": [{"content": [{"image_url": {"url": f"data:image/png;base64,{data * 50}"}}]}]}

    assert digest(image("QUJD")) != digest(image("QUJE"))
    kept, _ = Canon(Taping("record")).request(image("QUJD"), "")
    assert "QUJDQUJD" not in str(kept) and re.search(r"sha256:[0-9a-f]{64}", str(kept))
    block = {"messages": [{"content": [{"type": "base64", "data": "QUJD" * 50}]}]}
    assert "QUJDQUJD" not in str(Canon(Taping("record")).request(block, "")[0])


def test_secrets_are_not_in_what_is_compared() -> None:
    one = digest({"text": "my hunter2-hunter2"}, redactor=Redactor({"PASSWORD": "hunter2-hunter2"}))
    assert one == digest({"text": "my other-secret-9"}, redactor=Redactor({"PASSWORD": "other-secret-9"}))


@pytest.mark.parametrize(
    ("ignored", "one", "other"),
    [
        ("$.metadata", {"metadata": {"x": 1}}, {"metadata": 5}),
        ("$.messages[0].content", {"messages": [{"content": "a"}]}, {"messages": [{"content": "b"}]}),
        ("$.messages[*].name", {"messages": [{"name": "a"}, {"name": "b"}]}, {"messages": [{"name": 1}, {"name": 2}]}),
        ("$..stamp", {"a": [{"b": {"stamp": 1}}]}, {"a": [{"b": {"stamp": 2}}]}),
        ("$['odd key']", {"odd key": 1}, {"odd key": 2}),
        (r"\d{4}-\d\d-\d\d", {"text": "on 2026-01-01"}, {"text": "on 2027-12-31"}),
    ],
)
def test_what_a_suite_ignores_may_differ(ignored: str, one: Any, other: Any) -> None:
    assert digest(one, ignored) == digest(other, ignored)
    assert digest(one) != digest(other)
    assert digest({**one, "more": 1}, ignored) != digest(other, ignored)


@pytest.mark.parametrize("wrong", ["$", "$.a[", "$messages", "("])
def test_what_can_be_no_path_and_no_pattern_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"replay.ignore: '{wrong}'")):
        digest({}, wrong)


def test_the_first_difference_is_named() -> None:
    assert first_difference({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == ("a[0].b", 1, 2)
    assert first_difference({"a": 1}, {"a": 1, "c": 3}) == ("c", None, 3)
    assert first_difference({"a": 1}, {"a": 1}) is None
