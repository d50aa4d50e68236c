"""Each row says what node makes of a pattern with the flag i, where Python would often say otherwise.

Where node is installed, it is asked as well.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from missing_parts import missing

from evalharness.graders.javascript_patterns import code_units, compile_javascript

NODE = """
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
const found = rows.map(([pattern, text]) => {
  try { return new RegExp(pattern, "i").test(text) } catch (error) { return error.message }
});
process.stdout.write(JSON.stringify(found));
"""


def found(pattern: str, text: str) -> bool:
    return compile_javascript(pattern).search(code_units(text), timeout=1) is not None


def found_by_node(rows: list[tuple[str, str]]) -> list[bool | str]:
    """Or why node refuses the pattern."""
    node = shutil.which("node")
    if node is None:
        missing("node", "apt-get install nodejs")
    run = subprocess.run([node, "-e", NODE], input=json.dumps(rows), capture_output=True, text=True, check=True)
    verdicts: list[bool | str] = json.loads(run.stdout)
    return verdicts


MATCHING = [
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
    (r"\8\9", "89"),
    (r"^[\8]\07[\07]$", "8\x07\x07"),
    (r"^\18(a)?$", "\x018"),
    (r"^[\c1]$", "\x11"),
    (r"\c", "\\c"),
    (r"^\u{3}$", "uuu"),
    (r"^..$", "😀"),
    (r"^[😀]{2}$", "😀"),
    (r"\ud83d", "😀"),
    (r"\ude00$", "😀"),
    ("😀+$", "😀\ude00"),
    (r"^ß$", "ß"),
    (r"^σ$", "ς"),
    (r"^[α-ω]$", "Σ"),
    (r"^ŝ$", "Ŝ"),
    (r"^\u0130$", "İ"),
    (r"^(?:\1(a))+$", "aa"),
    (r"(?=a)*b", "b"),
    (r"(?<é>x)\k<é>", "xx"),
    (r"(?<$\u0061>x)\k<$a>", "xx"),
    (r"(?<a>x)|(?<b>y)", "y"),
    (r"[&&~~||]", "|"),
    (r"#\ a b", "# a b"),
    (r"", "anything"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHING)
def test_matches_as_javascript_does(pattern: str, text: str) -> None:
    assert found(pattern, text)


MISSING = [
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
    (r"^b", "a\nb"),
    (r"^.$", "😀"),
    (r"^[^x]$", "😀"),
    ("^😀+$", "😀😀"),
    ("i", "İ"),
    ("İ", "i̇"),
    ("ı", "I"),
    ("s", "ſ"),
    ("ß", "ẞ"),
    ("k", "\u212a"),
    (r"^(k)\1$", "k\u212a"),
    (r"[a-z]", "ſ"),
    (r"\w", "\u212a"),
]


@pytest.mark.parametrize(("pattern", "text"), MISSING)
def test_does_not_match_where_javascript_does_not(pattern: str, text: str) -> None:
    assert not found(pattern, text)


REFUSED = [
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
    r"\k<b>(?<a>x)",
    r"\k(?<a>x)",
    r"[\k](?<a>x)",
    "(?<a>x)(?<a>y)",
    "(?<1>x)",
    "a{2,1}",
    "[z-a]",
    "{2}",
    "(?<=a)*",
    "(",
    ")",
]


NOT_YET = ["(?<a>x)|(?<a>y)", "(?-i:a)"]
"""Later versions than node 20 read these."""


@pytest.mark.parametrize("pattern", [*REFUSED, *NOT_YET])
def test_what_javascript_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compile_javascript(pattern)


def test_node_reads_all_of_these_alike() -> None:
    rows = [*MATCHING, *MISSING, *((pattern, "") for pattern in REFUSED)]
    verdicts = found_by_node(rows)
    expected = [*[True] * len(MATCHING), *[False] * len(MISSING)]
    assert verdicts[: len(expected)] == expected
    assert all(isinstance(verdict, str) for verdict in verdicts[len(expected) :])


ATOMS = (
    r"a b A k s \8 \07 \1 \2 \18 \0 \x41 \x4 \u0041 \ud83d \ude00 \u{2} 😀 İ ſ ẞ ß \u212a ı i I σ ς é É . \d \w \W \S"
)
SIGNS = (
    r"^ $ \b \B ( ( ) ) (?: (?= (?! (?<= (?<a> (?<b> \k<a> \k [ [^ ] - | * + ? { } {2} {1,2} {,2} {2,1} \c \cJ \p{L}"
)
CLASSES = r"[a-z] [^a-z] [\w-] [\W] [\8\07] [\c1] [😀] [ſ] [\d-z] [] [^]"
PIECES = f"{ATOMS} {SIGNS} {CLASSES}".split(" ")
TEXTS = (
    *("", "a", "ab", "aa", "A", "k", "\u212a", "s", "ſ", "ß", "ẞ", "İ", "ı", "I", "σ", "ς", "😀", "\ud83d", "8"),
    *("\x07", "\x018", "\0", "É", "x4", "uu", "p{L}", "\\c", "\n", "-", "{,2}", "\x11"),
)


def test_node_reads_whatever_is_put_together_alike() -> None:
    choosing = random.Random(7)
    rows = [
        ("".join(choosing.choices(PIECES, k=choosing.randint(1, 5))), text)
        for _ in range(500)
        for text in choosing.sample(TEXTS, 4)
    ]
    different = []
    for (pattern, text), verdict in zip(rows, found_by_node(rows), strict=True):
        try:
            ours: bool | None = found(pattern, text)
        except ValueError:
            ours = None
        if ours != (None if isinstance(verdict, str) else verdict):
            different.append((pattern, text, verdict))
    assert different == []


@pytest.mark.parametrize("letter", ["d", "s", "w"])
@pytest.mark.parametrize("form", ["{}", "[{}]"])
def test_a_set_and_its_opposite_divide_all_characters(letter: str, form: str) -> None:
    inside = compile_javascript(form.format(f"\\{letter}"))
    outside = compile_javascript(form.format(f"\\{letter.upper()}"))
    units = [code_units(chr(code)) for code in range(0x10000)]
    assert [unit for unit in units if bool(inside.match(unit)) == bool(outside.match(unit))] == []


@given(st.text(max_size=30))
def test_any_text_is_found_by_its_own_escaped_form(text: str) -> None:
    escaped = "".join(f"\\{letter}" if letter in r"\^$.|?*+()[]{}/-" else letter for letter in text)
    assert found(escaped, text)


@given(st.text(alphabet=r"ab1\d\w[]^$.*+?{},()|<>=!:-kxuc ", max_size=20))
def test_whatever_is_written_is_translated_or_refused(pattern: str) -> None:
    try:
        translated = compile_javascript(pattern)
    except ValueError as refusal:
        assert str(refusal), "it says why"
        return
    assert bool(translated.pattern) == bool(pattern), "nothing is lost as a whole"
