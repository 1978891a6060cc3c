#!/bin/sh
# `clawgate record` against a stand-in for the API, which is there for as long as that takes.
hold=$(mktemp -d)/hold && mkfifo "$hold"
clawgate mock stand-in.toml --stdin --quiet <"$hold" | {
    exec 3>"$hold"
    read -r upstream
    clawgate record --upstream "$upstream" "$@"
}
