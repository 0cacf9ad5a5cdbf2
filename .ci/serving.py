"""HTTP servers that run for the duration of a test."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "target/peers"
# The path of the MCP endpoint, for the examples and for the servers of the SDKs.
PATH = "/mcp"


def url_of(port):
    return f"http://127.0.0.1:{port}{PATH}"


def free_port():
    """Returns a free port. Another process may still take the port before the caller does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def build():
    """Builds the examples, and copies them to EXAMPLES."""
    inherited = {name: value for name, value in os.environ.items()
                 if name not in ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET")}
    command = ["bash", "-euc", ". .ci/lib.sh; build_examples"]
    if subprocess.run(command, cwd=ROOT, env=inherited).returncode != 0:
        raise SystemExit("the examples could not be built")


@contextlib.contextmanager
def serving(command, port, log, patience=30):
    """Runs the server until the block ends. Fails if the server ends before, or if one of its threads panics."""
    name = " ".join(map(str, command))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        wait_for(server, port, log, patience)
        yield
        said = log.read_text(errors="replace")
        if server.poll() is not None:
            raise SystemExit(f"{said[-4000:]}\n{name}: ended with {server.returncode}")
        if "panicked at" in said:
            raise SystemExit(f"{said[-4000:]}\n{name}: panicked")
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextlib.contextmanager
def everything(log, url=None):
    """Yields the given URL. Without one, runs everything_http until the block ends, and yields its URL."""
    if url is not None:
        yield url
        return
    build()
    port = free_port()
    with serving([EXAMPLES / "everything_http", "--port", str(port)], port, log):
        yield url_of(port)


@contextlib.contextmanager
def gateway(log, url=None):
    """Yields the given URL. Without one, runs the gateway in front of everything_server, and yields its URL.

    The gateway adds no prefix to the names of everything_server.
    """
    if url is not None:
        yield url
        return
    build()
    config = log.with_suffix(".json")
    config.parent.mkdir(parents=True, exist_ok=True)
    server = {"command": str(EXAMPLES / "everything_server"), "gateway": {"prefix": ""}}
    config.write_text(json.dumps({"mcpServers": {"everything": server}}))
    port = free_port()
    command = [EXAMPLES / "mcp-sansio-gateway", "--config", config, "--listen", f"127.0.0.1:{port}"]
    with serving(command, port, log):
        yield url_of(port)


def wait_for(server, port, log, patience=30):
    """Waits until the process listens on the port."""
    deadline = time.monotonic() + patience
    while not listens(port):
        if server.poll() is not None or time.monotonic() > deadline:
            name = " ".join(map(str, server.args))
            raise SystemExit(f"{log.read_text()}\n{name}: nothing listens on port {port}")
        time.sleep(0.05)


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
