"""A toy agent."""


def answer(question):
    return "4"


def other(question):
    return "5"
