# Functions of `.ci/run` and of its stages. Sourced, in the root of the repository.
# shellcheck shell=bash

# Programs that the stages install; git ignores the directory.
tools=$PWD/.ci/tools

# again COMMAND...: for a command that needs the network, which may fail once.
again() {
    "$@" && return
    echo "failed, and is tried again: $*" >&2
    sleep 5
    "$@"
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# install PACKAGE: installs the Debian package.
install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y "$1" && return
    again as_root apt-get update
    again as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y "$1"
}

# need COMMAND=PACKAGE...: installs the Debian packages of the commands that are missing.
need() {
    local pair command
    for pair in "$@"; do
        command=${pair%%=*}
        has "$command" && continue
        if [ "${CI:-}" != true ] && ! command -v apt-get >/dev/null; then
            echo "NOT INSTALLED: ${pair#*=}, because there is no apt-get; tests that need it say that they have not run"
            continue
        fi
        echo "$command is missing; installing ${pair#*=}"
        install "${pair#*=}"
        has "$command" || { echo "still no $command" >&2; return 1; }
    done
}

# The features of the benchmarks in the short form: the implementations that the core is compared with take a third of the
# time. Unquoted where it is used, because it may be empty.
# shellcheck disable=SC2034  # Stages use it.
without_contenders=$([ -n "${NIGHTLY:-}" ] || echo --no-default-features)

has() {
    # Debian has programs for servers where not every user looks.
    PATH=$PATH:/usr/sbin command -v "$1" >/dev/null || return
    # Debian has Python without the module for virtual environments.
    [ "$1" != python3 ] || python3 -c 'import ensurepip, venv' 2>/dev/null
}

# need_glib: installs the files that a program with GLib is built with.
need_glib() { pkg-config --exists glib-2.0 2>/dev/null || { install pkg-config && install libglib2.0-dev; }; }

# rustup_once ARGUMENT...: runs rustup, which two stages must not do at the same time.
rustup_once() {
    local lock=target/ci/rustup.lock code=0
    mkdir -p target/ci
    until mkdir "$lock" 2>/dev/null; do sleep 1; done
    again rustup "$@" || code=$?
    rmdir "$lock"
    return $code
}

# build_examples: builds the examples and the gateway with the command of the tests, so that cargo reuses the artifacts, and copies
# them to target/peers, because other stages replace the programs in target/debug/examples.
build_examples() {
    local name
    cargo build --locked --quiet --workspace --examples --bin mcp-sansio-gateway
    mkdir -p target/peers
    for name in authorization_server cluster_node conformance_client everything_http everything_server inspect websocket_server; do
        cp "target/debug/examples/$name" "target/peers/$name.$$"
        mv "target/peers/$name.$$" "target/peers/$name"
    done
    cp target/debug/mcp-sansio-gateway "target/peers/gateway.$$"
    mv "target/peers/gateway.$$" target/peers/mcp-sansio-gateway
}

# some_tests COMMAND...: runs tests by a filter, and fails if the filter leaves none.
some_tests() {
    local output
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    echo "$output"
    grep -q '^test result: ok\. [1-9]' <<<"$output" || { echo "no test was run: $*" >&2; return 1; }
}

# heading TEXT: begins a part of a stage.
heading() { printf '\n-- %s\n' "$*"; }
