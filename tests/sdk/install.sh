#!/usr/bin/env bash
# Installs the published Anthropic clients, pinned, into the directory given, and prints the settings by which the
# ignored tests of tests/real/sdk.rs find them:
#
#   eval "$(tests/sdk/install.sh "$(mktemp -d)")"
#   cargo test --test real -- --ignored sdk::
set -euo pipefail
to=$(cd "${1:?which directory?}" && pwd)
python3 -m venv "$to/python" >&2
"$to/python/bin/pip" install --quiet --disable-pip-version-check 'anthropic==2.8.0' >&2
npm install --prefix "$to/node" --ignore-scripts --no-audit --no-fund --silent '@anthropic-ai/sdk@1.8.0' >&2
echo "export CLAWGATE_SDK_PYTHON='$to/python/bin/python'"
echo "export CLAWGATE_SDK_NODE='$to/node'"
