"""Processes that are measured, and calls in a process of their own."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import MB, ROOT


@dataclass
class Usage:
    """What a process used, and what it printed."""

    cpu_s: float
    peak_mb: float
    output: str


# A process starts with the peak memory of the one that started it (Linux). So a small
# interpreter stands between this one, which is large, and what is measured.
LAUNCHER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as report:
    json.dump({
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6,
    }, report)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""


def measured(
    command: Sequence[str], log: Path | None = None, accepted: Sequence[int] = (0,)
) -> Usage:
    """Run a command, and measure it with the processes that it waited for; all that it
    prints goes to a log as it comes. Exits with it if the command fails, but by an
    accepted exit code."""
    with tempfile.TemporaryDirectory() as folder:
        report, log = Path(folder) / "usage.json", log or Path(folder) / "log"
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(report)]
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with log.open("wb") as file:
            done = subprocess.run(
                [*launcher, *command], stdout=file, stderr=subprocess.STDOUT, env=env
            )
        output = log.read_text(encoding="utf-8", errors="replace")
        if done.returncode not in accepted:
            print(output, file=sys.stderr)
            sys.exit(f"exit code {done.returncode}: {shown_command(command)}")
        return Usage(**json.loads(report.read_text()), output=output)


# Calls the function of a module with arguments out of a file, and writes its result.
CALLER = """
import importlib, json, sys
sys.path[:0] = sys.argv[1].split("|")
with open(sys.argv[4], encoding="utf-8") as file:
    args = json.load(file)
found = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])(*args)
with open(sys.argv[4], "w", encoding="utf-8") as file:
    json.dump(found, file)
"""


def in_process(
    function: Callable[..., Any], *args: Any, under: Sequence[str] = ()
) -> tuple[Any, Usage]:
    """Call the function of a script in a process of its own, with arguments as JSON has
    them, and paths, which become strings; under a command that starts it. Returns the
    result, as JSON has it, and what it took."""
    module = Path(sys.modules[function.__module__].__file__ or "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "call.json"
        path.write_text(json.dumps(args, default=str), encoding="utf-8")
        paths = "|".join((str(module.parent), str(ROOT / "benchmarks")))
        command = [*under, sys.executable, "-c", CALLER, paths, module.stem]
        usage = measured([*command, function.__name__, str(path)])
        return json.loads(path.read_text(encoding="utf-8")), usage


def shown_command(command: Sequence[str]) -> str:
    """Write a command as one would type it."""
    return shlex.join(["python", *command[1:]])


def reset_peak() -> None:
    """Set this process's peak of memory to what it has now, where that is possible;
    elsewhere less is found to be added."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def peak_mb() -> float:
    """The largest resident size of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / MB


def resident_mb() -> float:
    """The resident size of this process, in MB; 0 where the system does not say."""
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    (line,) = [x for x in text.splitlines() if x.startswith("VmRSS")]
    return int(line.split()[1]) * 1024 / MB


def size_mb(path: Path) -> float:
    """Size of all files in a folder, or of one file."""
    files = [path] if path.is_file() else [x for x in path.rglob("*") if x.is_file()]
    return sum(file.stat().st_size for file in files) / MB
