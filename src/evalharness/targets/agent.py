"""agent: a language model with tools in the trial's workspace, called in a loop until it answers.

Files are reached through tools that cannot leave the workspace; programs run in the sandbox for untrusted code.
A tool's error goes back to the model, which may do better; it is not an error of the trial.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from evalharness.contracts.exchange import Call
from evalharness.contracts.model import ChatReply, ToolRequest
from evalharness.contracts.services import Services
from evalharness.contracts.target import Task
from evalharness.domain.case import Seconds
from evalharness.domain.options import Options, Whole
from evalharness.domain.plain_numbers import count
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.errors import ImportFailed, TargetUnavailable, UsageError
from evalharness.references import code_of
from evalharness.targets.agent_tools import BUILT_IN, SHELL, AgentTools, named_tools
from evalharness.targets.dialogue import Dialogue, ModelOptions, ModelPart
from evalharness.targets.sandbox_options import WrittenLimits
from evalharness.targets.workspace_tools import ToolContext
from evalharness.values.digest import digest

MOST_CALLS_AT_ONCE = 50
SYSTEM = (
    "You work on a task in a folder of your own, with the tools you are given. Paths are relative to that folder. "
    "Look at what is there before you change it. When the task is done, answer in plain text: that ends the task."
)


class AgentOptions(ModelOptions):
    """`tools` are names of the harness's own and references to functions; all of the harness's own, unless said."""

    system: str = SYSTEM
    tools: tuple[str, ...] | None = None
    max_rounds: Annotated[Whole, Field(ge=0)] = 20
    shell_timeout_seconds: Seconds = 60.0
    max_result_chars: Annotated[Whole, Field(ge=1000, le=1_000_000)] = 20_000
    limits: WrittenLimits = WrittenLimits()

    @field_validator("tools")
    @classmethod
    def _are_tools(cls, tools: tuple[str, ...] | None) -> tuple[str, ...] | None:
        try:
            named_tools(tools or ())
        except UsageError as error:
            raise ValueError(f"{error.message} {error.plain_hint}".strip()) from None
        return tools


class AgentTarget(ModelPart):
    Options: ClassVar[type[Options]] = AgentOptions
    options: AgentOptions

    def __init__(self, options: AgentOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._named = named_tools(_written_tools(options, spec))
        self._tools: AgentTools | None = None

    @classmethod
    def declared_tools(cls, options: Any, spec: TargetSpec) -> tuple[str, ...] | None:
        return tuple(named_tools(_written_tools(options, spec)))

    def digest(self) -> str:
        references = [entry for name, entry in self._named.items() if entry != name]
        return digest([super().digest(), [code_of(None, entry, self.services.root) for entry in references]])

    async def open(self) -> None:
        await super().open()
        try:
            self._tools = AgentTools(self._named, self.services)
        except ImportFailed as error:
            raise TargetUnavailable(f"a tool cannot be imported: {error.message}", hint=error.hint) from error
        if SHELL in self._named:
            await self.services.isolated().open()

    async def answer(self, task: Task) -> Transcript:
        assert self._tools is not None, "call open() first"
        most = self.options.max_rounds if task.case.max_rounds is None else task.case.max_rounds
        context = self._context(task)
        rounds = 0
        dialogue = Dialogue(self.llm, self.options.request(task, self._tools.described))
        async with dialogue.of(task) as turns:
            for turn in turns:
                dialogue.say(*turn)
                while (reply := await dialogue.reply()).tool_requests:
                    if rounds == most:
                        raise dialogue.failed(f"no answer within {count(most, 'round')} of tool calls")
                    rounds += 1
                    await self._call(self._tools, reply, dialogue, context)
        return dialogue.transcript()

    async def _call(self, tools: AgentTools, reply: ChatReply, dialogue: Dialogue, context: ToolContext) -> None:
        """One after the other, as they were asked for: the second may need what the first has done."""
        for number, request in enumerate(reply.tool_requests):
            if reply.finish_reason == "length":  # its arguments may be halves that look whole
                call = ToolCall(name=request.name, error="not run: the reply was cut off by max_tokens")
            elif number < MOST_CALLS_AT_ONCE:
                call = await self._passed_on(tools, request, context)
            else:
                call = ToolCall(name=request.name, error=f"not called: at most {MOST_CALLS_AT_ONCE} calls at once")
            dialogue.call(request.id, call)

    async def _passed_on(self, tools: AgentTools, request: ToolRequest, context: ToolContext) -> ToolCall:
        """The harness's own tools run again in a replay: what they do to the workspace is graded. Users' do not."""
        return await self.services.exchanges.pass_on(
            Call(
                "tool",
                request=lambda: {"name": request.name, "arguments": request.arguments},
                send=lambda: tools.call(request, context),
                write=lambda call: call.model_dump(mode="json", exclude_defaults=True),
                read=ToolCall.model_validate,
                node=f"tool.{request.name}",
                is_repeated=not tools.is_of_user(request.name),
            )
        )

    def _context(self, task: Task) -> ToolContext:
        return ToolContext(
            task,
            self.services,
            longest_result=self.options.max_result_chars,
            shell_timeout_s=self.options.shell_timeout_seconds,
            limits=self.options.limits.as_limits(),
        )


def _written_tools(options: AgentOptions, spec: TargetSpec) -> tuple[str, ...]:
    """`tools:` beside the agent says which tools it has as well as `tools:` among its options does."""
    if options.tools is not None:
        return options.tools
    return spec.tools if spec.tools is not None else tuple(BUILT_IN)
