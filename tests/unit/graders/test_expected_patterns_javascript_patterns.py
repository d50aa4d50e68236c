"""Each row says how JavaScript reads a pattern with the flag i; Python often differs."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalharness.errors import UsageError
from evalharness.graders.expected_patterns import from_javascript


def found(pattern: str, text: str) -> bool:
    return regex.search(from_javascript(pattern), text, regex.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"error:.+database", "ERROR: no database"),
        (r"^a$", "A"),
        (r"\/usr\/bin", "/usr/bin"),
        (r"(?<year>\d{4})-\k<year>", "2024-2024"),
        (r"(a)?\1b", "b"),
        (r"(?<n>a)?\k<n>b", "b"),
        (r"\1(a)", "a"),
        (r"[\w\W]", "é"),
        (r"^[\d\D]{2}$", "é\n"),
        (r"^[\w-.]+$", "a-b.c"),
        (r"^[.-\d]+$", "1-.2"),
        (r"^[a-c-]+$", "ab-c"),
        (r"[^]", "\n"),
        (r"[[:a]", "["),
        (r"^[\b]$", "\b"),
        (r"a{,2}", "a{,2}"),
        (r"foo{e}", "foo{e}"),
        (r"{x}", "{x}"),
        (r"a]", "a]"),
        (r"^a{2}?$", "aa"),
        (r"\p{L}", "p{L}"),
        (r"\A\z\h\e", "azhe"),
        (r"\u00e9\x41\cJ\0", "éA\n\0"),
        (r"\k<a>", "k<a>"),
        (r"^\s$", "\ufeff"),
        (r"(?<=a)b(?!c)", "ab"),
        (r"(?-i:a)", "a"),
        (r"(?<a>x)|(?<b>y)", "y"),
        (r"[&&~~||]", "|"),
        (r"#\ a b", "# a b"),
        (r"", "anything"),
    ],
)
def test_matches_as_javascript_does(pattern: str, text: str) -> None:
    assert found(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^a$", "a\n"),
        (r"\d", "٣"),
        (r"\w", "é"),
        (r"\bcafé\b", "café au lait"),
        (r"^.$", "\r"),
        (r"^\s$", "\x85"),
        (r"^\S$", "\ufeff"),
        (r"[\W]", "s"),
        (r"[\W]", "K"),
        (r"[]", "a"),
        (r"(?:foo){e}", "fo"),
        (r"a{,2}", "aa"),
        (r"(?-i:a)", "A"),
        (r"^b", "a\nb"),
    ],
)
def test_does_not_match_where_javascript_does_not(pattern: str, text: str) -> None:
    assert not found(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "a++",
        "a**",
        "a{2}{3}",
        "(?P<a>b)",
        "(?i)a",
        "(?>a)",
        "(?R)",
        "[\\d",
        "[",
        "[a\\]",
        "\\",
        "\\2(a)",
        r"\k<b>(?<a>x)",
    ],
)
def test_what_javascript_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        from_javascript(pattern)


@pytest.mark.parametrize("letter", ["d", "s", "w"])
@pytest.mark.parametrize("form", ["{}", "[{}]"])
def test_a_set_and_its_opposite_divide_all_characters(letter: str, form: str) -> None:
    inside = regex.compile(from_javascript(form.format(f"\\{letter}")))
    outside = regex.compile(from_javascript(form.format(f"\\{letter.upper()}")))
    same = [code for code in range(0x11000) if bool(inside.match(chr(code))) == bool(outside.match(chr(code)))]
    assert same == ([] if letter != "w" else [0x17F, 0x212A])


@given(st.text(max_size=30))
def test_any_text_is_found_by_its_own_escaped_form(text: str) -> None:
    escaped = "".join(f"\\{letter}" if letter in r"\^$.|?*+()[]{}/-" else letter for letter in text)
    assert regex.search(from_javascript(escaped), text) is not None


@given(st.text(alphabet=r"ab1\d\w[]^$.*+?{},()|<>=!:-kxuc ", max_size=20))
def test_whatever_is_written_is_translated_or_refused(pattern: str) -> None:
    try:
        translated = regex.compile(from_javascript(pattern))
    except (UsageError, regex.error) as refusal:
        assert str(refusal), "it says why"
        return
    assert bool(translated.pattern) == bool(pattern), "the other patterns are not lost"
