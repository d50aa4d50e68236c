"""A toy agent: the function that the quick start evaluates."""


def answer(question):
    if isinstance(question, dict):
        return sum(question["add"])
    name = question.removeprefix("Say hello").removeprefix(" to ").strip()
    return f"Hello, {name}!" if name else "Hello!"
