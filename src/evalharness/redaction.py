"""Removes secrets from text: first by value, in all common encodings, then by well-known key formats.

Everything the harness writes (store, recordings, reports, logs) goes through one `Redactor`; graders see raw text. The
values are passed in (`settings.secrets` collects them); the environment is not read here. Texts are not decoded; the
encoded forms themselves are searched for. So a value in two different encodings at once (other than JSON in JSON) or
broken over lines is not found. Shortened texts have a … where they were cut (`values/text.py`). Directly before it the
beginning of a value is found too, and directly after it the end.
"""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

from evalharness.errors import HarnessError, Hint

SHORTEST_SECRET = 8
_LONG_FORM = 16
_CUT = "…"

_SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)

# No part matches a bracket, a quote or half of an escape, so that a second pass finds nothing new and JSON stays
# valid. No part scans the same text twice, because an adversary may have written the text.
_KEY_SHAPES = re.compile(
    r"""
    (?: (?<![A-Za-z0-9]) | (?<=\\[nrt]) )       # at the start of a word, also right after an escaped line break
    (?: sk-(?=[\w-]{16})[\w-]{0,40}?[A-Za-z0-9]{12}[\w-]*   # the unbroken run keeps `sk-` CSS classes out
      | gh[pousr]_[A-Za-z0-9]{20,}
      | github_pat_\w{20,}
      | xox[a-z]-[A-Za-z0-9-]{10,}
      | AKIA[A-Z0-9]{16}(?![A-Za-z0-9])
      | [Bb]earer\ +[\w.~+/=-]{16,}
      | (?:api[_-]?key|access[_-]?token|password)=[\w.~+/%-]{8,}     # in a URL's query
      | -----BEGIN\ [A-Z0-9\ ]{0,24}PRIVATE\ KEY(?:\ BLOCK)?-----
        (?: (?: [A-Za-z0-9+/=\s,:.()] | \\+[nr] | -(?!----) )*+
            -----END\ [A-Z0-9\ ]{0,24}PRIVATE\ KEY(?:\ BLOCK)?-----
          | (?: (?:\s|\\+[nr])*+ [A-Za-z0-9+/=]{20,}+ )++       # cut off before its end
            (?: (?:\s|\\+[nr])*+ [A-Za-z0-9+/=]++ )?
        )
    )
    """,
    re.VERBOSE | re.ASCII,
)

_LOGIN_IN_URL = re.compile(r"""(?<=://)[^\s/:@"'\\\[\]]+:[^\s/@"'\\\[\]]+(?=@)""")
_SECRET_IN_QUERY = re.compile("(?:key|token|password)=")
_GITHUB_BEGINNING = re.compile("g(?:h[pousr]_|ithub_pat_)")

# What HTML-safe JSON writers escape: Go and Python, Java's Gson, .NET.
_SIGNS_OF_HTML = [{ord(sign): f"\\u{ord(sign):04x}" for sign in signs} for signs in ("<>&", "<>&'", "<>&='", "<>&'+`")]
_IN_DOUBLE_QUOTES = re.compile(r"""["$\\`]""")
_SPECIAL_IN_SHELLS = re.compile(r"""[ \t\n'"\\|&;()<>!{}*\[\]?^$`,]""")  # as `printf %q` of bash has it
_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
# What servers and clients leave unescaped: nothing reserved; Python's `quote`; JavaScript's
# `encodeURIComponent`; a path segment of RFC 3986; JavaScript's `encodeURI`.
_PERCENT_SAFE = ("", "/", "!'()*", "!$&'()*+,;=:@", "!#$&'()*+,/:;=?@")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name contains a secret: *KEY*, *TOKEN*, *SECRET*, *PASSW*, *CREDENTIAL*, *AUTH*."""
    return _SECRET_NAME.search(name) is not None


class Redactor:
    """Replaces secrets by `[redacted:NAME]` and well-known key formats by `[redacted]`.

    Truthy if it knows at least one value; key formats are replaced in any case.
    """

    __slots__ = ("_forms", "_gram_size", "_grams", "_in_numbers", "_pieces", "_placeholder", "_short_forms", "_stride")

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets`: name → value. Values of fewer than 8 characters, not counting surrounding spaces, are ignored."""
        names: dict[str, str] = {}
        for name, value in secrets.items():
            # Each form of a padded value contains the same form of the stripped one.
            bare = value.strip()
            if len(bare) >= SHORTEST_SECRET:
                for form in _encoded_forms(bare):
                    names.setdefault(form, name)
        chosen = {name: _placeholder(name, names) for name in dict.fromkeys(names.values())}
        self._forms = {form: chosen[name] for form, name in names.items()}
        self._placeholder = _placeholder("", names)
        self._in_numbers = any(re.fullmatch(r"[0-9.eE+-]+", form) for form in names)
        # Almost no text contains a secret, so that check must be fast. Testing 100 forms one by one costs 5 µs on a
        # short text; an alternation costs as much, and 10 ms to compile. The long forms, nearly all, are tested at
        # once: each occurrence covers one of every `stride`-th grams of the text, which is one of the form's first
        # `stride` grams.
        self._short_forms = tuple(form for form in names if len(form) < _LONG_FORM)
        long_forms = [form for form in names if len(form) >= _LONG_FORM]
        shortest = min(map(len, long_forms), default=_LONG_FORM)
        self._gram_size = shortest // 2
        self._stride = shortest - self._gram_size + 1
        self._grams = frozenset(form[i : i + self._gram_size] for form in long_forms for i in range(self._stride))
        self._pieces: frozenset[str] | None = None

    @classmethod
    def none(cls) -> Redactor:
        """A redactor that knows no value."""
        return cls({})

    def redact(self, text: str) -> str:
        """`text` without secrets. A JSON object, array or string stays valid JSON."""
        redacted = self._replace(text)
        if redacted == text or text.lstrip()[:1] not in {"{", "[", '"'}:
            return redacted
        return self._as_json(text, redacted)

    def redact_value(self, value: Any) -> Any:
        """JSON-like data without secrets, including mapping keys; a number that contains one becomes a text."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            clean: dict[Any, Any] = {}
            for key, item in value.items():
                new_key = self.redact_value(key)
                while new_key in clean:  # keys that are equal after redaction are still two entries
                    new_key += "'"
                clean[new_key] = self.redact_value(item)
            return clean
        if isinstance(value, list | tuple):
            items = [self.redact_value(item) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        if self._in_numbers and isinstance(value, int | float):
            written = json.dumps(value)
            redacted = self._replace(written)
            return value if redacted == written else redacted
        return value

    def _replace(self, text: str) -> str:
        if self._forms and (self._may_hold_value(text) or _CUT in text):
            text = self._replace_values(text)
        if _may_hold_key_shape(text):
            text = _KEY_SHAPES.sub(self._placeholder, text)
        if "@" in text and "://" in text:
            text = _LOGIN_IN_URL.sub(self._placeholder, text)
        return text

    def _may_hold_value(self, text: str) -> bool:
        if any(map(text.__contains__, self._short_forms)):
            return True
        length = self._gram_size
        return not self._grams.isdisjoint([text[i : i + length] for i in range(0, len(text), self._stride)])

    def _replace_values(self, text: str) -> str:
        """Replace all values; overlapping occurrences get the name of the first and longest."""
        found = [(start, -stop, form) for form in self._forms for start, stop in _spans(form, text)]
        found = sorted([*found, *self._cut_spans(text)])
        if not found:
            return text
        pieces: list[str] = []
        done = 0
        for start, negative_stop, form in found:
            if start >= done:
                pieces += text[done:start], self._forms[form]
            done = max(done, -negative_stop)
        return "".join(pieces) + text[done:]

    def _cut_spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The rest of a value at a cut, if it is long enough to be a secret by itself."""
        if self._pieces is None and _CUT in text:  # created on first use, because there are many
            size = SHORTEST_SECRET
            self._pieces = frozenset(form[i : i + size] for form in self._forms for i in range(len(form) - size + 1))
        pieces = self._pieces or frozenset()
        for found in re.finditer(_CUT, text):
            cut, after = found.span()
            if text[max(0, cut - SHORTEST_SECRET) : cut] in pieces:
                yield from ((cut - n, -cut, form) for form in self._forms if (n := _beginning(form, text, cut)))
            if text[after : after + SHORTEST_SECRET] in pieces:
                yield from ((after, -after - n, form) for form in self._forms if (n := _ending(form, text, after)))

    def _as_json(self, text: str, redacted: str) -> str:
        """Restore valid JSON: replacing breaks it if a secret is a number, or contains quotes or half of an escape."""
        if not _is_json(text) or _is_json(redacted):
            return redacted
        nothing_left = f'"{self._placeholder}"'
        try:
            rewritten = json.dumps(self.redact_value(json.loads(text)), ensure_ascii=False)
        except RecursionError:
            return nothing_left
        # A secret that is itself a piece of JSON can still be there, spread over several values.
        return rewritten if self._replace(rewritten) == rewritten else nothing_left


def _may_hold_key_shape(text: str) -> bool:
    # One regular expression for all of these takes several times as long.
    return (
        ("-" in text and ("sk-" in text or "xox" in text or "PRIVATE KEY" in text))
        or ("_" in text and _GITHUB_BEGINNING.search(text) is not None)
        or "AKIA" in text
        or "earer " in text
        or ("=" in text and _SECRET_IN_QUERY.search(text) is not None)
    )


def _spans(form: str, text: str) -> Iterator[tuple[int, int]]:
    """Where `form` occurs; overlapping occurrences (`aaaaaaaa` in a long row of a's) are one span."""
    start = stop = -1
    found = text.find(form)
    while found >= 0:
        if found >= stop:
            if stop >= 0:
                yield start, stop
            start = found
        stop = found + len(form)
        found = text.find(form, found + 1)
    if stop >= 0:
        yield start, stop


def _beginning(form: str, text: str, stop: int) -> int:
    """How many characters from the beginning of `form` are directly before `stop`."""
    lengths = range(min(len(form), stop), SHORTEST_SECRET - 1, -1)
    return next((n for n in lengths if text.startswith(form[:n], stop - n)), 0)


def _ending(form: str, text: str, start: int) -> int:
    """How many characters from the end of `form` are directly after `start`."""
    lengths = range(min(len(form), len(text) - start), SHORTEST_SECRET - 1, -1)
    return next((n for n in lengths if text.startswith(form[-n:], start)), 0)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _placeholder(name: str, forms: Iterable[str]) -> str:
    """The replacement for the secret `name`; it contains no secret and forms none with its neighbours."""
    plain_name = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    candidates = [f"[redacted:{plain_name}]"] if plain_name else []
    candidates.append("[redacted]")
    for candidate in candidates:
        if not _KEY_SHAPES.search(candidate) and not any(_can_touch(form, candidate) for form in forms):
            return candidate
    return next(block * 3 for block in map(chr, count(0x2588)) if not any(block in form for form in forms))


def _can_touch(form: str, word: str) -> bool:
    """Whether an occurrence of `form` could share a character with an occurrence of `word` in some text."""
    if form in word:
        return True
    if word[0] not in form and word[-1] not in form:
        return False
    beginnings = tuple(word[:i] for i in range(1, len(word) + 1))
    endings = tuple(word[i:] for i in range(len(word)))
    return word in form or form.endswith(beginnings) or form.startswith(endings)


def _encoded_forms(secret: str) -> set[str]:
    data = _as_bytes(secret)
    escaped = _json_escaped(secret)
    forms = {secret, data.hex(), data.hex().upper()}
    forms |= escaped.union(*map(_json_escaped, escaped), _html_escaped(secret), _shell_quoted(secret))
    forms |= _python_escaped(secret, data)
    for hex_digits in ("%%%02X", "%%%02x"):
        forms.add("".join(hex_digits % byte for byte in data))
        for safe in _PERCENT_SAFE:
            kept = _UNRESERVED.union(safe.encode())
            quoted = "".join(chr(byte) if byte in kept else hex_digits % byte for byte in data)
            forms |= {quoted, quoted.replace("%20", "+")}
    for core in _base64_cores(data):
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms


def _json_escaped(text: str) -> set[str]:
    """As most libraries write it, with and without `ensure_ascii`, also with escaped `/` or HTML characters."""
    written = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)}
    safe = {each.translate(signs) for each in written for signs in _SIGNS_OF_HTML}
    safe |= {each.replace('\\"', "\\u0022") for each in safe}
    capital = {_UNICODE_ESCAPE.sub(lambda escape: f"\\u{escape[1].upper()}", each) for each in safe}
    return {each.replace("/", slash) for each in written | safe | capital for slash in ("/", "\\/")}


def _html_escaped(text: str) -> set[str]:
    """As most libraries write it, with and without escaped quotes."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = {plain.replace('"', mark) for mark in ('"', "&quot;", "&#34;")}
    return {each.replace("'", mark) for each in quoted for mark in ("'", "&#39;", "&#x27;", "&apos;")}


def _python_escaped(text: str, data: bytes) -> set[str]:
    """As `repr` and `ascii` write a text or its bytes. Which quotes they escape depends on the surrounding text."""
    both = "'\""  # with both kinds before it, the single ones are escaped
    before = len(repr(both)) - 1
    escaped = {repr(both + text)[before:-1], ascii(both + text)[before:-1]}
    escaped.add(repr(both.encode() + data)[1 + before : -1])
    return escaped | {each.replace("\\'", "'") for each in escaped}


def _shell_quoted(text: str) -> set[str]:
    """In single quotes as Python and shells write them, in double quotes, and with backslashes only."""
    return {
        text.replace("'", """'"'"'"""),
        text.replace("'", r"'\''"),
        _IN_DOUBLE_QUOTES.sub(r"\\\g<0>", text),
        _SPECIAL_IN_SHELLS.sub(r"\\\g<0>", text),
    }


def _base64_cores(data: bytes) -> Iterator[str]:
    """For each alignment, the characters whose six bits all come from `data`, so that neighbours do not change them."""
    for bytes_before in range(3):
        encoded = b2a_base64(bytes(bytes_before) + data + bytes(2), newline=False).decode()
        first = -(-8 * bytes_before // 6)
        stop = 8 * (bytes_before + len(data)) // 6
        yield encoded[first:stop]


def _as_bytes(text: str) -> bytes:
    """The bytes as in the environment; a text that no environment can contain keeps its lone surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


@contextmanager
def errors_redacted(redactor: Redactor) -> Iterator[None]:
    """Redact exceptions raised inside, because they may quote a server that quotes the key it was sent."""
    try:
        yield
    except HarnessError as error:
        error.message, hint = redactor.redact(error.message), error.hint
        error.hint = (
            redactor.redact(hint) if isinstance(hint, str) else Hint(hint.code, **redactor.redact_value(hint.params))
        )
        cause: BaseException | None = error
        while cause is not None:  # a stack trace shows them all
            cause.args = tuple(redactor.redact(each) if isinstance(each, str) else each for each in cause.args)
            cause = cause.__cause__ or cause.__context__
        raise
