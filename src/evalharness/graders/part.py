"""What all code graders share: how they are built and named. Each grader adds its options and `grade`."""

from __future__ import annotations

from typing import Any, ClassVar

from evalharness.contracts import GradeContext, Services
from evalharness.domain.digest import digest
from evalharness.domain.example import Example
from evalharness.domain.grade import GraderType
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec
from evalharness.domain.text import head
from evalharness.errors import Unscored


class CodeGrader:
    Options: ClassVar[type[Options]] = Options
    type: GraderType = "code"
    version: str = "1"

    @property
    def runs_code(self) -> bool:
        """Whether it runs what the target wrote: then a sandbox must be there before the target is asked."""
        return False

    def __init__(self, options: Any, spec: GraderSpec, services: Services) -> None:
        self.options = options
        self.spec = spec
        self.services = services

    def digest(self) -> str:
        return digest([self.spec.kind, self.version, self.options.model_dump(mode="json")])

    def example(self) -> Example | None:
        return None


def text_of(context: GradeContext) -> str:
    """The answer as text. Only Python targets can give what has no text: a value that JSON cannot hold."""
    try:
        return context.text
    except (RecursionError, TypeError, ValueError) as error:
        raise Unscored(f"the answer cannot be read as text: {error}") from None


def shown(text: str, limit: int = 80) -> str:
    """A text as it appears in a reason: quoted, on one line, cut, with whatever is invisible spelled out."""
    visible = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in head(text, limit))
    return f"'{visible}'"
