"""Forty kinds of invalid replies of a judge, each made from one that would have been a pass.

Each changes only one thing in a valid reply, so nothing else can be the reason to refuse it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Verdict = dict[str, Any]
DECISIVE = ("result", "winner", "overall_score")


def decisive(verdict: Verdict) -> str:
    """The key whose value decides."""
    return next(key for key in DECISIVE if key in verdict)


def with_value(value: Any) -> Callable[[Verdict], str]:
    return lambda verdict: json.dumps({**verdict, decisive(verdict): value})


def written_as(raw: str) -> Callable[[Verdict], str]:
    """Raw JSON, or something that is not JSON, at the place that decides."""

    def spoil(verdict: Verdict) -> str:
        marked = json.dumps({**verdict, decisive(verdict): "@"})
        return marked.replace('"@"', raw)

    return spoil


def around(before: str, after: str) -> Callable[[Verdict], str]:
    return lambda verdict: f"{before}{json.dumps(verdict)}{after}"


def without(key: str) -> Callable[[Verdict], str]:
    def spoil(verdict: Verdict) -> str:
        gone = decisive(verdict) if key == "what decides" else key
        return json.dumps({name: value for name, value in verdict.items() if name != gone})

    return spoil


def twice(verdict: Verdict) -> str:
    key = decisive(verdict)
    return f"{json.dumps(verdict)[:-1]}, {json.dumps(key)}: {json.dumps(verdict[key])}}}"


GARBAGE: Mapping[str, Callable[[Verdict], str]] = MappingProxyType(
    {
        "nothing": lambda _: "",
        "blank": lambda _: " \n\t ",
        "prose": lambda _: "The answer is fine, I would let it pass.",
        "a bare word": lambda _: "pass",
        "a grade": lambda _: "GRADE: C",
        "a bare number": lambda _: "5",
        "bare true": lambda _: "true",
        "null": lambda _: "null",
        "the word NaN": lambda _: "NaN",
        "an empty object": lambda _: "{}",
        "an empty list": lambda _: "[]",
        "a list of one verdict": around("[", "]"),
        "a text of a verdict": lambda verdict: json.dumps(json.dumps(verdict)),
        "prose before": around("Here is my verdict: ", ""),
        "prose after": around("", "\nI hope this helps."),
        "a thought before": around("<think>It looks fine.</think>", ""),
        "a code fence among prose": around("Sure!\n```json\n", "\n```"),
        "two verdicts": around("", '\n{"result": "pass"}'),
        "the same verdict twice": lambda verdict: json.dumps(verdict) * 2,
        "cut off": lambda verdict: json.dumps(verdict)[:-1],
        "a comma too many": lambda verdict: json.dumps(verdict)[:-1] + ",}",
        "single quotes": lambda verdict: json.dumps(verdict).replace('"', "'"),
        "a comment": around("// verdict\n", ""),
        "a key twice": twice,
        "an unknown key": lambda verdict: json.dumps({**verdict, "confidence": 1}),
        "what decides is missing": without("what decides"),
        "no nonce": without("nonce"),
        "another nonce": lambda verdict: json.dumps({**verdict, "nonce": "0" * 32}),
        "the nonce in capitals": lambda verdict: json.dumps({**verdict, "nonce": verdict["nonce"].upper() + "A"}),
        "NaN": written_as("NaN"),
        "infinity": written_as("1e999"),
        "minus infinity": written_as("-Infinity"),
        "a number as text": with_value("0.9"),
        "a number beyond the scale": with_value(7),
        "a number below the scale": with_value(-1),
        "true": with_value(True),
        "null where a verdict is due": with_value(None),
        "a list where a verdict is due": with_value([5]),
        "a mapping where a verdict is due": with_value({"score": 5}),
        "a number of 200 digits": written_as("9" * 200),
    }
)
