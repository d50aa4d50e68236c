"""The question for every harness, and what the right answer contains."""

from __future__ import annotations

QUESTION = "Say hello to Ada"
ANSWER = "Hello, Ada!"
WANTED = "Ada"
