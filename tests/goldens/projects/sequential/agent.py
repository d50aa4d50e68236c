"""Toy agents for the suites beside them. Their answers and the time they took depend on the trial's seed alone."""

import time
from pathlib import Path
from random import Random

from evalharness import Answer, TargetUnavailable

CAPITALS = {"France": "Paris", "Peru": "Lima", "Japan": "Tokyo", "Kenya": "Nairobi", "Chile": "Santiago"}


def take(seconds):
    """Where the stopwatch stands still (see steady/sitecustomize.py), it is moved by hand."""
    advance = getattr(time.perf_counter, "advance", time.sleep)
    advance(seconds)


def sure(country, context):
    take(0.002 + Random(context.seed).random() / 1000)
    return CAPITALS[country]


def moody(country, context):
    mood = Random(context.seed).random()
    take(0.002 + mood / 500)
    return CAPITALS[country] if mood < {"France": 2.0, "Peru": 0.7, "Japan": 0.4}.get(country, 0.9) else "Atlantis"


def priced(country, context):
    output = CAPITALS[country]
    usage = {"input_tokens": 10 + len(country), "output_tokens": len(output)}
    return Answer(output=output, cost_usd=len(output) / 1000, usage=usage)


def unreachable(country, context):
    """The line to two countries is down; in one of them now and then."""
    if country == "Peru" or (country == "Japan" and context.index == 1):
        raise TargetUnavailable(f"no line to {country}")
    return CAPITALS[country]


def crashing(country):
    if country == "Japan":
        raise ValueError("I have never been there")
    return CAPITALS[country]


def held(country):
    """Waits where a file `hold` lies beside it, so that a run can be interrupted."""
    while country == "Chile" and Path("hold").exists():
        time.sleep(0.01)
    return CAPITALS[country]


def remark(text):
    return text


def workflow(asked):
    order = asked["order"] if asked else "nothing"
    return {
        "runId": "run-1",
        "snapshot": {
            "status": "complete",
            "outputs": {"oven": {"text": f"golden: {order}"}, "primaryOutput": f"golden: {order}"},
        },
        "events": [
            {"type": "node:start", "nodeId": "oven"},
            {
                "type": "agent:complete",
                "nodeId": "oven",
                "durationMs": 1500,
                "totalCostUsd": 0.25,
                "usage": {"inputTokens": 500, "outputTokens": 200},
            },
        ],
    }
