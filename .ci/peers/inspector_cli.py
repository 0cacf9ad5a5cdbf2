"""Tests everything_server with the command line of the MCP Inspector.

Usage: inspector_cli.py INSPECTOR EVERYTHING_SERVER
"""

import json
import subprocess
import sys

INSPECTOR, SERVER = sys.argv[1:]


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


def run(*arguments):
    command = [INSPECTOR, "--cli", SERVER, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


equal(len(run("--method", "tools/list")["tools"]), 43)
result = run("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hi")
equal(result["content"], [{"type": "text", "text": "hi"}])
result = run("--method", "tools/call", "--tool-name", "add_numbers",
             "--tool-arg", "a=2", "--tool-arg", "b=3")
equal(result["content"], [{"type": "text", "text": "5"}])
equal(len(run("--method", "prompts/list")["prompts"]), 5)
prompt = run("--method", "prompts/get", "--prompt-name", "test_simple_prompt")
equal(prompt["messages"][0]["content"]["text"], "This is a simple prompt for testing.")
uris = [resource["uri"] for resource in run("--method", "resources/list")["resources"]]
equal(uris, ["test://static-text", "test://static-binary", "test://watched-resource"])
contents = run("--method", "resources/read", "--uri", "test://static-text")["contents"]
equal(contents[0]["text"], "This is the content of the static text resource.")
templates = run("--method", "resources/templates/list")["resourceTemplates"]
equal([template["uriTemplate"] for template in templates], ["test://template/{id}/data"])
print("Inspector: ok")
