"""The prompts and rubrics that come with the harness: files, so that they can be read, and their digests be reported.

A template has places like `{output}`; a paragraph whose place stays empty is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evalharness.errors import closest
from evalharness.values.digest import digest

FOLDER = Path(__file__).parents[2] / "judge_prompts"
NOTHING = "(none)"
_ONE_WORD = re.compile(r"[\w-]+")
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Template:
    text: str
    is_own: bool = False
    """Whether a user wrote it: then every paragraph stays."""

    @property
    def digest(self) -> str:
        return _digest_of(self.text, self.is_own)

    @property
    def places(self) -> frozenset[str]:
        return frozenset(_PLACE.findall(self.text))

    def filled(self, texts: Mapping[str, str]) -> str:
        """In one go: what is put in is never taken for a place. Braces around anything else stay as they are."""
        kept = [
            paragraph
            for paragraph, places in _paragraphs(self.text)
            if self.is_own or all(texts.get(name, "x") for name in places)
        ]
        return _PLACE.sub(lambda place: _put(place, texts), "\n\n".join(kept))


def _put(place: re.Match[str], texts: Mapping[str, str]) -> str:
    text = texts.get(place[1])
    return place[0] if text is None else text or NOTHING


@cache
def _paragraphs(text: str) -> list[tuple[str, list[str]]]:
    """Each with its places."""
    return [(paragraph, _PLACE.findall(paragraph)) for paragraph in text.strip().split("\n\n")]


@cache
def _digest_of(text: str, is_own: bool) -> str:
    return digest([text, is_own, *map(read_prompt, ("closing", "again", "unusable"))])


@cache
def read_prompt(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def template(name: str) -> Template:
    return Template(read_prompt(name))


@cache
def built_in_rubrics() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (FOLDER / "rubrics").glob("*.md")))


@cache
def rubric_text(written: str) -> str:
    """The rubric that a name stands for, or the rubric itself. Raises ValueError for a name that is misspelt."""
    name = written.strip()
    if name in built_in_rubrics():
        return read_prompt(f"rubrics/{name}")
    if _ONE_WORD.fullmatch(name) and (meant := closest(name, built_in_rubrics())):
        known = ", ".join(built_in_rubrics())
        text = f"unknown rubric '{name}'. Did you mean '{meant}'? Known: {known}; yours needs more than one word"
        raise ValueError(text)
    return written
