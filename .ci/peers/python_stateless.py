"""Checks of the Python client for the modern era only."""

import anyio
import mcp_types as types
from mcp.client.subscriptions import (
    PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged,
)

from python_checks import equal, failing

LEVEL = "io.modelcontextprotocol/logLevel"
WATCHED = "test://watched-resource"


async def hears(client, logs, updates, changes):
    # A request without a log level gets no log messages, and no request gets messages below its level.
    await client.call_tool("test_tool_with_logging")
    await client.call_tool("test_tool_with_logging", meta={LEVEL: "error"})
    equal(logs, [])
    await client.call_tool("test_tool_with_logging", meta={LEVEL: "info"})
    equal(logs, [
        ("info", "Tool execution started"),
        ("info", "Tool processing data"),
        ("info", "Tool execution completed"),
    ])
    # Without a subscription, the server sends no notifications about changes.
    await client.call_tool("announce_changes")
    await client.call_tool("test_trigger_resource_update")
    everything = client.listen(
        tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True,
        resource_subscriptions=[WATCHED],
    )
    async with everything as all_of_it, client.listen(prompts_list_changed=True) as prompts:
        equal(all_of_it.honored, types.SubscriptionFilter(
            tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True,
            resource_subscriptions=[WATCHED],
        ))
        equal(prompts.honored, types.SubscriptionFilter(prompts_list_changed=True))
        await client.call_tool("announce_changes")
        await client.call_tool("test_trigger_resource_update")
        equal(await take(all_of_it, 4), [
            ToolsListChanged(), ResourcesListChanged(), PromptsListChanged(),
            ResourceUpdated(uri=WATCHED),
        ])
        equal(await take(prompts, 1), [PromptsListChanged()])
        await client.call_tool("test_trigger_tool_change")
        equal(await take(all_of_it, 1), [ToolsListChanged()])
        await client.call_tool("test_trigger_prompt_change")
        equal(await take(prompts, 1), [PromptsListChanged()])
    # The client cancels its subscriptions a moment later, so another call comes first.
    await client.call_tool("echo", {"text": "a moment"})
    await client.call_tool("announce_changes")
    await client.call_tool("test_trigger_resource_update")
    equal(updates, [WATCHED])
    # A change that two subscriptions cover causes two notifications.
    names = ["tools", "resources", "prompts", "prompts", "tools", "prompts", "prompts"]
    equal(sorted(changes), sorted(f"notifications/{name}/list_changed" for name in names))


async def take(subscription, count):
    with anyio.fail_after(60):
        return [await anext(subscription) for _ in range(count)]


async def guards(client):
    """Checks that the server accepts a `requestState` only as it has issued it."""
    tool = "test_input_required_result_tampered_state"

    async def call(**options):
        return await client.session.call_tool(tool, allow_input_required=True, **options)

    asked = await call()
    equal(asked.input_requests["confirm"].params.message, "Please confirm")
    answer = {"confirm": types.ElicitResult(action="accept", content={"ok": True})}
    state = asked.request_state
    for tampered in (state[:-1] + ("A" if state[-1] != "A" else "B"), "x" + state, "", state[::-1]):
        error = await failing(-32602, call(input_responses=answer, request_state=tampered))
        equal(error.message.startswith("requestState: "), True)
    # The state of one tool is not valid for another tool.
    other = client.session.call_tool(
        "test_input_required_result_request_state", allow_input_required=True,
        input_responses=answer, request_state=state,
    )
    await failing(-32602, other)
    # Without the answer, the server requires the input again.
    equal((await call(request_state=state)).result_type, "input_required")
    done = await call(input_responses=answer, request_state=state)
    equal(done.content[0].text, "unchanged")
    # Methods of the legacy era do not exist.
    await failing(-32601, client.send_ping())
