"""A scripted Messages API on loopback: ``clawgate mock``, held by its standard input."""

import json
import os
import queue
import subprocess
import tempfile
import threading
from pathlib import Path

from ._binary import FINDINGS, OK, ClawgateError, ClawgateFailed, binary


class Api:
    """A scripted API, from ``with Api(…)`` or the fixture ``clawgate_api``.

    ``script`` is a list of turns, each a text or a dict with the keys of ``[[api.turns]]`` in a scenario; or a dict with
    those of ``[api]``; or the name or file of a scenario. ``faults`` are as ``clawgate mock --help`` lists them.

    At the end a request that nothing matched, one that the API would refuse, and a turn that nobody asked for raise
    :class:`ClawgateFailed`, unless ``strict`` is false.
    """

    def __init__(self, script, *, faults=(), seed=None, strict=True):
        self._strict = strict
        self._folder = tempfile.TemporaryDirectory(prefix="clawgate-")
        self._errors = tempfile.TemporaryFile()
        self._requests = []
        self._said = queue.SimpleQueue()
        command = [binary(), "mock", self._scenario(script), "--format=json", "--stdin", "--bodies", "--strict"]
        command += [f"--fault={fault}" for fault in faults]
        command += [] if seed is None else [f"--seed={seed}"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._errors)
        # It is read all the time, so that `requests` can be asked for from any thread.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._summary = None
        #: What a client is given as the address of the API.
        self.base_url = self._wait_for("listening")["base_url"]

    @property
    def env(self):
        """The settings by which the clients of Anthropic, OpenAI and Gemini, and command lines such as Claude's and Gemini's,
        find the API. The Codex CLI has a file of its own for it, ``config.toml``."""
        return {
            "ANTHROPIC_BASE_URL": self.base_url,
            "ANTHROPIC_API_KEY": "dummy-key",
            "OPENAI_BASE_URL": f"{self.base_url}/v1",
            "OPENAI_API_KEY": "dummy-key",
            "GOOGLE_GEMINI_BASE_URL": self.base_url,
            "GEMINI_API_KEY": "dummy-key",
        }

    @property
    def requests(self):
        """The requests so far, in their order; each has its body as ``content``. Waits for answers under way."""
        self.summary  # noqa: B018 - asks for it, and the requests come before it
        return sorted(self._requests, key=lambda request: request["number"])

    @property
    def summary(self):
        """How many requests came, and which turns nobody has asked for so far."""
        if self._process.stdin.closed:
            return self._summary
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # It is gone, which the wait finds out.
        return self._wait_for("summary")

    def stop(self):
        """Ends the API and raises what did not fit; what was asked can still be read."""
        if self._process.stdin.closed:
            return
        self._process.stdin.close()
        code = self._process.wait()
        self._reader.join()
        if code in (OK, FINDINGS):
            self._summary = self._wait_for("summary")
        failure = self._failure(code)
        self._process.stdout.close()
        self._errors.close()
        self._folder.cleanup()
        if failure:
            raise failure

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _scenario(self, script):
        if isinstance(script, (str, os.PathLike)):
            return os.fspath(script)
        api = script if isinstance(script, dict) else {"turns": list(script)}
        turns = [{"text": turn} if isinstance(turn, str) else turn for turn in api.get("turns", [])]
        file = Path(self._folder.name) / "script.json"
        file.write_text(json.dumps({"scenario": {"name": "script"}, "api": {**api, "turns": turns}}))
        return str(file)

    def _read(self):
        for line in self._process.stdout:
            said = json.loads(line)
            if said["type"] == "request":
                self._requests.append(said)
            else:
                self._said.put(said)
        self._said.put(None)

    def _wait_for(self, kind):
        said = self._said.get()
        if said is None or said["type"] != kind:
            self._said.put(None)
            raise self._failure(self._process.wait()) or ClawgateError(f"clawgate mock said {said}, not {kind}")
        return said

    def _failure(self, code):
        if code == OK or (code == FINDINGS and not self._strict):
            return None
        if code != FINDINGS:
            self._errors.seek(0)
            errors = self._errors.read().decode(errors="replace").strip()
            return ClawgateError(f"clawgate mock ended with {code}: {errors}")
        told = ["the requests and the script of the API do not fit each other:"]
        for request in self._requests:
            named = f"request {request['number']}, {request['method']} {request['path']}"
            if request["kind"] == "unmatched":
                near = request["unmatched"] or {"nearest": None, "because": []}
                told.append(f"  {named}: no turn answers it; nearest is {near['nearest']}: {'; '.join(near['because'])}")
            told += [f"  {named}: the API refuses {found['pointer']}: {found['message']}" for found in request["findings"]]
        told += [f"  turn {name}: nobody asked for it" for name in self._summary["unused"]]
        return ClawgateFailed("\n".join(told))
