"""``clawgate run``: cases on targets."""

import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from ._binary import call


class Run(NamedTuple):
    """What a run told."""

    #: 0, or 100 where a case is not as expected.
    exit_code: int
    #: Everything it told of, in its order.
    events: list
    #: The events that end a case.
    cases: list


def run(*cases, target=None, out=None, args=(), check=True):
    """Runs cases on a target, and returns a :class:`Run`.

    A case is a scenario as a dict, the path of a scenario file, or anything else that ``clawgate run`` takes to choose
    cases by. ``out`` keeps the recordings. A case that is not as expected raises :class:`clawgate.ClawgateFailed` with
    the words of the report, unless ``check`` is false.
    """
    with tempfile.TemporaryDirectory(prefix="clawgate-") as folder:
        folder = Path(folder)
        arguments = ["run"]
        for number, case in enumerate(cases):
            if isinstance(case, dict):
                file = folder / f"scenario-{number}.json"
                file.write_text(json.dumps(case))
                case = file
            arguments.append(os.fspath(case))
        report = folder / "report.txt"
        arguments += ["--out", out or folder / "out", "--report=json", f"--report=terminal={report}", *args]
        arguments += ["--target", target] if target else []
        code, events = call(arguments, check=check, explain=lambda: report.read_text())
        finished = [event for event in events if event["type"] == "case-finished"]
        return Run(code, events, finished)
