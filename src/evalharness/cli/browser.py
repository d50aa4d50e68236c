"""Opens a page in the browser of whoever runs a command."""

from __future__ import annotations

import sys
import threading
import webbrowser


def open_page(address: str) -> None:
    """An address that cannot be opened is no fault of what was run: it is a line on standard error."""
    if not webbrowser.open(address):
        print("warning: no browser could be opened; open the address yourself", file=sys.stderr)


def open_page_meanwhile(address: str) -> None:
    """Some browsers return only when they are closed."""
    threading.Thread(target=open_page, args=(address,), daemon=True).start()
