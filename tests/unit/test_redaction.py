from __future__ import annotations

import base64
import html
import json
import pickle
import shlex
import subprocess
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from evalharness.redaction import Redactor, is_secret_name
from evalharness.sandboxes.running_process import BoundedOutput
from evalharness.targets.agent_tools import cut
from evalharness.values.text import head
from evalharness.workspaces import MAX_BYTES, changed_files, snapshot

SECRET = 'pä/ss "w\\rd&+\n<42>?'
REDACTOR = Redactor({"DB_PASSWORD": SECRET})


def json_twice(text: str, inner_ascii: bool, outer_ascii: bool) -> str:
    return json.dumps(json.dumps({"a": text}, ensure_ascii=inner_ascii), ensure_ascii=outer_ascii)


@pytest.mark.parametrize(
    "encoded",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1].replace("/", "\\/"),
        json.dumps(SECRET)[1:-1]
        .replace("\\u00e4", "ä")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026"),
        json.dumps(SECRET)[1:-1].replace("/", "\\/"),  # PHP
        json.dumps(SECRET, ensure_ascii=False)[1:-1]  # Java's Gson
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026"),
        json.dumps(SECRET)[1:-1]  # .NET
        .replace("\\u00e4", "\\u00E4")
        .replace('\\"', "\\u0022")
        .replace("<", "\\u003C")
        .replace(">", "\\u003E")
        .replace("&", "\\u0026")
        .replace("+", "\\u002B"),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote(SECRET, safe="!'()*"),
        quote_plus(SECRET),
        "".join(f"%{byte:02X}" for byte in SECRET.encode()),
        "".join(f"%{byte:02x}" for byte in SECRET.encode()),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        html.escape(SECRET),
        html.escape(SECRET, quote=False),
        html.escape(SECRET).replace("&#x27;", "&#39;"),
    ],
)
def test_every_encoding_of_a_value_is_replaced_by_its_name(encoded: str) -> None:
    assert REDACTOR.redact(f"before {encoded} after") == "before [redacted:DB_PASSWORD] after"


@pytest.mark.parametrize("mark", ["'", "&#39;", "&#x27;", "&apos;"])
@pytest.mark.parametrize("quote_mark", ['"', "&quot;", "&#34;"])
def test_quotes_are_found_however_html_writes_them(mark: str, quote_mark: str) -> None:
    redactor = Redactor({"DB_PASSWORD": """it's "quoted\""""})
    assert redactor.redact(f"<p>it{mark}s {quote_mark}quoted{quote_mark}</p>") == "<p>[redacted:DB_PASSWORD]</p>"


ENGLISH = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
QUOTED = """it's a "pä\\ss", $HOME `too`!"""


@pytest.mark.parametrize(
    "encoded",
    [
        repr(QUOTED),
        repr(QUOTED.replace("'", "")),
        repr([QUOTED + "'\"", '"']),
        ascii(QUOTED),
        repr(QUOTED.encode()),
        repr({"key": QUOTED.encode()}),
        repr(QUOTED + "\n"),
        shlex.quote(QUOTED),
        shlex.join(["curl", "-H", f"Key: {QUOTED}"]),
        "'it'\\''s a \"pä\\ss\", $HOME `too`!'",
        '"it\'s a \\"pä\\\\ss\\", \\$HOME \\`too\\`!"',
        r"it\'s\ a\ \"pä\\ss\"\,\ \$HOME\ \`too\`\!",
    ],
)
def test_what_python_and_shells_quote_is_found(encoded: str) -> None:
    redactor = Redactor({"A_KEY": QUOTED, "B_KEY": QUOTED.replace("'", "")})
    redacted = redactor.redact(f"ran {encoded} there")
    assert "_KEY]" in redacted
    assert "ss" not in redacted and "HOME" not in redacted


def test_a_shell_of_this_machine_quotes_as_expected() -> None:
    for secret in (QUOTED, QUOTED + "\tend", "a b;c|d&e(f)<g>{h}*[i]?^j~k#l"):
        done = subprocess.run(
            ["bash", "-c", 'printf "%q" "$1"', "bash", secret], capture_output=True, check=True, env=ENGLISH
        )
        traced = subprocess.run(["bash", "-xc", ': "$1"', "bash", secret], capture_output=True, check=True, env=ENGLISH)
        for said in (done.stdout.decode(), traced.stderr.decode()):
            assert "A_KEY" in Redactor({"A_KEY": secret}).redact(said), said


@pytest.mark.parametrize("inner_ascii", [True, False])
@pytest.mark.parametrize("outer_ascii", [True, False])
def test_json_in_json_is_redacted_and_still_parses_twice(inner_ascii: bool, outer_ascii: bool) -> None:
    redacted = REDACTOR.redact(json_twice(SECRET, inner_ascii, outer_ascii))
    assert json.loads(json.loads(redacted)) == {"a": "[redacted:DB_PASSWORD]"}


@pytest.mark.parametrize("before", [b"", b"u", b"us", b"usr", b"user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_at_any_alignment_leaves_nothing_to_decode(before: bytes, encode: object) -> None:
    secret = "s3cr?t>>value~~0123"
    assert callable(encode)
    text = encode(before + secret.encode() + b"@host").decode()
    redacted = Redactor({"API_KEY": secret}).redact(f"Basic {text}")
    assert "[redacted:API_KEY]" in redacted
    kept = redacted.replace("[redacted:API_KEY]", "").removeprefix("Basic ")
    assert len(kept) <= len(encode(before).decode()) + len(encode(b"@host").decode()) + 2


def test_short_values_are_ignored_and_spaces_around_a_value_do_not_count() -> None:
    redactor = Redactor({"A_KEY": "1234567", "B_KEY": "  abc    \n", "C_KEY": " " * 20})
    text = "1234567   abc    \n" + " " * 40
    assert redactor.redact(text) == text


def test_a_value_with_a_line_end_is_found_without_it() -> None:
    redactor = Redactor({"FILE_TOKEN": "\nabcdef-123456\n"})
    assert redactor.redact("got abcdef-123456.") == "got [redacted:FILE_TOKEN]."


def test_overlapping_secrets_leave_no_part_of_either() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh", "B_KEY": "efghijklmnop", "C_KEY": "abcdefghij"})
    assert redactor.redact("-abcdefghijklmnop-") == "-[redacted:C_KEY]-"
    inside = Redactor({"A_KEY": "abcdefghijkl", "B_KEY": "cdefghij"})
    assert inside.redact("-abcdefghijkl-") == "-[redacted:A_KEY]-"
    assert Redactor({"A_KEY": "aaaaaaaa"}).redact("a" * 23) == "[redacted:A_KEY]"


def test_each_of_two_neighbours_keeps_its_name() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh", "B_KEY": "ijklmnop"})
    assert redactor.redact("abcdefghijklmnop") == "[redacted:A_KEY][redacted:B_KEY]"


@pytest.mark.parametrize(
    ("secrets", "text"),
    [
        ({"hunter2hunter2": "abcdefgh", "B_KEY": "hunter2hunter2"}, "abcdefgh hunter2hunter2"),
        ({"A_KEY": "redacted"}, "what was redacted here"),
        ({"A_KEY": "abcdefgh", "B_KEY": "]ijklmnop"}, "abcdefghijklmnop"),
        ({"A_KEY": "abcdefgh", "B_KEY": "ijklmnop[red"}, "ijklmnopabcdefgh"),
        ({"A_KEY": "abcdefgh", "B_KEY": "x[redacted:A_KEY]", "C_KEY": "x[redacted]"}, "xabcdefgh"),
        ({'quote " \\ and [brackets]': "abcdefgh"}, "abcdefgh"),
    ],
)
def test_a_placeholder_never_shows_or_makes_a_secret(secrets: dict[str, str], text: str) -> None:
    redactor = Redactor(secrets)
    redacted = redactor.redact(text)
    assert not any(value in redacted for value in secrets.values())
    assert redactor.redact(redacted) == redacted
    assert json.loads(f'"{redacted}"') == redacted


@pytest.mark.parametrize(
    ("secret", "document"),
    [
        ("12345678", {"pin": 12345678, "other": 1}),
        ('"abcdefgh', {"key": "abcdefgh"}),
        ("nabcdefgh", {"text": "line\nabcdefgh"}),
        ("abcdefgh\\", {"text": 'abcdefgh"'}),
        ('{"user": "me", "id": 7}', {"login": {"user": "me", "id": 7}}),
    ],
)
def test_json_stays_json_where_a_secret_cuts_through_its_syntax(secret: str, document: object) -> None:
    redacted = Redactor({"X_KEY": secret}).redact(json.dumps(document))
    json.loads(redacted)
    assert secret not in redacted


def test_only_the_number_that_is_a_secret_changes() -> None:
    redacted = Redactor({"PIN_CREDENTIAL": "12345678"}).redact('{"pin": 12345678, "n": 1, "yes": true}')
    assert json.loads(redacted) == {"pin": "[redacted:PIN_CREDENTIAL]", "n": 1, "yes": True}


def test_deeply_nested_json_is_redacted_too() -> None:
    depth = 100_000
    redacted = Redactor({"X_KEY": "12345678"}).redact("[" * depth + "12345678" + "]" * depth)
    assert "12345678" not in redacted
    redacted = Redactor({"X_KEY": "12345678"}).redact("[" * 700 + "12345678" + "]" * 700)
    assert "12345678" not in redacted
    json.loads(redacted)


def test_values_are_walked_with_their_keys() -> None:
    redactor = Redactor({"X_KEY": "12345678"})
    value = {"a 12345678": ["12345678", 12345678, 3, None, True, 0.5], "b": {"c": ("x", "12345678")}}
    assert redactor.redact_value(value) == {
        "a [redacted:X_KEY]": ["[redacted:X_KEY]", "[redacted:X_KEY]", 3, None, True, 0.5],
        "b": {"c": ("x", "[redacted:X_KEY]")},
    }
    assert value["a 12345678"] == ["12345678", 12345678, 3, None, True, 0.5], "the original is not changed"


def test_keys_that_become_equal_stay_two_entries() -> None:
    redacted = Redactor({"X_KEY": "abcdefgh"}).redact_value(
        {"abcdefgh": 1, "[redacted:X_KEY]": 2, b"abcdefgh".hex(): 3}
    )
    assert sorted(redacted.values()) == [1, 2, 3]


def test_without_values_text_comes_back_as_it_was_but_key_shapes_go() -> None:
    redactor = Redactor.none()
    assert redactor.redact("nothing here") == "nothing here"
    assert redactor.redact("AKIAABCDEFGHIJKLMNOP") == "[redacted]"


def test_a_redactor_travels_to_another_process_and_shows_no_value_when_printed() -> None:
    assert REDACTOR
    copy = pickle.loads(pickle.dumps(REDACTOR))
    assert copy.redact(SECRET) == "[redacted:DB_PASSWORD]"
    assert "42" not in repr(Redactor({"A_KEY": "424242424242"})).split(" at ")[0]


PEM_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nabcdefghijklmnopqrstuvwxyzABCDEF\nshort=="


@pytest.mark.parametrize(
    "key",
    [
        "sk-abcdefghijklmnopqrst",
        "sk-proj-A1b2_C3d4-" + "x" * 40,
        "sk-lf-01234567-89ab-cdef-0123-456789abcdef",
        "ghp_" + "a1B2" * 9,
        "ghs_" + "a1B2" * 9,
        "github_pat_" + "a1B2_" * 9,
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7ABCDEFG",
        "Bearer abc.def-ghi_jkl~mno+pqr/stu=",
        "bearer 0123456789abcdef",
        f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}\n-----END PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{PEM_BODY}\n"
        "-----END RSA PRIVATE KEY-----",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM_BODY}",
    ],
)
def test_well_known_key_shapes_are_replaced(key: str) -> None:
    redactor = Redactor.none()
    assert redactor.redact(f"key: {key}") == "key: [redacted]"
    assert redactor.redact(f"(\n{key}, then") == "(\n[redacted], then"
    assert json.loads(redactor.redact(json.dumps({"log": f"at\n{key}", "next": [1]}))) == {
        "log": "at\n[redacted]",
        "next": [1],
    }


@pytest.mark.parametrize(
    "text",
    [
        "a risk-management-framework1234567890",
        '<div class="sk-toggleable__label-arrow">',
        "Bearer tokens are short",
        "the ghp_ prefix, the sk- prefix, xoxb- and AKIA",
        "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PUBLIC KEY-----",
        "a file with -----BEGIN PRIVATE KEY----- on top",
        "SLAKIAABCDEFGHIJKLMNOP",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor({"A_KEY": "correct-horse-battery"}).redact(text) == text


def test_a_key_block_does_not_swallow_the_json_between_two_strings() -> None:
    text = json.dumps({"a": "-----BEGIN PRIVATE KEY-----", "b": "kept", "c": "-----END PRIVATE KEY-----"})
    assert Redactor.none().redact(text) == text


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "github_token", "Client_Secret", "DB_PASSWD", "passwords", "AWS_CREDENTIALS", "BASIC_AUTH"],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "HOME", "MODEL", "PASS", "TOKE", ""])
def test_other_names_are_not_secret(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("raw", "most"),
    [
        ("x " * 127 + "correct horse battery staple zebra lamp and more " * 3, 300),
        ("&".join(["636f727265637420686f727365206261747465727920737461706c65207a65627261206c616d70"] * 6), 268),
    ],
)
def test_what_a_cut_has_left_of_a_secret_goes_as_well(raw: str, most: int) -> None:
    redactor = Redactor({"DB_PASSWORD": "correct horse battery staple zebra lamp"})
    for text in (head(raw, most), f"HTTP 400: {head(raw, most)} (2 attempts)"):
        redacted = redactor.redact(text)
        assert "…" in redacted and "[redacted:DB_PASSWORD]" in redacted
        assert "staple" not in redacted and "737461706c65" not in redacted


def test_what_a_cut_has_left_of_the_end_of_a_secret_goes_as_well() -> None:
    redactor = Redactor({"DB_PASSWORD": "correct horse battery staple zebra lamp"})
    assert redactor.redact("…horse battery staple zebra lamp, it said") == "…[redacted:DB_PASSWORD], it said"
    assert redactor.redact("a lamp… or a horse…") == "a lamp… or a horse…"


# Wherever a long text is cut, there is a … at the cut, so that the rest of a secret is found.
CUT_SECRET = "QwErTyUiOpAsDfGhJkLz0123456789"
CUT_REDACTOR = Redactor({"MY_SECRET": CUT_SECRET})
PIECES = [CUT_SECRET[start : start + 8] for start in range(len(CUT_SECRET) - 7)]


def output_of(text: str, kept: int) -> str:
    output = BoundedOutput(kept)
    output.add(text.encode())
    assert output.is_cut
    return output.value().decode()


def kept_file(text: str, folder: Path) -> str:
    before = snapshot(folder)
    (folder / "edge.txt").write_text("x" * MAX_BYTES, encoding="utf-8")
    with (folder / "edge.txt").open("r+") as file:
        file.seek(MAX_BYTES - len(text) // 2)
        file.write(text)
    return changed_files(folder, before)["edge.txt"]


@pytest.mark.parametrize("shown", [9, 20, 29])
def test_of_a_secret_that_a_cut_goes_through_nothing_is_left(shown: int, tmp_path: Path) -> None:
    lead = "x " * 50
    texts = [
        cut(f"{lead}{CUT_SECRET} and more", len(lead) + shown),
        output_of(f"{lead}{CUT_SECRET}{'y' * 500}", len(lead) + shown),
        output_of(f"{'y' * 500}{CUT_SECRET}{lead}", len(lead) + shown),
        kept_file(f"{CUT_SECRET[:shown]}{CUT_SECRET[shown:]}", tmp_path),
    ]
    for text in texts:
        redacted = CUT_REDACTOR.redact(text)
        assert not [piece for piece in PIECES if piece in redacted], redacted[-200:]
        assert any(piece in text for piece in PIECES), "otherwise there was nothing to find"


def test_escapes_of_several_kinds_in_one_text_are_found() -> None:
    assert Redactor({"KEY": "q7Zx/Lm4&Rt9Wv2"}).redact("q7Zx\\/Lm4\\u0026Rt9Wv2") == "[redacted:KEY]"


@pytest.mark.parametrize("written", ["AbC\\u002Bd/E012345==", "AbC+d\\/E012345==", "AbC+d/E012345\\u003d\\u003d"])
def test_a_base64_key_is_found_however_json_writes_it(written: str) -> None:
    assert Redactor({"KEY": "AbC+d/E012345=="}).redact(f'{{"key": "{written}"}}') == '{"key": "[redacted:KEY]"}'
