"""Tests the tasks of everything_server with the last Python client that has tasks (mcp 1), in revision 2025-11-25.

Usage: python_tasks.py EVERYTHING_SERVER [ARGUMENT...]

mcp 2 has no tasks, so this script needs a separate installation of mcp 1. The arguments are for the server.
Every assertion is exact. When its input ends, the server has to exit by itself with code 0.
"""

import asyncio
import datetime
import pathlib
import sys
import tempfile

from mcp import ClientSession, types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import McpError

RELATED = "io.modelcontextprotocol/related-task"
TERMINAL = ("completed", "failed", "cancelled")
EITHER = ("optional", "required")
SUPPORT = {
    "slow_compute": ("optional",), "failing_job": ("required",), "protocol_error_job": EITHER,
    "confirm_delete": EITHER, "multi_input": EITHER, "echo": (None,),
}
FILLED = {"boolean": True, "string": "Ada", "integer": 36, "number": 36}


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


def one_of(value, possible):
    if value not in possible:
        raise AssertionError(f"{value!r} is none of {possible!r}")


def contains(part, result):
    if result.isError or part not in result.content[0].text:
        raise AssertionError(f"{part!r} is not in {result!r}")


async def failing(code, awaitable):
    try:
        await asyncio.wait_for(awaitable, 10)
    except McpError as error:
        equal(error.error.code, code)
        return
    raise AssertionError(f"no error, expected {code}")


def check(task, task_id, statuses):
    """Checks a task as every message must describe it. The client itself checks that `ttl` is present."""
    equal(task.taskId, task_id)
    one_of(task.status, statuses)
    assert task.ttl is None or task.ttl >= 0, task.ttl
    assert task.createdAt.tzinfo and task.createdAt <= task.lastUpdatedAt, task


class Questions:
    """The elicitations within a task. This client does nothing else until it has answered one."""

    def __init__(self):
        self.asked = []

    async def answer(self, context, params):
        related = (context.meta.model_extra or {}).get(RELATED) if context.meta else None
        self.asked.append((related, params.requestedSchema["properties"]))
        filled = {name: FILLED[one["type"]] for name, one in self.asked[-1][1].items()}
        return types.ElicitResult(action="accept", content=filled)


class Driver:
    def __init__(self, session, questions):
        self.session = session
        self.tasks = session.experimental
        self.questions = questions
        self.created = []

    def result(self, task_id):
        return self.tasks.get_task_result(task_id, types.CallToolResult)

    async def start(self, name, arguments):
        task = (await self.tasks.call_tool_as_task(name, arguments, ttl=60000)).task
        check(task, task.taskId, ("working",))
        self.created.append(task.taskId)
        return task.taskId

    async def run(self, name, arguments, end, count=0):
        """Runs a tool as a task to its end, and answers `count` elicitations in between."""
        self.questions.asked.clear()
        task_id = await self.start(name, arguments)
        result = None
        async for task in self.tasks.poll_task(task_id):
            check(task, task_id, ("working", end, *(["input_required"] if count else [])))
            if task.status == "input_required" and result is None:
                # This request waits for the end of the task; meanwhile, the server may send its elicitations.
                result = asyncio.create_task(self.result(task_id))
        check(await self.tasks.get_task(task_id), task_id, (end,))
        equal([related for related, _ in self.questions.asked], [{"taskId": task_id}] * count)
        return task_id, await result if result else None

    async def completes(self):
        arguments = {"seconds": 1, "label": "x-label"}
        task_id, _ = await self.run("slow_compute", arguments, "completed")
        result = await self.result(task_id)
        equal(result, await self.result(task_id))
        equal(result.meta[RELATED], {"taskId": task_id})
        contains("x-label", result)

    async def cancels(self):
        """Cancels a task while a `tasks/result` request waits for it."""
        task_id = await self.start("slow_compute", {"seconds": 60, "label": "y"})
        waiting = asyncio.create_task(self.result(task_id))
        await asyncio.sleep(0.2)
        check(await self.tasks.cancel_task(task_id), task_id, ("cancelled",))
        await failing(-32603, waiting)
        await failing(-32602, self.tasks.cancel_task(task_id))
        check(await self.tasks.get_task(task_id), task_id, ("cancelled",))

    async def answers(self):
        """Runs a task with one elicitation, and a task with two."""
        task_id, _ = await self.run("confirm_delete", {"filename": "a-file.txt"}, "completed", 1)
        equal(self.questions.asked[0][1]["confirm"]["type"], "boolean")
        contains("a-file.txt", await self.result(task_id))
        task_id, _ = await self.run("multi_input", {}, "completed", 2)
        result = await self.result(task_id)
        assert not result.isError and result.content[0].text

    async def fails(self):
        """Runs a task that fails with a result whose `isError` is true, and one that fails with a JSON-RPC error."""
        task_id, _ = await self.run("failing_job", {}, "failed")
        equal((await self.result(task_id)).isError, True)
        task_id, _ = await self.run("protocol_error_job", {}, "failed")
        try:
            raise AssertionError(f"a result instead of an error: {await self.result(task_id)}")
        except McpError as error:
            assert error.error.code != -32602, error

    async def lists(self):
        """Checks that the pages of `tasks/list` contain every task once."""
        listed, cursor = [], None
        for _ in range(100):
            page = await self.tasks.list_tasks(cursor)
            listed += page.tasks
            cursor = page.nextCursor
            if cursor is None:
                break
        equal(cursor, None)
        for task_id in self.created:
            found = [task for task in listed if task.taskId == task_id]
            equal(len(found), 1)
            check(found[0], task_id, TERMINAL)
        await failing(-32602, self.tasks.list_tasks("no such page"))

    async def refuses(self):
        for ask in (self.tasks.get_task, self.result, self.tasks.cancel_task):
            await failing(-32602, ask("no such task"))
        await failing(-32601, self.session.call_tool("failing_job", {}))
        await failing(-32601, self.tasks.call_tool_as_task("echo", {"text": "x"}))
        plain = await self.session.call_tool("slow_compute", {"seconds": 0, "label": "z-label"})
        contains("z-label", plain)


async def run(command, status):
    questions, told, wrong = Questions(), {}, []

    async def received(message):
        if isinstance(message, Exception):
            wrong.append(message)
        elif isinstance(getattr(message, "root", None), types.TaskStatusNotification):
            task = message.root.params
            if told.get(task.taskId) in TERMINAL:
                wrong.append(AssertionError(f"the task changed after its end: {task!r}"))
            told[task.taskId] = task.status

    parameters = StdioServerParameters(command="sh", args=["-c", f"{command}; echo $? > '{status}'"])
    async with stdio_client(parameters) as streams, ClientSession(
        *streams, elicitation_callback=questions.answer, message_handler=received,
        read_timeout_seconds=datetime.timedelta(seconds=30),
    ) as session:
        initialized = await session.initialize()
        equal(initialized.protocolVersion, "2025-11-25")
        declared = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        tasks = initialized.capabilities.tasks
        equal(tasks and tasks.model_dump(exclude_none=True), declared)
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        for name, supports in SUPPORT.items():
            execution = tools[name].execution
            one_of(execution and execution.taskSupport, supports)
        driver = Driver(session, questions)
        await driver.completes()
        await driver.cancels()
        await driver.answers()
        await driver.fails()
        await driver.lists()
        await driver.refuses()
    equal(wrong, [])
    equal(status.read_text().strip(), "0")


def main():
    server, *arguments = sys.argv[1:]
    command = " ".join([f"'{server}'", *arguments])
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(asyncio.wait_for(run(command, pathlib.Path(directory) / "status"), 120))
    print(f"Python tasks, {' '.join(['2025-11-25', *arguments])}: ok")


main()
