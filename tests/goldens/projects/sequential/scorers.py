"""A grader and a scorer of one's own."""


def is_capitalised(context):
    return context.text[:1].isupper()


def short(artifact):
    return 0.25
