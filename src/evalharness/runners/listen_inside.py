"""Started inside the network of a sandbox: listens on its loopback and hands the listening socket to the harness.

Arguments: the port, and the descriptor of the channel that the socket is sent through.
"""

from __future__ import annotations

import errno
import socket
import sys
import time

LONGEST_WAIT_S = 5.0
PAUSE_S = 0.005
WAITING = 128


def main() -> None:
    port, channel = int(sys.argv[1]), int(sys.argv[2])
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    deadline_s = time.monotonic() + LONGEST_WAIT_S
    while True:
        try:
            listening.bind(("127.0.0.1", port))
            break
        except OSError as error:  # the loopback of a new network is not up at once
            if error.errno != errno.EADDRNOTAVAIL or time.monotonic() > deadline_s:
                raise
            time.sleep(PAUSE_S)
    listening.listen(WAITING)
    with socket.socket(fileno=channel) as line:
        socket.send_fds(line, [b"x"], [listening.fileno()])


if __name__ == "__main__":
    main()
