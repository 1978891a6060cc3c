"""The published Python client and the Claude, Codex and Gemini CLIs, each against a scripted API."""

import os
import subprocess

import anthropic
import pytest

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


def codex(api, prompt, home):
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(f"""
        model = "gpt-5.5"
        model_provider = "scripted"
        features = {{ plugin_discovery_prefetch = false, shell_snapshot = false }}
        [model_providers.scripted]
        name = "scripted"
        base_url = "{api.env["OPENAI_BASE_URL"]}"
        wire_api = "responses"
        env_key = "OPENAI_API_KEY"
    """)
    return ["codex", "exec", "--json", "--skip-git-repo-check", prompt]


def gemini(api, prompt, home):
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    model = ["--model", "gemini-2.5-flash", "--skip-trust"]
    return ["gemini", "--prompt", prompt, "--output-format", "stream-json", *model]


@pytest.mark.parametrize(
    ("agent", "target", "contract"),
    [(codex, "codex@0.166.0", "codex-exec-json"), (gemini, "gemini@0.61.0", "gemini-stream-json")],
)
def test_another_agent_answers_as_scripted(clawgate_api, judge, tmp_path, agent, target, contract):
    api = clawgate_api(["Hello from the script."])
    program, *arguments = agent(api, "Say hello.", tmp_path)
    command = [f"{os.environ['CLAWGATE_CACHE']}/targets/{target}/{program}", *arguments]
    settings = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin", "GEMINI_CLI_NO_RELAUNCH": "true", **api.env}
    done = subprocess.run(command, env=settings, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True)
    judgement = judge(done)
    assert (judgement["contract"], judgement["contract_detected"]) == (contract, True)
    assert judgement["session"]["final_text"] == "Hello from the script."
    [asked] = [request for request in api.requests if request["kind"] == "turn"]
    assert "Say hello." in str(asked["content"])


def test_one_case_on_two_other_agents(clawgate_run):
    scenario = {
        "scenario": {"name": "mine/hello", "contract": "any"},
        "run": {"prompt": "Say hello."},
        "expect": {"verdict": "ok", "exit": 0},
        "api": {"turns": [{"text": "Hello."}]},
    }
    run = clawgate_run(scenario, target="codex@0.166.0", args=["--target", "gemini@0.61.0"])
    assert [(case["verdict"]["class"], case["status"]) for case in run.cases] == [("ok", "pass")] * 2
