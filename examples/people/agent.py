"""A support agent that knows two letters by heart."""


def answer(text: str) -> str:
    if "money" in text:
        return "Dear customer, your refund is on its way. Reply to this mail if it is not there on Friday. ACME Bot"
    return "Dear customer, please buy another lamp. ACME Bot"
