r"""Regular expressions written for JavaScript, in the words of the `regex` package, which are mostly Python's.

They are read as JavaScript reads them without its flags `u`, `v`, `m` and `s`: `$` is the very end, `.` stops at four
line ends, `\d \w \b` are ASCII, an escape without a meaning is the letter itself, `{` is a letter where it counts
nothing, a group that took no part matches the empty text. One thing stays Python's: a character outside the basic plane
is one character, not two.
"""

from __future__ import annotations

import re

from evalharness.errors import UsageError

_TOKEN = re.compile(
    r"""
      \\ (?: x[0-9A-Fa-f]{2} | u[0-9A-Fa-f]{4} | c[A-Za-z] | k<\w+> | [1-9][0-9]* | . )
    | \[ (?: \\. | [^\]\\] )* \]?
    | \(\? (?: [:=!] | <[=!] | -?i: | <[A-Za-z_]\w*> )?
    | (?: [*+?] | \{ [0-9]+ (?: , [0-9]* )? \} ) \??
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_NAMED_GROUP = re.compile(r"\(\?<(\w+)>")
_CHARACTER_CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
_CLASS_ATOM = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|c[A-Za-z]|.)|.", re.DOTALL)

_SETS = {
    r"\d": "0-9",
    r"\D": r"\x00-/:-\U0010ffff",
    r"\w": "0-9A-Za-z_",
    # Without the long s and the sign for kelvin: where case is ignored they would bring s and k with them.
    r"\W": r"\x00-/:-@\[-\^`{-\u017e\u0180-\u2129\u212b-\U0010ffff",
    r"\s": r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    r"\S": r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff",
}
_WORD = "[0-9A-Za-z_]"
_MEANINGS = {
    "$": r"\Z",
    ".": r"[^\n\r\u2028\u2029]",
    r"\b": f"(?:(?<!{_WORD})(?={_WORD})|(?<={_WORD})(?!{_WORD}))",
    r"\B": f"(?:(?<!{_WORD})(?!{_WORD})|(?<={_WORD})(?={_WORD}))",
    **{escape: f"[{members}]" for escape, members in _SETS.items()},
    **{token: token for token in ("^", "|", "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:")},
}


def from_javascript(pattern: str) -> str:
    """The same pattern for the `regex` package; raises UsageError for what JavaScript would not take either."""
    tokens = _TOKEN.findall(pattern)
    names = [found[1] for token in tokens if (found := _NAMED_GROUP.fullmatch(token))]
    group_count = tokens.count("(") + len(names)
    translated = []
    repeats = False
    for token in tokens:
        repeated, repeats = repeats, _QUANTIFIER.fullmatch(token) is not None
        if repeats and repeated:
            raise UsageError(f"nothing to repeat before {token}")
        translated.append(token if repeats else _translated(token, group_count, names))
    return "".join(translated)


def _translated(token: str, group_count: int, names: list[str]) -> str:
    if token in _MEANINGS:
        return _MEANINGS[token]
    if token.startswith("["):
        return _character_class(token)
    if token.startswith("(?"):
        if not _NAMED_GROUP.fullmatch(token):
            raise UsageError("( is followed by a ? that JavaScript does not know")
        return token.replace("<", "P<")
    if token.startswith(r"\k<") and names:
        name = token[3:-1]
        if name not in names:
            raise UsageError(f"there is no group {name}")
        return f"(?({name})(?P={name})|)"
    if re.fullmatch(r"\\[1-9][0-9]*", token):
        number = int(token[1:]) if len(token) < 5 else group_count + 1
        if number > group_count:
            raise UsageError(f"there is no group {token[1:]}")
        return f"(?({number})\\{number}|)"
    return _character(token)


def _character_class(token: str) -> str:
    if not _CHARACTER_CLASS.fullmatch(token):
        raise UsageError("[ is never closed")
    negated = token.startswith("[^")
    atoms = _CLASS_ATOM.findall(token[2 if negated else 1 : -1])
    if not atoms:
        return r"[\x00-\U0010ffff]" if negated else "(?!)"
    members = [
        _SETS[atom] if atom in _SETS else r"\x08" if atom == r"\b" else "-" if atom == "-" else _character(atom)
        for atom in atoms
    ]
    for position, atom in enumerate(atoms):
        # Beside a set, as in [\w-.], a hyphen makes no range.
        if atom == "-" and not _SETS.keys().isdisjoint(atoms[max(position - 1, 0) : position + 2]):
            members[position] = r"\-"
    return f"[{'^' if negated else ''}{''.join(members)}]"


def _character(token: str) -> str:
    """One character, written as itself or as an escape."""
    if not token.startswith("\\"):
        return re.escape(token)
    if token == "\\":
        raise UsageError("it ends in a backslash")
    letter = token[1]
    if letter in "tnvfr" or (letter in "xu" and len(token) > 2):
        return token
    if letter == "0":
        return r"\x00"
    if letter == "c":
        return f"\\x{ord(token[2]) % 32:02x}" if len(token) > 2 else r"\\c"
    return re.escape(token[1:])
