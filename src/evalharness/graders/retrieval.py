"""retrieval: whether the expected documents were retrieved, and at which ranks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from statistics import fmean
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, Field, GetJsonSchemaHandler, WithJsonSchema, field_validator, model_validator
from pydantic_core import CoreSchema

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.measurement import RETRIEVAL_FIGURES
from evalharness.domain.options import Number, Options, Whole
from evalharness.domain.plain_numbers import count
from evalharness.domain.record import Record
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.errors import Unscored
from evalharness.graders.files import NOT_ALL_KEPT, PARTLY_KEPT
from evalharness.graders.json_values import parsed
from evalharness.graders.retrieved_documents import Comparison, Match, documents_in, gains_of
from evalharness.stats.rank_figures import RankFigures, rank_figures
from evalharness.stats.thresholds import reaches
from evalharness.values.json_value import MISSING, Json, look_along, steps
from evalharness.values.text import shown
from evalharness.workspaces import is_workspace_path

MOST_DOCUMENTS = 10_000
IN_PLACE = 10_000
SHOWN_DOCUMENTS = 20
EXPECTED = {
    "anyOf": [
        {"type": ["string", "number"]},
        {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1},
        {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}, "minProperties": 1},
    ]
}
NAMED = 5
LONGEST_NAME = 60

Minimum = Annotated[Number, Field(gt=0, le=1)]


def _minimum(short: str) -> Any:
    return Field(default=None, validation_alias=AliasChoices(short.replace("@", "_at_"), short))


class DocumentSource(Record):
    """Where the retrieved documents are: in the answer, in the results of a tool, or in files; there at `path`."""

    path: str = ""
    tool: Annotated[str, Field(min_length=1)] | None = None
    files: str | None = None

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"const": "answer"}, handler(core)]}

    @model_validator(mode="before")
    @classmethod
    def _bare_name(cls, written: Any) -> Any:
        if isinstance(written, str) and written != "answer":
            raise ValueError("must be answer, {path: PATH}, {tool: NAME} or {files: GLOB}")
        return {} if written == "answer" else written

    @field_validator("files")
    @classmethod
    def _inside_the_workspace(cls, glob: str | None) -> str | None:
        if glob is not None and not is_workspace_path(glob):
            raise ValueError("must be a relative path inside the workspace, such as retrieved/*.json")
        return glob if glob is None else str(PurePosixPath(glob))

    @model_validator(mode="after")
    def _one_place(self) -> DocumentSource:
        if self.tool and self.files:
            raise ValueError("names both a tool and files; keep one of them")
        return self


class FigureMinima(Record):
    """The minimum values to pass; figures that are not given do not matter."""

    hit_at_1: Minimum | None = _minimum("hit@1")
    hit_at_k: Minimum | None = _minimum("hit@k")
    recall: Minimum | None = None
    precision_at_k: Minimum | None = _minimum("precision@k")
    mrr: Minimum | None = None
    ndcg: Minimum | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> FigureMinima:
        if not self.minima:
            raise ValueError(f"is empty; name at least one of {', '.join(RankFigures._fields)}")
        return self

    @property
    def minima(self) -> dict[str, float]:
        return {name: least for name, least in self if least is not None}


class RetrievalOptions(Options):
    main: ClassVar[str] = "expected"

    expected: Annotated[dict[str, float], WithJsonSchema(EXPECTED)]
    k: Annotated[Whole, Field(ge=1)] | None = None
    source: DocumentSource = Field(default_factory=DocumentSource, validation_alias="from", serialization_alias="from")
    field: str = ""
    match: Match = "exact"
    pass_: FigureMinima = Field(default=FigureMinima(recall=1), validation_alias="pass", serialization_alias="pass")

    @field_validator("expected", mode="before")
    @classmethod
    def _as_gains(cls, written: Any) -> dict[str, float]:
        return gains_of(written)

    @model_validator(mode="after")
    def _can_pass(self) -> RetrievalOptions:
        """By the best of all lists: the expected documents alone, the most valuable first."""
        gains = sorted(self.expected.values(), reverse=True)
        best = rank_figures(gains, range(1, len(gains) + 1), len(gains), self.k)._asdict()
        if self.match == "contains":
            best["recall"] = 1.0  # one long text may contain them all
        for name, least in self.pass_.minima.items():
            if not reaches(best[name], least):
                listed = count(len(gains), "document")
                most = f"{RETRIEVAL_FIGURES[name]} is at most {best[name]:.2g}"
                raise ValueError(f"can never pass: with k = {self.k} and {listed} expected, {most}")
        return self


class Retrieval(Grader):
    """Passes if every figure named by `pass` reaches its minimum. The score is their mean, by default the recall."""

    Options: ClassVar[type[Options]] = RetrievalOptions
    only_reads: ClassVar[bool] = True
    figures: ClassVar[tuple[str, ...]] = RankFigures._fields
    options: RetrievalOptions

    async def grade(self, context: GradeContext) -> Grade:
        documents, problem = retrieved_documents(context.transcript, self.options.source)
        k = self.options.k
        if len(documents) > MOST_DOCUMENTS and (k is None or k > MOST_DOCUMENTS):
            raise Unscored(f"{len(documents)} retrieved documents are too many to compare: at most {MOST_DOCUMENTS}")
        if len(documents) * len(self.options.expected) <= IN_PLACE:
            return self._compare(documents, problem, context.transcript)
        grade: Grade = await self.services.in_thread(self._compare, documents, problem, context.transcript)
        return grade

    def _compare(self, documents: Sequence[Json], problem: str, transcript: Transcript) -> Grade:
        comparison, k = self._comparison, self.options.k
        ranks = comparison.ranks(documents[:MOST_DOCUMENTS])
        figures = comparison.figures(ranks, len(documents), k)._asdict()
        minima = self.options.pass_.minima
        short = {name: least for name, least in minima.items() if not reaches(figures[name], least)}
        if short and self.options.source.files and NOT_ALL_KEPT in transcript.files:
            raise Unscored(f"not all files were kept: {transcript.files[NOT_ALL_KEPT]}")
        reason = self._reason(figures, short, ranks, len(documents), problem) if short else ""
        evidence = {
            "k": k,
            "retrieved_count": len(documents),
            "retrieved": [shown(comparison.label(each))[1:-1] for each in documents[:SHOWN_DOCUMENTS]],
            "ranks": ranks,
        }
        score = fmean(figures[name] for name in minima)
        return Grade.of(not short, score=score, reason=reason, evidence=evidence, figures=figures)

    @property
    def _comparison(self) -> Comparison:
        return Comparison(self.options.expected, self.options.field, self.options.match)

    def _reason(
        self,
        figures: Mapping[str, float],
        short: Mapping[str, float],
        ranks: Mapping[str, int | None],
        retrieved: int,
        problem: str,
    ) -> str:
        """Which documents are missing, and where the others are.

        Where less, or more, was asked for than all documents, the figures that are short come first.
        """
        if not retrieved:
            return f"{problem or 'nothing was retrieved'}; expected {_named(ranks)}"
        below = [f"{RETRIEVAL_FIGURES[name]} {figures[name]:.2g} < {least:g}" for name, least in short.items()]
        is_usual = self.options.pass_ == FigureMinima(recall=1)
        return "; ".join([*([] if is_usual else below), *places_in_words(ranks, retrieved, self.options.k)])

    def normalised(self, output: Json) -> Json:
        """Additional documents do not make it a different answer."""
        if self.options.source.tool or self.options.source.files:
            return super().normalised(output)
        documents, _ = _in_answer(output, self.options.source.path)
        ranks = self._comparison.ranks(documents[: self.options.k])
        return sorted(name for name, rank in ranks.items() if rank) or super().normalised(output)

    def example(self) -> Example | None:
        source, path = self.options.source, steps(self.options.source.path)
        documents = self._best_list()
        if documents is None or any(_is_position(step) for step in path):
            return None
        if source.files:
            return _example_files(source.files, _nested(path, documents))
        if source.tool:
            return Example(tool_calls=(ToolCall(name=source.tool, result=_nested(path, documents)),))
        return Example(fields=_nested(path or ("retrieved",), documents))

    def _best_list(self) -> list[Json] | None:
        """If `k` texts must contain more documents than that, the last one contains all the rest."""
        options, field = self.options, steps(self.options.field)
        names = sorted(options.expected, key=lambda name: -options.expected[name])
        if options.match == "contains" and options.k is not None and options.k < len(names):
            names = [*names[: options.k - 1], "\n".join(names[options.k - 1 :])]
        return None if any(_is_position(step) for step in field) else [_nested(field, name) for name in names]


def places_in_words(ranks: Mapping[str, int | None], retrieved: int, k: int | None) -> list[str]:
    """`expected doc-7 is not among the first 5`, `doc-2 is at rank 3`."""
    last = k if k is not None and k < retrieved else retrieved
    among = f"among the {count(retrieved, 'retrieved document')}"
    if last < retrieved:
        among = f"among the first {last}" if last > 1 else "at rank 1"
    known = sorted((rank, name) for name, rank in ranks.items() if rank)
    missing = [name for name, rank in ranks.items() if rank is None]
    late = [(rank, name) for rank, name in known if rank > last]
    parts = [f"expected {_named(missing)} {'is' if len(missing) == 1 else 'are'} not {among}"] if missing else []
    parts += [f"{_named([name])} is not {among} but at rank {rank}" for rank, name in late[:NAMED]]
    return parts + [f"{_named([name])} is at rank {rank}" for rank, name in known[:NAMED] if rank <= last]


def _named(documents: Iterable[str]) -> str:
    names = [shown(each, LONGEST_NAME)[1:-1] for each in documents]
    if len(names) > NAMED:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def retrieved_documents(transcript: Transcript, source: DocumentSource) -> tuple[Sequence[Json], str]:
    """In the order of their ranks; if there are none, why not."""
    if source.tool:
        return _in_tool_results(transcript.tool_calls, source.tool, source.path)
    if source.files:
        return _in_files(transcript.files, source.files, source.path)
    return _in_answer(transcript.output, source.path)


def _in_answer(output: Json, path: str) -> tuple[Sequence[Json], str]:
    if output is None or output == "":
        return (), "the answer is empty"
    try:
        answer = parsed(output)
    except ValueError:
        answer = None
    if not isinstance(answer, list | tuple | Mapping):
        return (), "the answer is not a list of documents and does not contain one"
    if path:
        found = look_along(answer, steps(path))
        return ((), f"the answer has nothing at {path}") if found is MISSING else (_listed(found), "")
    documents = documents_in(answer)
    if documents is None:
        return (), "none of the usual fields of the answer has the documents; name the field with `from: {path: …}`"
    return documents, ""


def _in_tool_results(calls: Iterable[ToolCall], tool: str, path: str) -> tuple[Sequence[Json], str]:
    """Those of all its calls, one after the other."""
    results = [_read(call.result) for call in calls if call.name == tool]
    if not results:
        return (), f"{tool} was not called"
    found = [look_along(result, steps(path)) for result in results]
    if all(each is MISSING for each in found):
        return (), f"no result of {tool} has anything at {path}"
    return [document for each in found if each is not MISSING for document in _listed(each)], ""


def _in_files(files: Mapping[str, str], glob: str, path: str) -> tuple[Sequence[Json], str]:
    """Those of all files that match, by path; numbers in a path count as numbers."""
    named = {str(PurePosixPath(name)): text for name, text in files.items()}
    matching = sorted((name for name in named if _fits(glob.split("/"), name.split("/"))), key=_by_number)
    documents: list[Json] = []
    for name in matching:
        if cut := PARTLY_KEPT.search(named[name]):
            raise Unscored(f"only part of {name} was kept: {cut[0].strip()}")
        try:
            found = look_along(_in_file(name, named[name]), steps(path))
        except ValueError as error:
            return (), f"{name} is not JSON ({error})"
        if found is MISSING:
            return (), f"{name} has nothing at {path}"
        documents += _listed(found)
    return documents, "" if matching else f"no file matches {glob}"


def _in_file(name: str, text: str) -> Json:
    """What a JSON or JSONL file has; any other file is one document."""
    if name.endswith(".jsonl"):
        return [parsed(line) for line in text.splitlines() if line.strip()]
    return parsed(text) if name.endswith(".json") else {"path": name, "text": text}


def _fits(glob: Sequence[str], path: Sequence[str]) -> bool:
    if not glob:
        return not path
    if glob[0] == "**":
        return _fits(glob[1:], path) or (bool(path) and _fits(glob, path[1:]))
    return bool(path) and fnmatchcase(path[0], glob[0]) and _fits(glob[1:], path[1:])


def _by_number(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d{1,18})", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read(value: Json) -> Json:
    """A text that is a list or an object in JSON, as that; tools often return one."""
    if not isinstance(value, str):
        return value
    try:
        read = parsed(value)
    except ValueError:
        return value
    return read if isinstance(read, list | Mapping) else value


def _listed(value: Json) -> Sequence[Json]:
    """A value without a list of documents is one document."""
    found = documents_in(value)
    if found is not None:
        return found
    return () if value is None or value == "" else (value,)


def _nested(path: Iterable[str], value: Json) -> Json:
    for step in reversed(tuple(path)):
        value = {step: value}
    return value


def _is_position(step: str) -> bool:
    return step.lstrip("-").isdecimal()


def _example_files(glob: str, content: Json) -> Example | None:
    """A file that matches; None if it cannot be JSON, or its name cannot be guessed."""
    name = str(PurePosixPath(*(part for part in glob.split("/") if part != "**"))).replace("*", "1")
    if not name.endswith((".json", ".jsonl")) or re.search(r"[?\[]", name):
        return None
    lines = content if name.endswith(".jsonl") and isinstance(content, list) else [content]
    return Example(files={name: "\n".join(json.dumps(line) for line in lines)})
