"""Text from outside in Markdown, where it can only be read: nothing in it becomes markup, a link or a mention.

A text of plain words stays as it is. Any other is code, in which GitHub and GitLab interpret nothing: inline between
more backticks than it contains, longer ones between fences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evalharness.reports.wording import clean, one_line

SHORT = 200
"""Characters of a text on one line."""
_PLAIN = re.compile(r"""(?:\$(?=\d))?[^\W_][\w .,;:'"’‘“”()/%+=!?^$→−–—…·±≥≤×-]*""")
_RISKY = re.compile(
    r"""
    (?<![^\W_])_ | _(?![^\W_])              # emphasis
    | :[\w+-]+:                             # an emoji
    | :// | www\. | \$ .* \$                # links, formulas
    | ^\d+[.)]                              # a list
    | \b[0-9a-f]{7,40}\b | \bGH-\d          # a commit, an issue
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OURS = re.compile(r"\bpass@\d+\b")
"""The only text with an @ that is taken for plain words."""
_BACKTICKS = re.compile("`+")
_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_SIGN = re.compile(r"[^\w\s]|_")


class MarkdownText:
    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    def inline(self, text: str, limit: int = SHORT) -> str:
        """On one line of a paragraph, a heading or a list. What is between single backticks stays code."""
        shown = self._one_line(text, limit)
        parts = shown.split("`")
        if len(parts) > 1 and len(parts) % 2 and all(parts) and all(map(_is_plain, map(str.strip, parts[::2]))):
            return shown
        return shown if _is_plain(shown) else _span(shown)

    def cell(self, text: str, limit: int = SHORT) -> str:
        """The same in a table, whose columns no text may end."""
        shown = self._one_line(text, limit)
        return _html_code(shown) if "|" in shown else self.inline(shown, limit)

    def code(self, text: str, limit: int = SHORT) -> str:
        return _span(self._one_line(text, limit))

    def summary(self, text: str, limit: int = SHORT) -> str:
        """In HTML, where Markdown means nothing."""
        shown = self._one_line(text, limit)
        return shown if _is_plain(shown) else _html_code(shown)

    def fits_one_line(self, text: str, limit: int = SHORT) -> bool:
        cleaned = clean(text, self._redact)
        return len(cleaned) <= limit and not _LINE_END.search(cleaned.strip())

    def block(self, text: str, limit: int, indent: str) -> Iterator[str]:
        """As lines between fences; of a long text the beginning, and how much is missing."""
        cleaned = clean(_LINE_END.sub("\n", text), self._redact)
        shown = cleaned[:limit]
        fence = "`" * max(3, 1 + _longest_run(shown))
        yield f"{indent}{fence}"
        yield from (f"{indent}{line}" for line in shown.split("\n"))
        yield f"{indent}{fence}"
        if len(cleaned) > limit:
            yield f"{indent}… and {len(cleaned) - limit:,} more characters"

    def _one_line(self, text: str, limit: int) -> str:
        return one_line(clean(_LINE_END.sub("\n", text), self._redact), limit)


def _is_plain(text: str) -> bool:
    ours = _OURS.sub("pass", text)
    return _PLAIN.fullmatch(ours) is not None and not _RISKY.search(ours)


def _span(text: str) -> str:
    """Markdown removes one space on each side when it is read."""
    if not text:
        return "(empty)"
    ticks = "`" * (1 + _longest_run(text))
    is_padded = text[0] in "` " or text[-1] in "` "
    return f"{ticks} {text} {ticks}" if is_padded else f"{ticks}{text}{ticks}"


def _html_code(text: str) -> str:
    """Every sign as a number: nothing is left that Markdown could read."""
    return f"<code>{_SIGN.sub(lambda sign: f'&#{ord(sign[0])};', text)}</code>"


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
