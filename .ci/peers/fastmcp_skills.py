"""Tests skills between FastMCP and this project, in both directions.

Usage: fastmcp_skills.py OUR_SERVER OUR_HOST

With `--serve`, the script is a FastMCP server with two skills, on standard input and output.
"""

import asyncio
import subprocess
import sys

from fastmcp import Client, FastMCP, Skill
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from fastmcp.skills.provider import SkillCatalogProvider

URI = "skill://refunds/SKILL.md"
RULES = "skill://refunds/references/rules.md"


def serve():
    server = FastMCP("skills")
    review = Skill(name="code-review", description="Reviews code", instructions="Read it.")
    deploy = Skill(name="deploy", description="Deploys", instructions="Ask first.")
    server.add_provider(SkillCatalogProvider([review, deploy]))
    server.run(show_banner=False)


async def read_ours(command):
    async with Client(StdioTransport(command, []), extensions=[SkillsClientExtension()]) as client:
        skills = await client.list_skills()
        assert [skill.uri for skill in skills] == [URI], skills
        assert [file.uri for file in skills[0].resources] == [URI, RULES], skills
        entry = await client.get_skill(URI)
        assert entry.frontmatter.name == "refunds", entry
        rules = await client.read_resource(RULES)
        assert rules[0].text.startswith("# Rules"), rules
        # `read_skill` verifies the digests of all files.
        skill = await client.read_skill(URI)
        assert "order" in skill.description, skill
    print("FastMCP reads our skills: ok")


def read_theirs(command):
    asked = "skill://code-review/SKILL.md"
    arguments = [command, "--read", asked, sys.executable, "-W", "ignore", __file__, "--serve"]
    output = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)
    for text in ("code-review (skill://code-review/SKILL.md): Reviews code", "Read it."):
        assert text in output.stdout, output.stdout
    # No other skill is read.
    assert "Ask first." not in output.stdout, output.stdout
    assert "not usable" not in output.stdout and "left out" not in output.stdout, output.stdout
    print("our host reads the skills of FastMCP: ok")


if sys.argv[1:] == ["--serve"]:
    serve()
else:
    asyncio.run(read_ours(sys.argv[1]))
    read_theirs(sys.argv[2])
