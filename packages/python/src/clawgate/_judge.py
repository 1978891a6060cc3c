"""``clawgate judge``: what happened in a run, and whose fault it was."""

import os
import subprocess
import tempfile
from pathlib import Path

from ._binary import ClawgateError, call


def judge(output, *, exit_code=None, stderr=None, contract=None, allow=(), check=True):
    """Judges what an agent command line printed: a dict with ``verdict``, ``run`` and ``findings``.

    ``output`` is text or bytes, a ``subprocess.CompletedProcess`` that captured its output, or the path of a file or a
    recording. A verdict that is neither ``ok`` nor in ``allow``, and a broken must clause, raise
    :class:`clawgate.ClawgateFailed`, unless ``check`` is false.
    """
    if isinstance(output, subprocess.CompletedProcess):
        exit_code = output.returncode if exit_code is None else exit_code
        stderr = output.stderr if stderr is None else stderr
        output = output.stdout
        if output is None:
            raise ClawgateError("the process has no output: run it with capture_output=True")
    with tempfile.TemporaryDirectory(prefix="clawgate-") as folder:
        arguments, stdin = ["-"], output
        if isinstance(output, os.PathLike):
            arguments, stdin = [output], None
        elif isinstance(output, str):
            stdin = output.encode()
        if exit_code is not None:
            # Python tells of a signal by a negative number, a shell by 128 and more.
            arguments.append(f"--exit-code={exit_code if exit_code >= 0 else 128 - exit_code}")
        if stderr:
            file = Path(folder) / "stderr"
            file.write_bytes(stderr.encode() if isinstance(stderr, str) else stderr)
            arguments += ["--stderr", file]
        arguments += ["--contract", contract] if contract else []
        arguments += [f"--allow={name}" for name in allow]

        def judged(*more, **options):
            return call(["judge", *more, *arguments], stdin, **options)

        # Once more for people where it fails: the words are the binary's.
        _, lines = judged("--format=json", check=check, explain=lambda: judged("--quiet", check=False, read=str)[1])
        if len(lines) != 1:
            raise ClawgateError(f"{len(lines)} inputs were judged: name one of them")
        return lines[0]
