"""A toy agent in two versions: the changed one answers faster, and sometimes forgets to carry.

Both are moody, as models are; the trial's seed makes their moods repeatable.
"""

from random import Random


def before(question, context):
    return add(question, Random(context.seed), slips=0.1, forgets=0.0)


def after(question, context):
    return add(question, Random(context.seed + 1), slips=0.1, forgets=0.4)


def add(question, mood, slips, forgets):
    left, right = (int(number) for number in question.split("+"))
    if mood.random() < slips:
        return left + right + 1
    if left % 10 + right % 10 > 9 and mood.random() < forgets:
        return left + right - 10
    return left + right
