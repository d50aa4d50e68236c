"""Lend services: what targets and graders of a run may use, made from the run's options and its suite's config."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path

from evalharness import registry, settings
from evalharness.contracts import JudgeCache, Purse, Services
from evalharness.domain.run import RunOptions
from evalharness.domain.suite import SuiteConfig
from evalharness.engine.offloading import Offloader
from evalharness.llms.opening import OpenModels
from evalharness.llms.posting import DEADLINE_S

DEFAULT_CONCURRENCY = 10
DEFAULT_SANDBOX = "bubblewrap"


def concurrency_of(options: RunOptions, config: SuiteConfig) -> int:
    """The flag, else the suite, else 10; 0 means the number of CPUs."""
    wanted = options.max_concurrency
    if wanted is None:
        wanted = config.max_workers if config.parallel else 1
    return DEFAULT_CONCURRENCY if wanted is None else wanted or os.cpu_count() or 1


def services_for(
    root: Path,
    options: RunOptions,
    config: SuiteConfig,
    *,
    purse: Purse | None = None,
    judge_cache: JudgeCache | None = None,
    model_deadline_s: float = DEADLINE_S,
) -> Services:
    """`options.sandbox` is the one for code that nobody vouches for."""
    concurrency = concurrency_of(options, config)
    environment = settings.environment()
    return Services(
        root=root,
        sandbox=registry.load("sandbox", "none")(),
        in_thread=Offloader(concurrency),
        environment=environment,
        isolation=registry.load("sandbox", options.sandbox)(),
        models=OpenModels(environment, root, concurrency, purse, model_deadline_s),
        judge_model=options.judge_model,
        usual_judge=config.judge_model,
        judge_cache=judge_cache if options.use_cache else None,
    )


async def close_services(services: Services) -> None:
    async with AsyncExitStack() as closing:
        closing.callback(services.in_thread.close)
        closing.push_async_callback(services.sandbox.close)
        if services.models is not None:
            closing.push_async_callback(services.models.close)
        if services.isolation is not None:
            closing.push_async_callback(services.isolation.close)


def told_of_models(services: Services) -> tuple[str, ...]:
    """What a reader of the report must know of the models that were asked."""
    return services.models.notes() if services.models is not None else ()
