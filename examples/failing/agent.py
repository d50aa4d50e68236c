"""A toy agent with two faults: a wrong fact, and an answer that depends on luck."""

import random


def answer(question, context):
    if "Australia" in question:
        return "Sydney"
    if "Peru" in question:
        return "Lima" if random.Random(context.seed).random() < 0.6 else "Cusco"
    return "Paris"
