"""The process that the command line starts: the only place that changes signals, file descriptors, os.environ, gc,
and who adopts orphaned processes.

While runs are under way, the first Ctrl-C stops them cleanly, every further one at once, and nothing a target does can
prevent it. An async target that blocks (computes, sleeps without awaiting) holds the event loop, and with it everybody.
A timer of the operating system ends that: its signal raises inside the code that blocks.
"""

from __future__ import annotations

import gc
import io
import os
import select
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from evalharness.errors import TargetFailed
from evalharness.settings import Settings, read_dotenv

PATIENCE_S = 2.0
BEAT_S = 0.5
GRACE_S = 10.0
"""How much longer than its time limit a trial may hold the event loop."""
PROGRAM = "eval-harness"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Each stops runs in the same way."""
COLLECT_FROM, COLLECT_FROM_AT_START = 20_000, 200_000
TURN_S = 0.05
IDLE_S = 0.2
"""How long nothing has to be printed before an unfinished line is shown, and a line of progress drawn again."""
PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37


def export_dotenv(folder: Path) -> None:
    """`.env`, where the environment does not say otherwise."""
    for name, value in read_dotenv(folder).items():
        os.environ.setdefault(name, value)


def export(values: Mapping[str, str]) -> None:
    """`--env`, for functions that run inside this process."""
    Settings().with_environment(values)  # what cannot be a variable is refused with a message
    os.environ.update(values)


class SignalGuard:
    """Ends runs by signals. It hears of runs like any watcher, and passes on what it hears."""

    def __init__(self, stop: Any, *, hides_printed: bool = False) -> None:
        self.stop = stop
        self._hides_printed = hides_printed
        self.watcher: Any = None
        self._loop: Any = None
        self._beat: Any = None
        self._longest_s = 0.0

    def begun(self, files: Any, redactor: Any, *, is_unprotected: bool = False) -> None:
        self.watcher.begun(files, redactor, is_unprotected=is_unprotected)

    def preparing(self, found: Any, *, is_passing: bool = False) -> None:
        self.watcher.preparing(found, is_passing=is_passing)

    def run_started(self, run: Any, finished_before: int) -> None:
        self.watcher.run_started(run, finished_before)
        keep_printed(is_hidden=self._hides_printed)  # a progress bar may have put streams of its own there
        limits = [run.suite.timeout_seconds_for(case) for case in run.suite.cases]
        if run.regrade_of or signal.getitimer(signal.ITIMER_REAL)[0] > 0:
            return  # a timer that somebody else has set (a test runner's, say) is left alone
        import asyncio  # here and below: `--help` need not pay for it

        self._loop = asyncio.get_running_loop()
        self._longest_s = max(limits, default=0.0) + GRACE_S
        signal.signal(signal.SIGALRM, self._on_alarm)
        self._set_alarm()

    def trial_finished(self, trial: Any) -> None:
        self.watcher.trial_finished(trial)

    def run_ended(self, run: Any) -> None:
        self.rest()
        self.watcher.run_ended(run)

    def rest(self) -> None:
        """No run is under way any more."""
        if self._loop is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if self._beat is not None:
            self._beat.cancel()
        self._loop = self._beat = None

    def on_signal(self, *_: object) -> None:
        if self.stop.is_sent:
            raise KeyboardInterrupt
        self.stop.send()
        if self._loop is not None:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)  # for a loop that is blocked; a living one sets it again

    def _on_alarm(self, *_: object) -> None:
        if self.stop.is_sent:  # the trial is given up, like all that are under way
            import asyncio

            self.stop.send(at_once=True)
            raise asyncio.CancelledError
        raise TargetFailed("time limit: it blocked the event loop (it never awaited), and with it all other trials")

    def _set_alarm(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self._longest_s)
        self._beat = self._loop.call_later(BEAT_S, self._set_alarm)


class _KeptStream:
    """A stream of this process: what a trial prints on it is kept with the trial, and shown unless `is_hidden`.

    It is shown without what a terminal would obey. Progress bars go back to the start of their line, and may.
    """

    def __init__(
        self, name: str, stream: Any, kept_in: Any, harmless: Callable[[str], str], *, is_hidden: bool
    ) -> None:
        self._name = name
        self._stream = stream
        self._kept_in = kept_in
        self._harmless = harmless
        self._is_hidden = is_hidden

    def write(self, text: str) -> int:
        printed = self._kept_in.get()
        if printed is None:
            return int(self._stream.write(text))
        printed.add(self._name, text, self._pass_on)
        return len(text)

    def _pass_on(self, text: str) -> None:
        if not self._is_hidden:
            self._stream.write("\r".join(map(self._harmless, text.split("\r"))))

    def flush(self) -> None:
        printed = self._kept_in.get()
        if printed is not None:
            printed.flush(self._name)
        self._stream.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self._stream, name)


def keep_printed(*, is_hidden: bool) -> None:
    """Put such streams on top of whatever `sys.stdout` and `sys.stderr` are."""
    from evalharness.domain.printed import PRINTED  # here: `--help` need not pay for it
    from evalharness.reports.wording import harmless

    if not isinstance(sys.stdout, _KeptStream):
        sys.stdout = _KeptStream("stdout", sys.stdout, PRINTED, harmless, is_hidden=is_hidden)
    if not isinstance(sys.stderr, _KeptStream):
        sys.stderr = _KeptStream("stderr", sys.stderr, PRINTED, harmless, is_hidden=is_hidden)


@contextmanager
def _printing_kept(*, is_hidden: bool) -> Iterator[None]:
    former = sys.stdout, sys.stderr
    keep_printed(is_hidden=is_hidden)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = former


@contextmanager
def signals_handled(stop: Any, *, hides_printed: bool = False) -> Iterator[SignalGuard]:
    """While runs are under way. What targets print may be kept without being shown."""
    guard = SignalGuard(stop, hides_printed=hides_printed)
    numbers = [number for number in ENDING if number != signal.SIGHUP or not _outlives_terminal()]
    former = {number: signal.signal(number, guard.on_signal) for number in numbers}
    try:
        with _exits_guarded(), collecting_less(), orphans_adopted(), _printing_kept(is_hidden=hides_printed):
            yield guard
    finally:
        guard.rest()
        for number, handler in former.items():
            signal.signal(number, handler or signal.SIG_DFL)


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """For a server: the first signal asks it to stop, the second ends it."""
    asked = [False]

    def on_signal(*_: object) -> None:
        if asked[0]:
            raise KeyboardInterrupt
        asked[0] = True
        stop()

    former = {number: signal.signal(number, on_signal) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _outlives_terminal() -> bool:
    """Started with `nohup`: a terminal that is closed is no reason to stop."""
    return signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@contextmanager
def _exits_guarded() -> Iterator[None]:
    """`os._exit` in a target would end the harness without a word and with its exit code; in a fork it is as usual."""
    real, owner = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != owner:
            real(status)
        raise SystemExit(status)

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = real


@contextmanager
def orphans_adopted() -> Iterator[None]:
    """What a trial started and left behind becomes a child of this process: so all of it can be found and killed."""
    if sys.platform != "linux":
        yield
        return
    import ctypes  # here: `--help` need not pay for it

    prctl, former = ctypes.CDLL(None).prctl, ctypes.c_int()
    prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(former), 0, 0, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, former.value, 0, 0, 0)


@contextmanager
def collecting_less() -> Iterator[None]:
    """What trials leave behind has no cycles: looking for some after every 700 objects costs a fifth of a quick run."""
    former = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(COLLECT_FROM, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
        gc.unfreeze()


@contextmanager
def without_collecting() -> Iterator[None]:
    """For many small objects that all live to the end: looking for garbage would cost a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def collect_late() -> None:
    """A start makes thousands of modules and classes that live to the end: looking for garbage among them is lost."""
    gc.set_threshold(COLLECT_FROM_AT_START)


def leave_garbage() -> None:
    """The last thing before the process ends, which frees its memory anyway: Python would look through all of it."""
    gc.freeze()


def switch_threads_less() -> None:
    """Longer turns of threads, for where no target is timed: fewer of them cost less."""
    sys.setswitchinterval(TURN_S)


class DivertedOutput:
    """What is written to file descriptors 1 and 2, handed on line by line: so that it can be printed above a line of
    progress instead of into it. Only where both are the terminal: what was sent to a file stays there.
    """

    def __init__(self, show: Callable[[str], None], idle: Callable[[], None]) -> None:
        self._show, self._idle = show, idle
        self._reader: threading.Thread | None = None
        self._ends = threading.Event()
        self._real = self._source = -1

    def start(self) -> None:
        if self._reader is not None or not os.isatty(2):
            return
        self._real = os.dup(2)
        self._source, target = os.pipe()
        os.dup2(target, 1)
        os.dup2(target, 2)
        os.close(target)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def stop(self) -> None:
        """Everything written so far is shown. Processes left behind may still hold the other end: nobody waits."""
        if self._reader is None or self._ends.is_set():
            return
        with suppress(OSError, ValueError):  # a target may have closed what is not its own
            sys.stdout.flush()
            sys.stderr.flush()
        os.dup2(self._real, 1)
        os.dup2(self._real, 2)
        self._ends.set()
        self._reader.join()
        os.close(self._source)
        os.close(self._real)

    def _read(self) -> None:
        rest = b""
        while True:
            is_ending = self._ends.is_set()
            ready, _, _ = select.select([self._source], [], [], 0 if is_ending else IDLE_S)
            read = os.read(self._source, 65536) if ready else b""
            *lines, rest = (rest + read).split(b"\n")
            if not read and rest:  # an unfinished line: somebody may wait for an answer to it
                lines, rest = [rest], b""
            for line in lines:
                self._show(line.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace"))
            if not read and is_ending:
                return
            self._idle()


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """File descriptor 1 points to stderr; the stream given is the real standard output.

    It is given back only when an error has to be shown there. Otherwise it stays reserved to the end of the process:
    a call that was given up, or a C library with a buffer, may still print after the report.
    """
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    stream = os.fdopen(os.dup(real), "w", encoding="utf-8", errors="replace")
    try:
        with ExitStack() as undo:
            undo.callback(_give_back_stdout, real)
            yield _disarmed(stream)
            stream.flush()
            undo.pop_all()
    finally:
        with suppress(OSError):  # what could not be written was reported when it was flushed
            stream.close()
        os.close(real)


def _give_back_stdout(real: int) -> None:
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os.dup2(real, 1)


def open_missing_streams() -> None:
    """Started with `>&-` Python has no sys.stdout, and the next file opened would become file descriptor 1."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def speak_utf8() -> None:
    """Whatever the locale says: our words and people's cases hold characters that an older one cannot write."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


class _Leavable(io.FileIO):
    """Standard output whose reader may leave: what is written after that goes nowhere."""

    def __init__(self) -> None:
        super().__init__(1, "w", closefd=False)

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            close_stdout()
            return super().write(data)


def disarm_workflow_commands() -> None:
    """GitHub Actions acts on what is printed; it does not see what goes into a file."""
    from evalharness.reports.workflow_commands import DisarmedStream  # here: only when it is needed

    for name, number in (("stdout", 1), ("stderr", 2)):
        if not stat.S_ISREG(os.fstat(number).st_mode):
            setattr(sys, name, DisarmedStream(getattr(sys, name)))


class StoppedCommands:
    """Keeps GitHub Actions from obeying anything that is printed meanwhile, also by programs that a target starts: what
    they write does not pass through streams of this process. Nobody can guess the token that ends it.
    """

    def __init__(self) -> None:
        self._token = ""

    def start(self) -> None:
        if not Settings.read().is_github_actions or stat.S_ISREG(os.fstat(2).st_mode):
            return
        import secrets  # here: only when it is needed

        self._token = secrets.token_hex(16)
        self._write(f"::stop-commands::{self._token}\n")

    def stop(self) -> None:
        token, self._token = self._token, ""
        if token:
            self._write(f"\n::{token}::\n")  # somebody may have left an unfinished line

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a target may have closed what is not its own
            sys.stderr.flush()
        with suppress(OSError):
            os.write(2, line.encode())


def _disarmed(stream: TextIO) -> TextIO:
    """A stream of our own, as sys.stdout is."""
    if not Settings.read().is_github_actions or stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    from evalharness.reports.workflow_commands import DisarmedStream

    return cast(TextIO, DisarmedStream(stream))


def close_stdout() -> None:
    """Whoever read our output has left; keep Python from complaining when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def let_readers_leave() -> None:
    """For commands that only print: `| head` ends them without a complaint."""
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Leavable()), "utf-8", "replace")


def end_output() -> None:
    """Whatever a target still has to say is not part of our output."""
    os.dup2(2, 1)
