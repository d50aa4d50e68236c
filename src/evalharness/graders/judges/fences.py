"""Fences: text that somebody else wrote, put before a judge so that it can be told from what we say.

Each call has its own random word in its fences. What is fenced cannot end its fence, since it cannot know the word.
"""

from __future__ import annotations

import re
import secrets

from evalharness.graders.judges.forms import sound

BYTES_OF_NONCE = 16
REMOVED = "[a fence was removed here]"
_FENCE = re.compile(r"[-–—=]{2,9}[ \t]{0,5}[\w ]{1,40}[ \t](?:begins|ends)[ \t][^\n]{0,80}?[-–—=]{2,9}", re.IGNORECASE)


def new_nonce() -> str:
    return secrets.token_hex(BYTES_OF_NONCE)


def fenced(name: str, text: str, nonce: str) -> str:
    """Nothing fenced looks like a fence; what UTF-8 cannot say is replaced."""
    return f"--- {name} begins {nonce} ---\n{_FENCE.sub(REMOVED, sound(text))}\n--- {name} ends {nonce} ---"
