"""A toy program. Any language will do: read the question on standard input, print the answer."""

import re
import sys

question = sys.stdin.read()
found = re.search(r"(\d+) \+ (\d+)", question)
if found is None:
    print(f"cannot read: {question.strip()}")
    sys.exit(1)
print(int(found[1]) + int(found[2]))
