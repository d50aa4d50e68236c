"""What every contestant is asked, and what the right answer holds."""

from __future__ import annotations

QUESTION = "Say hello to Ada"
ANSWER = "Hello, Ada!"
WANTED = "Ada"
