"""Where commands read and write: standard output has the answer and nothing else;
errors, notes and bars go to standard error."""

from __future__ import annotations

import atexit
import errno
import io
import json
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO, Any, BinaryIO, NoReturn, TextIO, cast

import typer
from tqdm import tqdm
from typer.core import TyperGroup

from ..formats.texts import Fault, clean

# Modules, each with the command of its name, in the order of the help.
COMMANDS = (
    "adapt calibrate check compare convert errors explain guarantee init onnx parse "
    "prune select suspicious tune weights gazetteer"
).split()
# Exit codes; typer, too, exits with FAILED if a command line is wrong.
DONE = 0
FAULTY = 1  # done, but the data have faults
FAILED = 2  # could not run
STOPPED = 130  # by Ctrl-C: 128 + SIGINT, as of other programs
TERMINATED = 143  # by SIGTERM: 128 + SIGTERM
UNREAD = 141  # nobody reads standard output any more: 128 + SIGPIPE
# Names of files need not be UTF-8: \udcff for a byte, which JSON, too, can have.
ESCAPED = "backslashreplace"
# At most this many faults are shown; the rest is counted.
MAX_SHOWN = 20
# The longest line of a file.
MAX_CHARS = 1_000_000


class CommandGroup(TyperGroup):
    """Commands that are imported when asked for, and end with the codes above."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._import(COMMANDS)
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:  # all others may be suggested
            self._import([cmd_name] if cmd_name in COMMANDS else COMMANDS)
        return super().get_command(ctx, cmd_name)

    def _import(self, names: Sequence[str]) -> None:
        from . import hosemi_cli  # which takes commands, and is made of this class

        for name in names:
            import_module(f"{__package__}.{name}")
        self.commands.update(typer.main.get_group(hosemi_cli).commands)

    def invoke(self, ctx: Any) -> Any:
        _write_utf8()
        try:
            with _warnings_for_people(), _ending_when_told():
                result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except BrokenPipeError:
            _forget_output()
            raise SystemExit(UNREAD) from None
        except KeyboardInterrupt:
            say("Stopped.")
            raise SystemExit(STOPPED) from None
        except Exception as e:
            _end(e)


@contextmanager
def _warnings_for_people() -> Iterator[None]:
    """Shows warnings with a code, ours and spaCy's, without their place in the code."""
    format_warning = warnings.formatwarning

    def shown(message: Warning | str, *where: Any, **more: Any) -> str:
        if re.match(r"\[(HS)?W\d+\]", str(message)):
            return f"Warning: {clean(str(message))}\n"
        return format_warning(message, *where, **more)

    warnings.formatwarning = shown
    try:
        yield
    finally:
        warnings.formatwarning = format_warning


@contextmanager
def _ending_when_told() -> Iterator[None]:
    """Ends by SIGTERM as by an error, where it is not ignored and not in a thread."""
    before = signal.getsignal(signal.SIGTERM)
    with suppress(ValueError):
        if before == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        with suppress(ValueError, TypeError):  # TypeError: it was not set by Python
            signal.signal(signal.SIGTERM, before)


class ClosedOutput(io.TextIOBase):
    """Stands for standard output that was closed when Python began."""

    def write(self, text: str) -> int:
        raise OSError("Cannot write to standard output. It is closed.")


def _end(error: Exception) -> NoReturn:
    """Exits after an error that the command did not expect."""
    if hasattr(error, "exit_code") or isinstance(error, typer.Abort):
        raise error  # typer knows what to do
    if isinstance(error, OSError):
        _forget_output()  # it may be what failed: Python would try again at its end
    if isinstance(error, OSError) or str(error).startswith("[HS"):
        fail(str(error))
    traceback.print_exception(error)
    raise SystemExit(FAILED)


def _write_utf8() -> None:
    """Makes files and other programs get UTF-8, whatever the platform's encoding is."""
    if sys.stdout is None:  # Python would print to nowhere
        sys.stdout = ClosedOutput()
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        encoding = None if is_terminal(out) else "utf8"
        out.reconfigure(encoding=encoding, errors=ESCAPED)


def _forget_output() -> None:
    """Sends the rest to nowhere: Python flushes standard output when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(title: str, text: str = "") -> NoReturn:
    """Says on standard error why a command cannot run, and exits with 2."""
    error = typer.style("Error:", fg="red", bold=True)
    end = f". {text}" if text else ""
    title = title.rstrip(".") if text else title
    message = clean(title + end, keep="\n")
    _echo(f"{error} {message}")
    raise SystemExit(FAILED)


@contextmanager
def failing(title: str) -> Iterator[None]:
    """Exits with a title and the message of a ValueError, if there is one."""
    try:
        yield
    except ValueError as e:
        fail(title, str(e))


def say(text: str) -> None:
    """Writes a note on standard error."""
    _echo(clean(text, keep="\n"))


def _echo(text: str) -> None:
    """Writes to standard error, with colours on a terminal."""
    with suppress(OSError):
        typer.echo(text, err=True, color=colour())


def colour() -> bool | None:
    """Returns whether to write colours; None: on a terminal alone."""
    return False if os.environ.get("NO_COLOR") else None


def is_terminal(stream: IO[Any] | None = None) -> bool:
    """Returns whether a person reads a stream, by default standard error."""
    stream = sys.stderr if stream is None else stream
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def with_progress(
    stream: Iterable[Any], total: int | None, unit: str = " docs"
) -> Iterable[Any]:
    """Yields the items of a stream, with a bar if standard error is a terminal."""
    # disable=None: shown on a terminal only.
    return tqdm(stream, total=total, unit=unit, leave=False, disable=None)


class FaultLog:
    """Shows the first twenty faults on standard error, writes all of them to a file, if
    there is one, as lines {"path", "line", "message"}, and counts them as `n`."""

    def __init__(self, file: TextIO | None) -> None:
        self.file, self.n = file, 0

    def add(self, fault: Fault) -> None:
        """Shows or counts a fault, and writes it to the file."""
        self.n += 1
        if self.n <= MAX_SHOWN:
            say(clean(str(fault)))
        if self.file is not None:
            self.file.write(json.dumps(vars(fault), ensure_ascii=False) + "\n")


@contextmanager
def log_faults(path: str | Path | None, overwrite: bool = True) -> Iterator[FaultLog]:
    """Opens a log for faults; says in the end how many were not shown."""
    with open_output(path, overwrite) if path is not None else nullcontext() as file:
        log = FaultLog(cast(TextIO | None, file))
        yield log
    if log.n > MAX_SHOWN:
        say(f"... and {log.n - MAX_SHOWN:,} more")
    if log.n and path is not None:
        say(f"All {log.n:,} faults: {path}")


def is_file(path: str | Path) -> bool:
    """Returns whether there is such a file, or named pipe, which is read only once."""
    try:
        return Path(path).is_file() or Path(path).is_fifo()
    except (OSError, ValueError):  # too long, or a character that no name has
        return False


@contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Opens the bytes of a file, or of standard input for "-"; exits if that fails.

    Bytes, not text: readers find encodings and byte order marks.
    """
    if str(path) != "-":
        try:
            file = Path(path).open("rb")
        except OSError as e:
            fail(f"Cannot read {str(path)!r}", reason(e))
        with file:
            yield file
    elif sys.stdin is None or sys.stdin.closed:
        fail("Cannot read standard input", "It is closed; expected a file or a pipe.")
    else:
        say_waiting()
        yield cast(BinaryIO, sys.stdin.buffer)


def say_waiting() -> None:
    """Says that standard input is read, if a person has to type it."""
    if sys.stdin is not None and is_terminal(sys.stdin):
        say("Reading standard input; Ctrl-D ends it.")


def as_file(path: Path, suffix: str) -> Path:
    """Returns the path; for "-" a temporary file, which is there until Python ends,
    with what standard input has. suffix: Of that file."""
    if str(path) != "-":
        return path
    folder = TemporaryDirectory(prefix="hosemi-")
    atexit.register(folder.cleanup)
    copy = Path(folder.name) / f"standard-input{suffix}"
    with open_input(path) as source, copy.open("wb") as target:
        copyfileobj(source, target)
    return copy


def write_text(text: str, path: str | Path, overwrite: bool) -> None:
    """Writes a text, see `open_output`; says so if it went to a file."""
    with open_output(path, overwrite) as file:
        file.write(text)
    if str(path) != "-":
        say(f"Wrote {path}")


@contextmanager
def open_output(
    path: str | Path, overwrite: bool = False, *, binary: bool = False
) -> Iterator[IO[Any]]:
    """Opens a file to write to, as a whole or not at all; "-" is standard output.

    What is written goes to a temporary file beside it, which gets the name in the end;
    after an error it is removed, and a file that was there stays as it is. Text is
    UTF-8, and lines end as they are written.
    """
    if str(path) == "-":
        out = sys.stdout
        if out is None or out.closed or isinstance(out, ClosedOutput):
            fail("Cannot write to standard output", "It is closed.")
        with naming("standard output"):
            yield out.buffer if binary else out
            out.flush()
        return
    _check_file(path, overwrite)
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():  # such as /dev/null or a pipe
        with naming(path), _opened(target, path, binary) as file:
            yield file
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with naming(path), _opened(beside, path, binary) as file:
            yield file
        beside.replace(target)
    finally:
        with suppress(OSError):  # moved, or never made
            beside.unlink()


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Gives errors of a full disk, which do not say it, the file that was written."""
    try:
        yield
    except OSError as e:
        if e.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            e.filename = e.filename or str(path)
        raise


def check_outputs(
    inputs: Mapping[str, str | Path | None],
    outputs: Mapping[str, str | Path | None],
    overwrite: bool,
) -> None:
    """Exits with a message if an output, by its option, is an input or another output,
    or nothing may be written to it. "-" is a standard stream; None is left out."""
    names: dict[Path, str] = {}
    for name, path in {**inputs, **outputs}.items():
        if path is None or str(path) == "-":
            continue
        target = Path(path).resolve()
        if target in names and (target.is_file() or not target.exists()):
            title = f"{names[target]} and {name} are the same file, {str(path)!r}"
            fail(title, "Expected two files.")
        names[target] = name
    for path in outputs.values():
        if path is not None and str(path) != "-":
            _check_file(path, overwrite)


def _check_file(path: str | Path, overwrite: bool) -> None:
    if Path(path).is_dir():
        fail(f"{str(path)!r} is a folder", "Expected a file to write to.")
    if Path(path).is_file() and not overwrite:
        refuse_existing(path)


def refuse_existing(path: str | Path) -> NoReturn:
    """Exits, as something is there already."""
    text = "Choose another one, or give --overwrite to write to it."
    fail(f"{str(path)!r} exists already", text)


def _opened(path: Path, name: str | Path, binary: bool) -> IO[Any]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if binary:
            return path.open("wb")
        return path.open("w", encoding="utf8", errors=ESCAPED, newline="")
    except OSError as e:
        fail(f"Cannot write {str(name)!r}", reason(e))


def reason(error: OSError) -> str:
    """Returns what the system says, without the path."""
    return f"{error.strerror or error}."


def shortened(text: str, limit: int) -> str:
    """Returns a text without control characters, cut to at most `limit` characters."""
    text = clean(text)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
