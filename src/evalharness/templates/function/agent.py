"""A toy agent. Replace `answer` with a call of your own: it gets a case's input and returns the answer."""


def answer(question):
    if isinstance(question, dict):
        return sum(question["add"])
    name = question.removeprefix("Say hello").removeprefix(" to ").strip()
    return f"Hello, {name}!" if name else "Hello!"
