"""The parts of a run, built from its specification: services and target once, each case with its graders when its
turn comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalharness import registry
from evalharness.contracts.budget import Budget
from evalharness.contracts.containers import Containers
from evalharness.contracts.exchange import Exchanges
from evalharness.contracts.executor import RunSpec
from evalharness.contracts.gateway import Gateway
from evalharness.contracts.model import Embedder, Llm, Models, Relay
from evalharness.contracts.sandbox import NO_OWNER, Owner, Sandbox, SandboxSession
from evalharness.contracts.servers import Servers
from evalharness.contracts.services import Services
from evalharness.contracts.store import JudgeCache
from evalharness.contracts.target import Target
from evalharness.domain.finding import Finding
from evalharness.domain.run import ContainerOptions, RunOptions
from evalharness.domain.specification import BUILT_IN, TargetSpec
from evalharness.domain.suite import GatewayOptions, SuiteConfig
from evalharness.engine.planning.planned_cases import PlannedCase, PlannedCases, filled_target
from evalharness.engine.running.attempt import open_target
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import Hint, InvalidFile, UsageError
from evalharness.user_modules import UserModules

DEFAULT_CONCURRENCY = 10


def concurrency_of(options: RunOptions, config: SuiteConfig) -> int:
    """The flag, else the suite, else 10; 0 means the number of CPUs."""
    wanted = options.max_concurrency
    if wanted is None:
        wanted = config.max_workers if config.parallel else 1
    return DEFAULT_CONCURRENCY if wanted is None else wanted or os.cpu_count() or 1


def build_services(
    spec: RunSpec,
    budget: Budget | None = None,
    judge_cache: JudgeCache | None = None,
    modules: UserModules | None = None,
    servers: Servers | None = None,
    **model_options: Any,
) -> Services:
    """What targets and graders of a run may use. `model_options` are those of `llms/pool.py`.

    `modules` and `servers` are those of other runs of the same call, which are closed together.
    """
    concurrency = concurrency_of(spec.options, spec.suite.config)
    environment = dict(spec.environment)
    options = spec.options
    exchanges = Exchanges()
    models: Models = _ModelsOnDemand(
        spec.root,
        lambda: registry.load("models", "open")(environment, spec.root, concurrency, budget, **model_options),
    )
    if spec.taping.mode != "live":
        models = registry.load("exchanges", "models")(models, exchanges, spec.taping)
    return Services(
        root=spec.root,
        sandbox=_SandboxOnDemand("none", options.containers),
        in_thread=Offloader(concurrency),
        environment=environment,
        isolation=_sandbox(options),
        models=models,
        judge_model=spec.options.judge_model,
        usual_judge=spec.suite.config.judge_model,
        judge_cache=judge_cache if spec.options.use_cache else None,
        modules=modules or UserModules(),
        servers=servers or Servers(),
        exchanges=exchanges,
        gateway=_gateway(spec, models),
        containers=_ContainersOnDemand(options.containers, min(concurrency, len(spec.suite.cases) * spec.suite.trials)),
        given=tuple(options.env),
    )


def _gateway(spec: RunSpec, models: Models) -> Gateway | None:
    if spec.target is None:
        return None
    is_wanted = spec.options.gateway or registry.load("target", spec.target.kind).wants_gateway(spec.target)
    options = spec.suite.gateway or (GatewayOptions() if is_wanted else None)
    if options is None:
        return None
    made: Gateway = registry.load("exchanges", "gateway")(options, models, keeps_pace=spec.options.keeps_pace)
    return made


# Most runs ask no model and run nothing in a sandbox: these are built, and their modules imported, for those that do.


def _sandbox(options: RunOptions) -> Sandbox:
    """Plug-ins are built at once, so that one that cannot be used is reported before anything runs."""
    is_built_in = options.sandbox in registry.BUILT_IN["sandbox"]
    found = _SandboxOnDemand(options.sandbox, options.containers)
    return found if is_built_in else registry.build_sandbox(options.sandbox)


class _ContainersOnDemand:
    def __init__(self, options: ContainerOptions, at_once: int) -> None:
        self._options = options
        self.at_once = at_once
        self.hear: Callable[..., None] = lambda _found, *, is_passing=False: None  # noqa: ARG005 - until somebody does
        self.built: Containers | None = None

    def __call__(self) -> Containers:
        if self.built is None:
            self.built = registry.load("containers", "command line")(self._options)
        return self.built


class _SandboxOnDemand(Sandbox):
    def __init__(self, name: str, containers: ContainerOptions) -> None:
        self._name = name
        self._containers = containers
        self._built: Sandbox | None = None

    @property
    def _sandbox(self) -> Sandbox:
        if self._built is None:
            takes_containers = "containers" in registry.load("sandbox", self._name).Options.model_fields
            options = {"containers": self._containers.model_dump(mode="json")} if takes_containers else None
            self._built = registry.build_sandbox(self._name, options)
        return self._built

    async def open(self) -> None:
        await self._sandbox.open()

    def session(self, workspace: str, owner: Owner = NO_OWNER) -> AbstractAsyncContextManager[SandboxSession]:
        return self._sandbox.session(workspace, owner)

    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:
        if self._built is not None:
            await self._built.reap(store_id, is_abandoned)

    def notes(self) -> tuple[Finding, ...]:
        return self._built.notes() if self._built is not None else ()

    async def close(self) -> None:
        if self._built is not None:
            await self._built.close()


class _ModelsOnDemand:
    def __init__(self, root: Path, build: Callable[[], Models]) -> None:
        self.root = root
        self._build = build
        self._built: Models | None = None

    @property
    def _models(self) -> Models:
        if self._built is None:
            self._built = self._build()
        return self._built

    def llm(self, name: str) -> Llm:
        return self._models.llm(name)

    def embedder(self, name: str) -> Embedder:
        return self._models.embedder(name)

    def relay(self, name: str) -> Relay:
        return self._models.relay(name)

    def price_known(self, name: str) -> bool:
        return self._models.price_known(name)

    def notes(self) -> tuple[Finding, ...]:
        return self._built.notes() if self._built is not None else ()

    def trouble(self) -> str:
        return self._built.trouble() if self._built is not None else ""

    async def close(self) -> None:
        if self._built is not None:
            await self._built.close()


async def close_services(services: Services) -> None:
    async with AsyncExitStack() as closing:
        closing.callback(services.modules.close)
        closing.callback(services.in_thread.close)
        closing.push_async_callback(services.sandbox.close)
        if services.gateway is not None:
            closing.push_async_callback(services.gateway.close)
        if services.models is not None:
            closing.push_async_callback(services.models.close)
        if services.isolation is not None:
            closing.push_async_callback(services.isolation.close)
        if services.containers is not None and services.containers.built is not None:
            closing.push_async_callback(services.containers.built.close)


@dataclass(slots=True)
class Needs:
    """What the cases of a run ask to be opened before the first trial."""

    is_target_asked: bool = False
    """The run's target; those that cases have of their own always are."""
    sandbox: bool = False
    judges: dict[str, None] = field(default_factory=dict)
    embedders: dict[str, None] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)
    """Those of graders that look at what is left of a target's container."""

    def add(self, plan: PlannedCase, target: Target | None) -> None:
        self.is_target_asked = self.is_target_asked or plan.target is None
        if plan.skip:
            return
        if target is not None:
            target.expect(plan.case)
        if target is not None and not (target.has_own_machine or target.spec.kind in BUILT_IN):
            for spec, grader in plan.graders:
                if grader.needs_end_state:
                    raise UsageError(
                        f"case {plan.case.id}: {spec.label} looks at what is left of a container, and the target "
                        f"{target.spec.label} answers in none",
                        hint="use a target that answers in a container: container or docker-agent",
                    )
        self.sandbox = self.sandbox or bool(plan.case.setup and not (target and target.has_own_machine))
        for _, grader in plan.graders:
            self.sandbox = self.sandbox or grader.needs_sandbox
            for judge in grader.judges():
                self.judges[judge] = None
            for embedder in grader.embedders():
                self.embedders[embedder] = None
            for image in grader.images() if target is not None and target.has_own_machine else ():
                self.images[image] = None


@dataclass(slots=True)
class Parts:
    services: Services
    target: Target | None
    """None where stored answers are only graded."""
    label: str
    """What the target is called."""
    cases: PlannedCases
    concurrency: int
    is_replay: bool = False
    _needs: Needs | None = None
    _graders_images: dict[str, str] = field(default_factory=dict)

    def target_of(self, planned: PlannedCase) -> Target:
        target = planned.target.target if planned.target else self.target
        assert target is not None, "asked for where answers are wanted"
        return target

    def each_case(self) -> Iterator[PlannedCase]:
        """One after the other, none of them kept; after the last it is known what to open for them."""
        needs = Needs()
        for plan in self.cases.in_turn():
            needs.add(plan, plan.target.target if plan.target else self.target)
            yield plan
        self._needs = needs

    def unpinned(self) -> tuple[str, ...]:
        """Known once each case has been looked at."""
        judges = () if self._needs is None else (*self._needs.judges, *self._needs.embedders)
        named = [*(f"model {name}" for name in judges), *(w for _, target in self._targets for w in target.unpinned())]
        gateway = self.services.gateway
        if gateway is not None and any(target.uses_gateway for _, target in self._targets):
            named += gateway.unpinned()
        return tuple(sorted(set(named)))

    @property
    def _targets(self) -> list[tuple[str, Target]]:
        """Every target that some case will be tried on, each once, with its label."""
        own = [(own.spec.label, own.target) for own in self.cases.own_targets.values()]
        is_asked = self._needs is not None and self._needs.is_target_asked
        return [(self.label, self.target), *own] if self.target is not None and is_asked else own

    async def open(self, budget: Budget) -> None:
        """What cannot work is reported before any target has answered, and before anything is paid for."""
        if self._needs is None:
            for _ in self.each_case():
                pass
        needs = self._needs
        assert needs is not None, "every case was looked at"
        if self.target is not None and needs.sandbox:
            await self.services.isolated().open()
        targets = self._targets
        asked = dict.fromkeys(name for _, target in targets for name in target.models())
        if not self.is_replay:  # nothing is sent, so nothing need be known of whom it would go to
            await check_models(self.services, budget, needs, list(asked))
        for label, target in targets:
            if target.records_calls or target.uses_gateway or not self.is_replay:  # others are not executed
                await open_target(target, label)
        if not self.is_replay:
            containers = self.services.container_runtime
            self._graders_images = {image: await containers().image_id(image) for image in needs.images}

    def images(self) -> dict[str, str]:
        """The digests of the container images that targets and graders run in, by name; known once they are open."""
        found = {name: digest for _, target in self._targets for name, digest in target.images().items()}
        return {**self._graders_images, **found}

    def heard_by(self, hear: Callable[..., None]) -> None:
        """`hear` gets what takes long before the first trial, or is to be shown before it."""
        if self.services.containers is not None:
            self.services.containers.hear = hear

    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:
        """Remove what machines that died left behind, of the kinds of things that this run uses."""
        for part in self._outliving:
            await part.reap(store_id, is_abandoned)

    def notes(self) -> tuple[Finding, ...]:
        return tuple(note for part in self._outliving for note in part.notes())

    @property
    def _outliving(self) -> list[Sandbox | Containers]:
        """What starts things that are no processes of this one."""
        containers = self.services.containers
        found = (self.services.isolation, containers.built if containers is not None else None)
        return [part for part in found if part is not None]

    async def close(self) -> None:
        """Everything is closed, whatever a target's own closing does; what it raised is passed on at the end."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(close_services, self.services)
            for _, target in self._targets:
                closing.push_async_callback(target.close)

    async def close_quietly(self) -> None:
        """After something else went wrong, which is what counts."""
        with suppress(Exception):
            await self.close()


def build_parts(
    spec: RunSpec,
    budget: Budget,
    judge_cache: JudgeCache | None = None,
    *,
    modules: UserModules | None = None,
    servers: Servers | None = None,
    where: str = "",
) -> Parts:
    """Raises what a target or a grader of the suite that cannot be built raises. `where`: what names the target.

    The parts of cases are built when they are asked for.
    """
    services = build_services(spec, budget, judge_cache, modules, servers)
    target = None if spec.target is None else filled_target(spec.target, spec.suite, spec.values)
    built = None if target is None else _built_target(target, services, where)
    cases = PlannedCases(spec.suite, spec.values, services, target=target, grader_type=spec.options.grader_type)
    label = "" if spec.target is None else spec.target.label
    concurrency = concurrency_of(spec.options, spec.suite.config)
    return Parts(services, built, label, cases, concurrency, spec.taping.is_replay)


def _built_target(spec: TargetSpec, services: Services, where: str) -> Target:
    try:
        return registry.build_target(spec, services)
    except InvalidFile:  # says where each problem is
        raise
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}" if where else error.message, hint=error.hint) from error


async def check_models(services: Services, budget: Budget, needs: Needs, asked: Sequence[str]) -> None:
    """That every model a run will ask exists, can be paid for and, if it judges, knows how to judge.

    Before the first trial, so that a wrong key or a mistyped name costs seconds and nothing else. `asked` are those of
    targets.
    """
    for name in asked:
        services.llm(name)
    for name in needs.embedders:
        services.embedder(name)
    await check_judges(services, budget, needs.judges, (*asked, *needs.embedders))


async def check_judges(services: Services, budget: Budget, judges: Iterable[str], others: Sequence[str] = ()) -> None:
    """Of `others` only the price is checked. Raises what trying out a judge raises."""
    llms = [_opened_judge(services, name) for name in judges]
    if budget.max_cost_usd is not None and services.models is not None:
        every = dict.fromkeys((*others, *(llm.name for llm in llms)))
        unpriced = [name for name in every if not services.models.price_known(name)]
        if unpriced:
            raise UsageError(
                f"the price of {', '.join(unpriced)} is not known, so a cap in dollars cannot be enforced",
                hint=Hint("hint.price_file"),
            )
    if llms and not budget.is_used_up:  # else nobody will be asked anything, and the report says why
        try_judge: Callable[..., Any] = registry.load("models", "try_judge")
        for llm in llms:
            budget.add_check(await try_judge(llm))


def _opened_judge(services: Services, name: str) -> Llm:
    """One without a key can be replaced, or left out for now."""
    try:
        return services.llm(name)
    except InvalidFile:
        raise
    except UsageError as error:
        raise UsageError(error.message, hint=Hint("hint.other_judge", first=error.plain_hint)) from error
