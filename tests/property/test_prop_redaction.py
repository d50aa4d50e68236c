from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

from hypothesis import given, settings
from hypothesis import strategies as st

from evalharness.redaction import Redactor

NAME = "THE_TOKEN"
untimed = settings(deadline=None)
# The second alphabet makes texts likely that nearly contain a secret, escapes, placeholders and quotes.
TRICKY = st.text(alphabet='ab1"\\n[]:/+ \n{}é<', max_size=40)
SURROUNDING = st.one_of(st.text(max_size=40), TRICKY)
SECRETS = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=8, max_size=40),
    st.text(alphabet='ab1"\\n[]:/+é<', min_size=8, max_size=12),
    st.integers(min_value=10**8, max_value=10**20).map(str),
).filter(lambda value: len(value.strip()) >= 8)

JSON_DATA = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), SURROUNDING),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(SURROUNDING, inner, max_size=4)),
    max_leaves=8,
)


def json_text(text: str, ensure_ascii: bool) -> str:
    return json.dumps(text, ensure_ascii=ensure_ascii)[1:-1]


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "json ascii": lambda text: json_text(text, True),
    "json": lambda text: json_text(text, False),
    "json ascii twice": lambda text: json_text(json_text(text, True), True),
    "json twice": lambda text: json_text(json_text(text, False), False),
    "json ascii in json": lambda text: json_text(json_text(text, True), False),
    "json in json ascii": lambda text: json_text(json_text(text, False), True),
    "quote": quote,
    "quote all": lambda text: quote(text, safe=""),
    "quote plus": quote_plus,
    "percent upper": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent lower": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "hex": lambda text: text.encode().hex(),
    "hex upper": lambda text: text.encode().hex().upper(),
}


@untimed
@given(secret=SECRETS, before=SURROUNDING, after=SURROUNDING, encoding=st.sampled_from(sorted(ENCODINGS)))
def test_an_encoded_secret_is_gone_whatever_surrounds_it(secret: str, before: str, after: str, encoding: str) -> None:
    redacted = Redactor({NAME: secret}).redact(before + ENCODINGS[encoding](secret) + after)
    assert ENCODINGS[encoding](secret.strip()) not in redacted


@untimed
@given(
    secret=SECRETS,
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
    encode=st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
)
def test_base64_is_cut_to_what_the_neighbours_alone_explain(
    secret: str, before: bytes, after: bytes, encode: Callable[[bytes], bytes]
) -> None:
    secret = secret.strip()
    data = secret.encode()
    text = encode(before + data + after).decode()
    first = -(-len(before) * 8 // 6)
    core = text[first : (len(before) + len(data)) * 8 // 6]
    redacted = Redactor({NAME: secret}).redact(text)
    assert len(core) >= 8
    assert core not in redacted
    assert redacted != text


@untimed
@given(secret=SECRETS, data=JSON_DATA, planted=SURROUNDING, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
def test_json_text_stays_parseable(
    secret: str, data: object, planted: str, indent: int | None, ascii_only: bool
) -> None:
    document = {"data": data, planted: planted + secret, secret: [secret + planted, json.dumps([secret])]}
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    redacted = Redactor({NAME: secret}).redact(text)
    json.loads(redacted)
    assert secret.strip() not in redacted


@untimed
@given(secrets=st.lists(SECRETS, max_size=3), pieces=st.lists(SURROUNDING, max_size=4), names=st.booleans())
def test_redacting_twice_changes_nothing_more(secrets: list[str], pieces: list[str], names: bool) -> None:
    # A name that is another secret's value is the worst possible name.
    named = {(secrets[i - 1] if names else f"KEY_{i}"): secret for i, secret in enumerate(secrets)}
    keys = [
        "sk-abcdefghijklmnop12",
        "Bearer abcdefghijklmnop",
        "AKIAABCDEFGHIJKLMNOP",
        "[redacted]",
        "[redacted:KEY_0]",
    ]
    text = "".join(piece + word for piece, word in zip(pieces, [*secrets, *keys], strict=False)) + "".join(
        secrets + keys
    )
    redactor = Redactor(named)
    redacted = redactor.redact(text)
    assert redactor.redact(redacted) == redacted
    assert not any(value.strip() in redacted for value in named.values())


@untimed
@given(secret=SECRETS, data=JSON_DATA, planted=SURROUNDING)
def test_walked_data_contains_no_secret(secret: str, data: object, planted: str) -> None:
    redactor = Redactor({NAME: secret})
    redacted = redactor.redact_value({planted: [data, planted + secret + planted]})
    assert redactor.redact_value(redacted) == redacted
    ((key, (_, text)),) = redacted.items()
    assert secret.strip() not in key
    assert secret.strip() not in text


@untimed
@given(text=st.text(max_size=200))
def test_text_without_a_secret_is_returned_unchanged(text: str) -> None:
    assert Redactor({NAME: "\x00never-in-such-a-text\x00" * 3}).redact(text) == text
