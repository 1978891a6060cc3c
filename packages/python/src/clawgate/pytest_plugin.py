"""The fixtures ``clawgate_api``, ``clawgate_run`` and ``judge``."""

from contextlib import ExitStack
from functools import partial

import pytest

import clawgate


@pytest.fixture
def clawgate_api():
    """Starts scripted APIs: ``api = clawgate_api(["Hello."])``. What does not fit a script fails the test at its end."""
    with ExitStack() as started:
        yield lambda script, **options: started.enter_context(clawgate.Api(script, **options))


@pytest.fixture
def clawgate_run(tmp_path_factory):
    """Runs cases: ``clawgate_run("scenarios/hello.toml", target="claude")``. The recordings stay with pytest's others."""
    return partial(clawgate.run, out=tmp_path_factory.mktemp("clawgate"))


@pytest.fixture
def judge():
    """Judges what an agent printed: ``judge(subprocess.run([...], capture_output=True))``."""
    return clawgate.judge
