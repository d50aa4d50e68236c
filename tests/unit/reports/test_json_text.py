"""JSON that is printed: nothing in it is obeyed by a terminal, and nothing is lost."""

from __future__ import annotations

import json

from evalharness.reports.json_text import json_text

HOSTILE = "a\x00\x1b[31m\x7f\x9b\x85\u061c\u200e\u202e\u2066\u2028\ud800 ä €"


def test_whoever_reads_it_gets_every_character_back() -> None:
    text = json_text({HOSTILE: [HOSTILE]})
    assert json.loads(text) == {HOSTILE: [HOSTILE]}
    assert text.encode("utf-8"), "halves of characters are escaped, too"
    assert "ä €" in text, "letters are readable"
    assert all(character.isprintable() or character in "\n " for character in text)


def test_secrets_are_taken_out_first() -> None:
    assert json_text(["geheim\x9b"], lambda text: text.replace("geheim", "…"), indent=None) == '["…\\u009b"]'
