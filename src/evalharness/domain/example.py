"""Example: what an answer must contain to please a grader, from which the oracle builds an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from evalharness.domain.case import Case, as_text
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.values.json_value import Json


@dataclass(frozen=True, slots=True)
class Example:
    """`whole` settles the text alone, the others are pieces of it; the rest is what must happen beside the text.

    `fields` are those of an answer that is a mapping; a text is then its field `answer`. An empty Example asks for
    nothing.
    """

    whole: Json = None
    fields: dict[str, Json] = field(default_factory=dict)
    starts: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    exit_code: int | None = None
    files: dict[str, str] = field(default_factory=dict)
    tool_calls: tuple[ToolCall, ...] = ()
    snapshot: dict[str, Json] | None = None
    events: tuple[dict[str, Json], ...] = ()

    @property
    def output(self) -> Json:
        """An answer that meets the constraints; None when they ask for nothing."""
        found = self._pieces if self.whole is None else self.whole
        if not self.fields or not (found is None or isinstance(found, str)):
            return found
        return {"answer": found, **self.fields} if found else self.fields

    @property
    def _pieces(self) -> str | None:
        if not (self.starts or self.holds or self.ends):
            return None
        start, end = max(self.starts, key=len, default=""), max(self.ends, key=len, default="")
        pieces = [start, *(text for text in dict.fromkeys(self.holds) if not self._is_held_elsewhere(text, start, end))]
        if not pieces[-1].endswith(end):
            pieces.append(end)
        return " ".join(piece for piece in pieces if piece)

    @property
    def answer(self) -> Transcript:
        """What a target would have to answer and to do."""
        return Transcript(
            output=self.output if self.output is not None else "",
            exit_code=self.exit_code,
            files=self.files,
            tool_calls=self.tool_calls,
            messages=_one_round(self.tool_calls),
            snapshot=self.snapshot,
            events=self.events,
        )

    def _is_held_elsewhere(self, text: str, start: str, end: str) -> bool:
        """A shorter answer is the safer one: another grader may limit its length."""
        return text in start or text in end or any(text in other and text != other for other in self.holds)


def merge_examples(examples: Iterable[Example | None]) -> Example | None:
    """Constraints that hold together; None when one is unknown, or two want the whole answer or a field and differ."""
    known = []
    for example in examples:
        if example is None:
            return None
        known.append(example)
    wholes = [example.whole for example in known if example.whole is not None]
    snapshots = [example.snapshot for example in known if example.snapshot is not None]
    if len({as_text(whole) for whole in wholes}) > 1 or len({as_text(snapshot) for snapshot in snapshots}) > 1:
        return None
    fields = [item for example in known for item in example.fields.items()]
    if len({(name, as_text(value)) for name, value in fields}) > len(dict(fields)):
        return None
    files: dict[str, list[str]] = {}
    for path, text in (item for example in known for item in example.files.items()):
        files.setdefault(path, []).append(text)
    return Example(
        whole=wholes[0] if wholes else None,
        fields=dict(fields),
        starts=tuple(text for example in known for text in example.starts),
        holds=tuple(text for example in known for text in example.holds),
        ends=tuple(text for example in known for text in example.ends),
        exit_code=next((example.exit_code for example in known if example.exit_code is not None), None),
        files={path: "\n".join(dict.fromkeys(texts)) for path, texts in files.items()},
        tool_calls=tuple(call for example in known for call in example.tool_calls),
        snapshot=snapshots[0] if snapshots else None,
        events=tuple({as_text(event): event for example in known for event in example.events}.values()),
    )


def right_answer(case: Case, examples: Iterable[Example | None]) -> Example | None:
    """The case's reference, with what its graders ask for beside the text; None where nothing says what is right."""
    asked = list(examples)
    if case.reference is not None:  # it settles the output; files and calls are still the graders' to tell
        asked = [replace(example, whole=None, snapshot=None) for example in asked if example is not None]
        asked.append(Example(whole=case.reference))
    merged = merge_examples(asked)
    return None if merged == Example() else merged


def _one_round(calls: tuple[ToolCall, ...]) -> tuple[dict[str, object], ...]:
    """All calls at once: who knows the answer needs no result of one to know the next."""
    if not calls:
        return ()
    functions = [{"name": call.name, "arguments": as_text(call.arguments or {})} for call in calls]
    return ({"role": "assistant", "tool_calls": [{"type": "function", "function": each} for each in functions]},)
