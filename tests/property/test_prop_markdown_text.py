"""No text of others can break out of its place in Markdown: a real parser reads back what was written."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from evalharness.reports.markdown_text import MarkdownText
from evalharness.reports.wording import harmless

TEXTS = st.text(alphabet="`|<>!-[]()@#*_~\\\n\r\t &;:/.ab1\x1b\u202e\x85\u2028$^{}'\"=+…", max_size=40)
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
WRITER = MarkdownText(str)


def inside(tokens: list[Token], place: str) -> list[list[Token]]:
    """What is directly inside of each element of a kind."""
    return [after.children or [] for before, after in pairwise(tokens) if before.type == place]


def read(tokens: list[Token]) -> str:
    """The text of one place; fails for anything but text and code."""
    assert {token.type for token in tokens} <= {"text", "code_inline", "text_special"}, tokens
    return "".join(token.content for token in tokens)


def words(text: str) -> list[str]:
    return harmless(text.replace("\x85", "\n").replace("\u2028", "\n").replace("\r", "\n")).split()


@given(TEXTS)
def test_a_text_in_a_list_is_a_text(text: str) -> None:
    tokens = PARSER.parse(f"- [ ] {WRITER.inline(text)}\n- next\n")
    first, second = inside(tokens, "paragraph_open")
    assert (read(first).removeprefix("[ ] ").split() or ["(empty)"]) == (words(text) or ["(empty)"])
    assert read(second) == "next"


@given(TEXTS, TEXTS)
def test_a_text_in_a_table_stays_in_its_cell(one: str, other: str) -> None:
    tokens = PARSER.parse(f"| a | b |\n|---|---|\n| {WRITER.cell(one)} | {WRITER.cell(other)} |\n\nnext\n")
    cells = inside(tokens, "td_open")
    assert len(cells) == 2
    for cell, text in zip(cells, (one, other), strict=True):
        shown = [token for token in cell if token.type != "html_inline" or token.content not in ("<code>", "</code>")]
        assert (read(shown).split() or ["(empty)"]) == (words(text) or ["(empty)"])


@given(TEXTS, st.integers(min_value=1, max_value=50))
def test_a_long_text_stays_between_its_fences(text: str, limit: int) -> None:
    lines = [*WRITER.block(text, limit, "  "), "", "  </details>", "", "- next"]
    tokens = PARSER.parse("- item\n\n" + "\n".join(lines))
    [fence] = [token for token in tokens if token.type == "fence"]
    [end] = [token for token in tokens if token.type == "html_block"]
    assert end.content.strip() == "</details>"
    assert fence.content.split() == words(text)[: len(fence.content.split())] or len(text) > limit
    assert read(inside(tokens, "paragraph_open")[-1]) == "next"
