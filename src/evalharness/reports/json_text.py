"""JSON as text that is safe to print: redacted, and with escapes for all that a terminal or a log would act on.

Nothing is lost: whoever reads the JSON gets the characters back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|(?<=##)\\[")
"""What JSON may contain as it is: DEL, upper control characters, line separators, what turns text around. And halves
of characters, which no file can contain, and what begins a command in a log of GitHub Actions: `##[`."""


def json_text(value: Any, redact: Callable[[str], str] = str, indent: int | None = 1) -> str:
    return escaped(redact(json.dumps(value, ensure_ascii=False, indent=indent)))


def escaped(text: str) -> str:
    """Of a JSON text, in which these characters can only be part of a string."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
