"""A toy agent. Replace `answer` with a call of your own."""


def answer(question):
    return "I am sorry to hear that. Shall I send you a new one?"
