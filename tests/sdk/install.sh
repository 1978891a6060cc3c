#!/usr/bin/env bash
# Installs the published clients of Anthropic, OpenAI and Google and the Claude Agent SDKs, pinned, into the directory given, and
# prints the settings by which the ignored tests of tests/real/sdk.rs and agent_sdk.rs find them:
#
#   eval "$(tests/sdk/install.sh "$(mktemp -d)")"
#   cargo test --test real -- --ignored sdk::
set -euo pipefail
to=$(cd "${1:?which directory?}" && pwd)
python3 -m venv "$to/python" >&2
"$to/python/bin/pip" install --quiet --disable-pip-version-check 'anthropic==2.8.0' 'openai==3.51.0' 'google-genai==3.3.0' \
    'claude-agent-sdk==0.2.184' >&2
npm install --prefix "$to/node" --ignore-scripts --no-audit --no-fund --silent '@anthropic-ai/sdk@1.8.0' \
    '@anthropic-ai/claude-agent-sdk@0.3.327' 'zod@4' 'typescript@5' --omit=optional >&2
echo "export CLAWGATE_SDK_PYTHON='$to/python/bin/python'"
echo "export CLAWGATE_SDK_NODE='$to/node'"
