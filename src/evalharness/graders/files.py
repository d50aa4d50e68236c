"""files: what the target left in its workspace: that files are there, and what they hold.

Looked at are the files the target made or changed (`transcript.files`) and, where it changed nothing, the files the
case put there. Nothing is read from a workspace: a stored trial is graded as a fresh one is.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any, ClassVar

from pydantic import AliasChoices, Field, GetJsonSchemaHandler, field_validator, model_validator
from pydantic_core import CoreSchema

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import CaseFile
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.record import Record
from evalharness.errors import Unscored, UsageError
from evalharness.graders.expected_patterns import PatternCheck, grade_of, utf16_length
from evalharness.workspaces import confined, is_workspace_path

# What `workspaces.py` writes where it does not keep the whole.
NOT_ALL_KEPT = "…"
PARTLY_KEPT = re.compile(
    r"\n\[(?:… )?\d+ bytes cut(?: …)?\]\Z|\A\[binary file of \d+ bytes\]\Z|\A\[cannot be read: .*\]\Z"
)


def check_file(content: str | None, path: str, needle: str = "") -> PatternCheck:
    """One expected file; `content` is None where it does not exist. Case is ignored; no needle asks for nothing."""
    if content is None or not needle:
        found = content is not None
        exists = f"file_exists:{path}" if path else "file_exists"
        return PatternCheck(exists, found, path, "file found" if found else "file not found")
    passed = needle.lower() in content.lower()
    actual = "found" if passed else f"content length {utf16_length(content)}"
    return PatternCheck(f"file_contains:{needle}", passed, f"{path} contains {needle}".lstrip(), actual)


class ExpectedFile(Record):
    """A path inside the workspace; with `contains`, a text that the file must hold."""

    path: str
    contains: str = Field(default="", validation_alias=AliasChoices("contains", "shouldContain", "should_contain"))

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(core)]}

    @model_validator(mode="before")
    @classmethod
    def _bare_path(cls, written: Any) -> Any:
        return {"path": written} if isinstance(written, str) else written

    @field_validator("path")
    @classmethod
    def _inside_the_workspace(cls, path: str) -> str:
        if not is_workspace_path(path):
            raise ValueError(
                "must be a relative path inside the workspace, such as notes.txt; "
                "container_command looks at other places of a container"
            )
        return str(PurePosixPath(path))

    @field_validator("contains", mode="before")
    @classmethod
    def _nothing_to_hold(cls, written: Any) -> Any:
        return "" if written is None else written


class FilesOptions(Options):
    """`files` may be a single path."""

    main: ClassVar[str] = "files"

    files: tuple[ExpectedFile, ...]

    @field_validator("files", mode="before")
    @classmethod
    def _at_least_one(cls, written: Any) -> Any:
        if isinstance(written, str):
            return (written,)
        if isinstance(written, list | tuple) and not written:
            raise ValueError("is empty; list at least one file")
        return written


class Files(Grader):
    """Every file is there and holds what it should; the score is the share of files that are right."""

    Options: ClassVar[type[Options]] = FilesOptions
    options: FilesOptions

    async def grade(self, context: GradeContext) -> Grade:
        changed = {str(PurePosixPath(path)): text for path, text in context.transcript.files.items()}
        placed = {str(PurePosixPath(path)): file for path, file in context.case.files.items()}
        checks = []
        for wanted in self.options.files:
            content = changed.get(wanted.path)
            if content is None and wanted.path in placed and wanted.path not in context.transcript.removed_files:
                content = await self._text_of(placed[wanted.path])
            check = check_file(content, wanted.path, wanted.contains)
            if not check.passed:
                _require_all_kept(wanted.path, content, changed)
            checks.append(check)
        return grade_of(checks)

    async def _text_of(self, file: CaseFile) -> str:
        if file.path is None:
            return file.text or ""
        try:
            place = confined(self.services.root, file.path)
            return str(await self.services.in_thread(place.read_text, encoding="utf-8", errors="replace"))
        except UsageError as error:
            raise Unscored(error.message) from None
        except OSError as error:
            raise Unscored(f"the case's file {file.path} cannot be read: {error.strerror}") from None

    def example(self) -> Example:
        texts: dict[str, list[str]] = {}
        for wanted in self.options.files:
            texts.setdefault(wanted.path, []).append(wanted.contains)
        return Example(files={path: "\n".join(filter(None, held)) for path, held in texts.items()})


def _require_all_kept(path: str, content: str | None, changed: dict[str, str]) -> None:
    """Nothing is compared with a target that the harness merely did not keep."""
    if content is None and NOT_ALL_KEPT in changed:
        raise Unscored(f"{path} is not one of the files that were kept: {changed[NOT_ALL_KEPT]}")
    if content is not None and path in changed and (cut := PARTLY_KEPT.search(content)):
        raise Unscored(f"only part of {path} was kept, and the text is not in that part: {cut[0].strip()}")
