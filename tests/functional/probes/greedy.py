"""A target that uses too much of the resource that its question names. Outside a sandbox it does nothing."""

import os
import sys
import time
from pathlib import Path


def fork():
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)  # hundreds of busy processes would starve the process that counts them


def memory():
    held = []
    while True:
        held.append(bytearray(1_000_000))


def disk():
    for number in range(1_000_000):
        Path(f"file-{number}").write_bytes(bytes(1_000_000))


def flood():
    while True:
        os.write(1, bytes(1_000_000))


def time_limit():
    time.sleep(600)


def main():
    is_inside = os.uname().nodename == "sandbox" and Path("/proc/1/comm").read_text() == "bwrap\n"
    asked = sys.stdin.read()
    wish = {"fork": fork, "memory": memory, "disk": disk, "flood": flood, "time": time_limit}.get(asked)
    if wish is not None and not is_inside:
        sys.exit("refused: this is not the inside of a sandbox")
    if wish is not None:
        wish()
    time.sleep(0.5)
    print("good", asked)


main()
