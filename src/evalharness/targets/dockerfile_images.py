"""The images of others that a Dockerfile is made from: those it begins with, and those it copies from."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(r"^\s*(FROM|COPY)\s+((?:--\S+\s+)*)(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE | re.MULTILINE)
_COPIED_FROM = re.compile(r"--from=(\S+)", re.IGNORECASE)
_CONTINUED = re.compile(r"\\[ \t]*\n")
NOTHING = "scratch"


class DockerfileImages(NamedTuple):
    named: tuple[str, ...]
    variable: tuple[str, ...]
    """Those whose names have variables in them: which they are is known to the builder alone."""


def images_of(dockerfile: str) -> DockerfileImages:
    stages: set[str] = set()
    found: dict[str, None] = {}
    for instruction, flags, first, stage in _LINE.findall(_CONTINUED.sub(" ", dockerfile)):
        if instruction.upper() == "FROM":
            found |= {} if first.lower() in {NOTHING, *stages} else {first: None}
            stages |= {stage.lower()} if stage else set()
        elif copied := _COPIED_FROM.search(flags):
            source = copied[1]
            found |= {} if source.isdigit() or source.lower() in stages else {source: None}
    names = tuple(found)
    return DockerfileImages(tuple(n for n in names if "$" not in n), tuple(n for n in names if "$" in n))
