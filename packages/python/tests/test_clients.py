"""The published Python client and the Claude CLI, each against a scripted API."""

import os
import subprocess

import anthropic

MODEL = "claude-sonnet-4-6"


def ask(api, prompt, **options):
    client = anthropic.Anthropic(base_url=api.base_url, api_key="dummy-key", **options)
    messages = [{"role": "user", "content": prompt}]
    return client.messages.create(model=MODEL, max_tokens=64, messages=messages)


def test_the_client_hears_the_script_and_the_test_sees_the_request(clawgate_api):
    api = clawgate_api(["Grüße, \U0001f980!"])
    assert api.summary["unused"] == ["turn-1"]
    assert ask(api, "Say hello.").content[0].text == "Grüße, \U0001f980!"
    [request] = api.requests
    assert request["content"]["messages"] == [{"role": "user", "content": "Say hello."}]
    assert "dummy-key" not in str(request)
    assert api.summary["unused"] == []


def test_the_client_tries_again_after_a_fault(clawgate_api):
    api = clawgate_api(["At last."], faults=["http:status=529,retry-after=0,times=1"])
    assert ask(api, "Hi", max_retries=1).content[0].text == "At last."
    assert [request["status"] for request in api.requests] == [529, 200]


def test_two_apis_at_once(clawgate_api):
    first, second = clawgate_api(["One."]), clawgate_api({"seed": 7, "turns": [{"text": "Two."}]})
    assert [ask(api, "Hi").content[0].text for api in (second, first)] == ["Two.", "One."]


def claude(api, prompt, home):
    command = [os.environ["CLAWGATE_CLAUDE_BIN"], "-p", prompt, "--output-format", "stream-json", "--verbose"]
    settings = {"HOME": str(home), "PATH": "/usr/bin:/bin", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", **api.env}
    return subprocess.run(command, env=settings, cwd=home, stdin=subprocess.DEVNULL, capture_output=True)


def test_the_claude_cli_answers_as_scripted(clawgate_api, judge, tmp_path):
    api = clawgate_api(["Hello from the script."])
    judgement = judge(claude(api, "Say hello.", tmp_path))
    assert judgement["verdict"]["class"] == "ok"
    assert judgement["run"]["output"] == "Hello from the script."
    asked = [request for request in api.requests if request["kind"] == "turn"]
    assert "Say hello." in str(asked[0]["content"]["messages"])


def test_the_claude_cli_runs_a_case(clawgate_run):
    scenario = {
        "scenario": {"name": "mine/hello", "contract": "claude-stream-json"},
        "run": {"prompt": "Say hello."},
        "expect": {"verdict": "ok", "requests": 1},
        "api": {"turns": [{"text": "Hello."}]},
    }
    run = clawgate_run(scenario, target=f"claude={os.environ['CLAWGATE_CLAUDE_BIN']}")
    assert [(case["case"], case["status"]) for case in run.cases] == [("mine/hello", "pass")]
