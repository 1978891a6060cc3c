"""What the fixtures fail, and how: a plugin that cannot fail would be worse than none.

The plugin is found as its users find it, installed; ``.ci/packages`` does that.
"""

import subprocess
import sys

import clawgate
import pytest

OK = (
    '{"type":"system","subtype":"init","session_id":"s"}\n'
    '{"type":"result","subtype":"success","is_error":false,"result":"Hi","session_id":"s"}\n'
)
POST = """
import json, urllib.error, urllib.request

def post(api, *said):
    roles = ["user", "assistant"] * len(said)
    body = {"model": "m", "max_tokens": 9, "messages": [dict(role=r, content=c) for r, c in zip(roles, said)]}
    headers = {"content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(api.base_url + "/v1/messages", json.dumps(body).encode(), headers)
    try:
        urllib.request.urlopen(request).read()
    except urllib.error.HTTPError:
        pass
"""


def outcomes(pytester, body, **expected):
    pytester.makepyfile(f"{POST}\ndef test_it(clawgate_api, clawgate_run, judge):\n    {body}\n")
    result = pytester.runpytest()
    result.assert_outcomes(**expected)
    return str(result.stdout)


def test_a_script_that_fits_passes(pytester):
    outcomes(pytester, "post(clawgate_api(['Hello.']), 'Hi')", passed=1)


def test_a_turn_that_nobody_asks_for_fails(pytester):
    assert "turn turn-1: nobody asked" in outcomes(pytester, "clawgate_api(['Hello.'])", passed=1, errors=1)
    outcomes(pytester, "clawgate_api(['Hello.'], strict=False)", passed=1)


def test_a_request_that_no_turn_answers_fails_although_the_client_hides_it(pytester):
    body = "api = clawgate_api(['Hello.']); post(api, 'Hi'); post(api, 'Hi', 'Hello.', 'And?')"
    told = outcomes(pytester, body, passed=1, errors=1)
    assert "request 2, POST /v1/messages: no turn answers it; nearest is turn-1: turn: expected 1, found 2" in told


def test_a_request_that_the_api_would_refuse_fails(pytester):
    assert "the API refuses" in outcomes(pytester, "post(clawgate_api(['Hello.']), 7)", passed=1, errors=1)


def test_a_mistake_in_a_script_is_shown_where_it_is(pytester):
    assert "unknown key `txet`, did you mean `text`?" in outcomes(pytester, "clawgate_api([{'txet': 1}])", failed=1)


def test_an_api_that_is_killed_is_no_success(pytester):
    body = "api = clawgate_api(['Hello.']); post(api, 'Hi'); api._process.kill(); api.requests"
    assert "clawgate mock ended with -9" in outcomes(pytester, body, failed=1, errors=1)


def test_a_case_that_is_not_as_expected_fails_with_the_report(pytester):
    told = outcomes(pytester, "clawgate_run('claude/answers/stream', target='reference+no-result')", failed=1)
    assert "FAIL claude/answers/stream" in told and "result-present" in told
    outcomes(pytester, "assert clawgate_run('claude/answers/stream').cases[0]['status'] == 'pass'", passed=1)


def test_nothing_selected_is_no_success():
    with pytest.raises(clawgate.ClawgateError, match="ended with 4"):
        clawgate.run("no/such/case")


def test_a_missing_target_is_an_error_and_no_finding(tmp_path):
    with pytest.raises(clawgate.ClawgateError, match="ended with 3"):
        clawgate.run("claude/answers/stream", target=f"claude={tmp_path}/missing", check=False)


def test_a_broken_stream_fails_with_the_words_of_the_judge(judge):
    with pytest.raises(clawgate.ClawgateFailed, match="truncated"):
        judge(OK.splitlines()[0])
    assert judge(OK.splitlines()[0], check=False)["verdict"]["class"] == "truncated"


def test_a_process_is_judged_with_its_exit_and_its_stderr(judge, tmp_path):
    code = "import sys; sys.stderr.write('thread main panicked at x'); sys.exit(101)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert judge(done, check=False)["verdict"]["class"] == "crash"
    with pytest.raises(clawgate.ClawgateError, match="capture_output"):
        judge(subprocess.run([sys.executable, "-c", ""]))
    (tmp_path / "a.ndjson").write_text(OK)
    (tmp_path / "b.ndjson").write_text(OK)
    with pytest.raises(clawgate.ClawgateError, match="2 inputs"):
        judge(tmp_path, check=False)
