"""A grader of one's own."""


def has_ada(context, wanted="Ada"):
    return isinstance(context.output, str) and wanted in context.output
