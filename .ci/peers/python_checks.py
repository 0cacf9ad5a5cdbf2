"""Shared parts of the checks of the Python client: the tools of the server, and the answers of the client."""

import re

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

TOOLS = [
    "echo", "add_numbers", "slow", "test_trigger_resource_update", "test_simple_text",
    "test_image_content", "test_audio_content", "test_embedded_resource",
    "test_multiple_content_types", "test_tool_with_logging", "test_tool_with_progress",
    "test_error_handling", "test_sampling", "test_elicitation",
    "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
    "json_schema_2020_12_tool", "test_reconnection", "test_missing_capability",
    "test_streaming_elicitation", "test_logging_tool", "test_trigger_tool_change",
    "test_trigger_prompt_change", "test_input_required_result_elicitation",
    "test_input_required_result_sampling", "test_input_required_result_list_roots",
    "test_input_required_result_request_state", "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs", "test_input_required_result_multi_round",
    "test_input_required_result_capabilities", "test_x_mcp_header", "list_roots",
    "announce_changes", "visit_page", "greet", "slow_compute", "failing_job",
    "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task", "needs_visit",
]

WHO = ("form", "Who?")
NAME = ("form", "What is your name?")
CONFIRM = ("form", "Please confirm")
FIRST = ("form", "Step 1: What is your name?")
SECOND = ("form", "Step 2: What is your favorite color?")
GREETING = ("sample", "Generate a greeting")
ROOTS = ("roots", "")
ROUND = "test_input_required_result_"

# Tools that need client input: the name, the arguments, the input requests, and the text of the result.
NEEDS = [
    ("test_sampling", {"prompt": "What is it?"}, [("sample", "What is it?")],
     "LLM response: It is a test."),
    ("test_elicitation", {"message": "Who?"}, [WHO],
     'User response: action=accept, content={"username":"u","email":"e@x.org"}'),
    ("list_roots", None, [ROOTS], "file:///somewhere"),
    ("test_missing_capability", None, [], "The client has a model"),
    ("test_streaming_elicitation", None, [NAME], "Hello, Ada!"),
    (ROUND + "elicitation", None, [NAME], "Hello, Ada!"),
    (ROUND + "sampling", None, [("sample", "What is the capital of France?")], "Paris"),
    (ROUND + "list_roots", None, [ROOTS], "The roots are: file:///somewhere"),
    (ROUND + "request_state", None, [CONFIRM], "state-ok"),
    (ROUND + "tampered_state", None, [CONFIRM], "unchanged"),
    (ROUND + "multiple_inputs", None, [NAME, GREETING, ROOTS],
     "Good day, Ada! You have 1 roots."),
    (ROUND + "multi_round", None, [FIRST, SECOND], "Ada likes blue"),
    ("visit_page", None, [("url", "Please sign in")], "The user has been to the page"),
]

# The revision that introduced each kind of input request.
SINCE = {"form": "2025-06-18", "url": "2025-11-25", "sample": "", "roots": ""}


def without_key(said):
    """Replaces the key of an input request, which each tool chooses, by `KEY`."""
    return re.sub(r"inputRequests\.\w+\.", "inputRequests.KEY.", said)


def refusal(tool, revision):
    """Returns the error text of a tool whose input request does not exist in the revision."""
    if tool != "visit_page":
        # The whole input request does not exist in the revision. Encoding fails at this member.
        return "the answer could not be written: inputRequests.KEY.params.mode does not exist in this revision"
    if revision < "2025-06-18":
        return "the request may not be sent: the revision of the session does not have it"
    return "the request could not be written: mode does not exist in this revision"


def equal(left, right):
    if left != right:
        raise AssertionError(f"{left!r} is not {right!r}")


async def until(condition):
    """Waits until the condition holds, at most 10 seconds."""
    with anyio.move_on_after(10):
        while not condition():
            await anyio.sleep(0.01)


async def failing(code, awaitable):
    try:
        await awaitable
    except MCPError as error:
        equal(error.error.code, code)
        return error.error
    raise AssertionError(f"no error, expected {code}")


class Answers:
    """The answers of the client, and a record of the requests that it has received."""

    FORMS = {
        "Who?": {"username": "u", "email": "e@x.org"},
        "What is your name?": {"name": "Ada"},
        "Please confirm": {"ok": True},
        "Step 1: What is your name?": {"name": "Ada"},
        "Step 2: What is your favorite color?": {"color": "blue"},
        "What context should the prompt use?": {"context": "a test"},
    }
    SAMPLES = {
        "What is it?": (100, "It is a test."),
        "What is the capital of France?": (100, "Paris"),
        "Generate a greeting": (50, "Good day"),
    }

    def __init__(self):
        self.asked = []

    async def sampled(self, context, params):
        question = params.messages[0].content.text
        self.asked.append(("sample", question))
        most, answer = self.SAMPLES[question]
        equal(params.max_tokens, most)
        content = types.TextContent(type="text", text=answer)
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def elicited(self, context, params):
        if isinstance(params, types.ElicitRequestURLParams):
            self.asked.append(("url", params.message))
            equal(params.url, "https://example.com/sign-in")
            return types.ElicitResult(action="accept")
        self.asked.append(("form", params.message))
        return types.ElicitResult(action="accept", content=self.FORMS[params.message])

    async def roots(self, context):
        self.asked.append(("roots", ""))
        return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere")])
