"""Where the binary is, and what its exit codes mean."""

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

OK, FINDINGS = 0, 100


class ClawgateError(Exception):
    """clawgate could not do what it was asked: a wrong file or flag, a target that is missing, nothing selected."""


class ClawgateFailed(AssertionError):
    """clawgate found something: what was tested is not as it should be."""


def binary() -> str:
    """``CLAWGATE_BIN``, else the binary that was installed with this package, else the one on the PATH."""
    name = os.environ.get("CLAWGATE_BIN")
    if name:
        return name
    installed = Path(sysconfig.get_path("scripts")) / "clawgate"
    found = str(installed) if installed.is_file() else shutil.which("clawgate")
    if not found:
        raise ClawgateError("there is no clawgate binary: install clawgate's wheel, or set CLAWGATE_BIN")
    return found


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def call(arguments, stdin=None, check=True, explain=None, read=json_lines):
    """Runs the binary: its exit code, and its output as ``read`` makes it of text.

    ``explain`` gives the text of a ``ClawgateFailed``, which findings raise unless ``check`` is false.
    """
    command = [binary(), *map(os.fspath, arguments)]
    # Without input its standard input is empty: a command that reads must not wait for the tests' terminal.
    done = subprocess.run(command, input=stdin or b"", capture_output=True)
    errors = done.stderr.decode(errors="replace").strip()
    if done.returncode not in (OK, FINDINGS):
        raise ClawgateError(f"clawgate ended with {done.returncode}: {errors}")
    if check and done.returncode == FINDINGS:
        raise ClawgateFailed("\n".join(filter(None, [explain().strip() if explain else "", errors])))
    return done.returncode, read(done.stdout.decode())
