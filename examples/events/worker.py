#!/usr/bin/env python3
"""A worker of the claws event protocol, over the socket that CLAWS_SOCKET names. Nothing but the standard library."""

import json
import os
import socket
import sys
import time
import uuid
from datetime import datetime, timezone

NAME = "worker-example"
PARENT = os.environ.get("CLAWS_PARENT_PEER_ID")
BEAT = int(os.environ.get("CLAWS_HEARTBEAT_MS", "10000")) / 1000
PHASES = ["PLAN", "SPAWN", "DEPLOY", "OBSERVE", "HARVEST", "CLEANUP", "REFLECT"]


class Worker:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.rest, self.asked, self.visited = b"", 0, []
        self.paused = self.aborted = False
        self.answers = set()
        self.began = self.entered = self.last_beat = time.monotonic()
        self.id = self.ask({"cmd": "hello", "protocol": "claws/2", "role": "worker", "peerName": NAME})["peerId"]

    def ask(self, request):
        """Sends a request and returns its answer; commands that come meanwhile are obeyed."""
        self.asked += 1
        self.socket.sendall(json.dumps({**request, "id": self.asked}).encode() + b"\n")
        while True:
            frame = self.frame(None)
            if frame.get("rid") == self.asked:
                return frame

    def frame(self, seconds):
        """The next line of the server, or {} when the time is up."""
        while b"\n" not in self.rest:
            self.socket.settimeout(seconds)
            try:
                chunk = self.socket.recv(65536)
            except TimeoutError:
                return {}
            if not chunk:
                sys.exit("the server is gone")
            self.rest += chunk
        line, self.rest = self.rest.split(b"\n", 1)
        frame = json.loads(line)
        if frame.get("push") == "message":
            self.obey(frame)
        return frame

    def obey(self, frame):
        verb = frame["topic"].rsplit(".", 1)[-1]
        if verb in ("approve", "reject"):
            payload = frame["payload"]
            self.answers.add(payload.get("correlation_id") or payload.get("data", {}).get("correlation_id"))
        elif verb in ("pause", "resume"):
            self.paused = verb == "pause"
        elif verb == "abort" or frame["topic"] == "cmd.role.worker":
            self.aborted = True

    def say(self, fact, **data):
        payload = {
            "v": 1, "id": str(uuid.uuid4()), "from_peer": self.id, "from_name": NAME, "parent_id": PARENT,
            "ts_published": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "schema": f"worker-{fact}-v1", "data": data,
        }
        answer = self.ask({"cmd": "publish", "topic": f"worker.{self.id}.{fact}", "payload": payload})
        if not answer["ok"]:
            sys.exit(f"{fact} was refused: {answer['error']}")

    def enter(self, phase, reason="next step"):
        prev = self.visited[-1] if self.visited else None
        self.visited.append(phase)
        self.entered = time.monotonic()
        self.say("phase", phase=phase, prev=prev, transition_reason=reason, phases_completed=list(self.visited))

    def heartbeat(self):
        self.last_beat = time.monotonic()
        inside = int((self.last_beat - self.entered) * 1000)
        self.say("heartbeat", current_phase=self.visited[-1], time_in_phase_ms=inside, tokens_used=0, cost_usd=0.0)

    def listen(self, is_over):
        """Obeys commands and gives signs of life until `is_over` holds, longer while it is paused."""
        while not self.aborted and (self.paused or not is_over()):
            self.frame(min(0.05, BEAT))
            if time.monotonic() - self.last_beat >= BEAT:
                self.heartbeat()

    def work(self):
        self.say("boot", model="example", role="worker", parent_peer_id=PARENT, mission_summary="count the files",
                 capabilities=[], cwd=os.getcwd(), terminal_id="1")
        for phase in PHASES:
            self.enter(phase)
            if phase == "OBSERVE":
                self.heartbeat()
                request = str(uuid.uuid4())
                self.say("event", kind="REQUEST", severity="info", message="count hidden files too?", request_id=request,
                         data={"request_type": "decision", "options": [{"id": "A", "label": "yes"}]})
                self.listen(lambda: request in self.answers)
            if phase != "REFLECT":
                moment = time.monotonic() + 0.05
                self.listen(lambda: time.monotonic() > moment)
            if self.aborted:
                self.enter("FAILED", "aborted")
                self.say("event", kind="ERROR", severity="fatal", message="aborted",
                         data={"error_class": "Aborted", "retryable": True})
                return
        self.say("complete", result="ok", summary="counted", artifacts=[], phases_completed=list(self.visited),
                 total_tokens=0, total_cost_usd=0.0, duration_ms=int((time.monotonic() - self.began) * 1000))


if __name__ == "__main__":
    Worker(os.environ["CLAWS_SOCKET"]).work()
