"""What targets that talk to a language model share: which one, with which system prompt, sampled how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from evalharness.contracts.model import Llm
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.domain.case import as_text
from evalharness.domain.language_model import ChatMessage, ChatRequest, Temperature, Tool, split_name
from evalharness.domain.options import Options, Whole
from evalharness.domain.specification import TargetSpec
from evalharness.targets.templates import fill_template
from evalharness.values.digest import digest, digest_file
from evalharness.workspaces import model_file


class ModelOptions(Options):
    """`seed: true` hands on the trial's own."""

    main: ClassVar[str] = "model"

    model: Annotated[str, Field(min_length=1)]
    system: str = ""
    temperature: Temperature | None = None
    max_tokens: Annotated[Whole, Field(ge=1)] | None = None
    seed: bool | int = False

    @field_validator("model")
    @classmethod
    def _names_a_model(cls, name: str) -> str:
        if "{{" not in name and split_name(name) is None:
            raise ValueError(f"'{name}' names no model: write provider/model, as in openai/gpt-4o")
        return name

    def request(self, task: Task, tools: Iterable[Tool] = ()) -> ChatRequest:
        """What stays the same throughout a dialogue."""
        system = self._system(task)
        return ChatRequest(
            messages=(ChatMessage(role="system", content=system),) if system else (),
            tools=tuple(tools),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=task.seed if self.seed is True else None if self.seed is False else self.seed,
        )

    def _system(self, task: Task) -> str:
        """What the case says beside its question is reported, wherever the prompt does not say where."""
        filled = fill_template(self.system, task)
        if task.case.context is None or "{context" in self.system:
            return filled
        return f"{filled}\n\nContext: {as_text(task.case.context)}".strip()


class ModelPart(Target):
    keeps_time_limit = True
    is_metered: ClassVar[bool] = True
    options: Any

    def __init__(self, options: Any, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._llm: Llm | None = None

    @property
    def llm(self) -> Llm:
        assert self._llm is not None, "open() comes first"
        return self._llm

    def models(self) -> tuple[str, ...]:
        """The names of the models it will ask, known before it is opened."""
        return (self.options.model,)

    def digest(self) -> str:
        """A model that is named by a file answers differently when the file does."""
        models = self.services.models
        file = model_file(self.options.model.partition("/")[2], models.root if models else self.services.root)
        try:
            content = digest_file(file) if file else None
        except OSError:  # opening the model says so
            content = None
        return digest([super().digest(), content])

    async def open(self) -> None:
        """Raises UsageError for a model that nobody knows, or that lacks a key."""
        self._llm = self.services.llm(self.options.model)
