"""A model that says what a script says, over four protocols, and records every tool result it receives.

The script is a list of shell commands, of calls of other tools (`{"tool": NAME, "arguments": {…}}`), or of
functions that return one of these for the results so far. The answer to a request with N tool results is call
N, or a final text if there are no more. `{next}` in a command is the command that the last result names for
the rest of an output. A call that starts a subagent has its script in `within`, and its prompt tells the
conversation of the subagent from the main one.
"""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELL_TOOLS = (
    "Bash",
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "run_commands",
    "terminal",
)
# The tool of Codex's code mode: it runs JavaScript, which calls other tools.
CODE_TOOL = "exec"
CODE = "const ran = await tools.exec_command({}); text(`exit_code=${{ran.exit_code}}\\n${{ran.output}}`);"
# The schema of a tool that takes a text.
CUSTOM: dict = {}
COMMAND_KEYS = ("command", "cmd", "commands")
# What the server has besides the model, for tools that fetch pages.
LONG_PAGE = "/long.txt"
PAGE = "".join(f"line {number} of the page\n" for number in range(3000))
# What every answer of the model says that it has.
WRITTEN_TOKENS = 300
FINAL_TEXT = "That is all."
FILLERS = {
    "string": "as asked",
    "boolean": False,
    "number": 60_000,
    "integer": 60_000,
    "array": [],
    "object": {},
}
NEXT = re.compile(r"(?:\[TRUNCATED\]|;) (\S*tokcap (?:show [a-z]{4}\d+|--token-offset \d+ -c)[^\n\"\]\\]*)")


def text_of(value) -> str:
    """Return the text in a tool result, which every agent packs in its own way."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    if isinstance(value, dict):
        for key in ("text", "output", "content", "error"):
            if key in value:
                return text_of(value[key])
    return "" if value is None else json.dumps(value)


class Protocol:
    """One way to talk to a model."""

    path_part: str

    def results(self, body) -> list[str]:
        raise NotImplementedError

    def tools(self, body) -> dict[str, dict]:
        """Return the schema of the arguments of each tool."""
        raise NotImplementedError

    def events(self, body, say: str, call: tuple[str, dict] | None) -> list[tuple[str, object]]:
        """Return the events of a streamed answer: name and data."""
        raise NotImplementedError


class Messages(Protocol):
    """Anthropic Messages."""

    path_part = "/messages"

    def results(self, body):
        blocks = [m["content"] for m in body["messages"] if isinstance(m["content"], list)]
        return [text_of(b.get("content")) for part in blocks for b in part if b.get("type") == "tool_result"]

    def tools(self, body):
        return {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools") or ()}

    def events(self, body, say, call):
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": say}
        if call:
            block = {
                "type": "tool_use",
                "id": f"toolu_{len(self.results(body)):04}",
                "name": call[0],
                "input": {},
            }
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        message = {
            "id": f"msg_{len(self.results(body))}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "fake"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": WRITTEN_TOKENS},
        }
        stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        parts = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": {"output_tokens": WRITTEN_TOKENS}},
            {"type": "message_stop"},
        ]
        return [(part["type"], part) for part in parts]


class ChatCompletions(Protocol):
    """OpenAI Chat Completions."""

    path_part = "/chat/completions"

    def results(self, body):
        texts = [(message["role"], text_of(message.get("content"))) for message in body["messages"]]
        # smolagents sends results as messages of the user.
        return [text for role, text in texts if role == "tool" or text.startswith("Observation:")]

    def tools(self, body):
        functions = [tool.get("function", {}) for tool in body.get("tools") or ()]
        return {function.get("name", ""): function.get("parameters", {}) for function in functions}

    def events(self, body, say, call):
        delta = {"role": "assistant", "content": say}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            one = {
                "index": 0,
                "id": f"call_{len(self.results(body)):04}",
                "type": "function",
                "function": function,
            }
            delta = {"role": "assistant", "content": None, "tool_calls": [one]}
        chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
        reason = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": WRITTEN_TOKENS, "total_tokens": 2}
        return [
            ("", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
            ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
            ("", {**chunk, "choices": [], "usage": usage}),
            ("", "[DONE]"),
        ]


class Responses(Protocol):
    """OpenAI Responses. A tool may take any text instead of arguments (`custom`)."""

    path_part = "/responses"

    def results(self, body):
        items = [item for item in body["input"] if isinstance(item, dict)]
        kinds = ("function_call_output", "custom_tool_call_output")
        return [text_of(item.get("output")) for item in items if item.get("type") in kinds]

    def tools(self, body):
        return {name: schema for name, (_, schema) in self.named_tools(body).items()}

    def named_tools(self, body):
        """Return the namespace and the schema of each tool."""
        given = [*(body.get("tools") or ())]
        for item in body["input"]:
            # In code mode, Codex describes its tools in the conversation.
            if isinstance(item, dict) and item.get("type") == "additional_tools":
                given += item.get("tools", ())
        spaces = {tool["name"]: tool["tools"] for tool in given if tool.get("type") == "namespace"}
        found = {}
        for space, tools in {"": given, **spaces}.items():
            for tool in tools:
                if tool.get("type") in ("function", "custom"):
                    schema = CUSTOM if tool["type"] == "custom" else tool.get("parameters", {})
                    found[tool["name"]] = space, schema
        return found

    def events(self, body, say, call):
        number = len(self.results(body))
        item = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": say, "annotations": []}],
        }
        if call:
            space, schema = self.named_tools(body)[call[0]]
            is_custom = schema is CUSTOM
            given = {"input": call[1]["input"]} if is_custom else {"arguments": json.dumps(call[1])}
            item = {
                "type": "custom_tool_call" if is_custom else "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": call[0],
                **({"namespace": space} if space else {}),
                **given,
                "status": "completed",
            }
        usage = {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": WRITTEN_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        }
        response = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "model": "fake",
            "usage": usage,
        }
        parts = [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**response, "status": "completed", "output": [item]}},
        ]
        return [(part["type"], {**part, "sequence_number": place}) for place, part in enumerate(parts)]


class Gemini(Protocol):
    """Gemini `streamGenerateContent`."""

    path_part = "enerateContent"

    def results(self, body):
        parts = [part for content in body["contents"] for part in content.get("parts", ())]
        found = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return [text_of(one.get("response")) for one in found]

    def tools(self, body):
        given = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())]
        return {one["name"]: one.get("parametersJsonSchema") or one.get("parameters", {}) for one in given}

    def events(self, body, say, call):
        settings = body.get("generationConfig") or {}
        schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
        # Gemini CLI asks for the difficulty of a task, and again for minutes if the answer makes no sense.
        say = json.dumps(filled(schema)) if schema else say
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": say}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": WRITTEN_TOKENS, "totalTokenCount": 2}
        content = {"role": "model", "parts": [part]}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        return [("", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"})]


def filled(schema: dict) -> object:
    """Return a value that a JSON schema describes."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type", "string")).lower()
    if kind == "object":
        return {name: filled(inner) for name, inner in schema.get("properties", {}).items()}
    return 50 if kind in ("number", "integer") else FILLERS[kind]


PROTOCOLS = (Messages(), ChatCompletions(), Responses(), Gemini())


def shell_call(tools: dict[str, dict], command: str) -> tuple[str, dict]:
    """Return the call of the agent's shell tool that runs a command; `LookupError` if it has none."""
    name = next((name for name in SHELL_TOOLS if name in tools), None)
    if name is None and CODE_TOOL in tools:
        return CODE_TOOL, {"input": CODE.format(json.dumps({"cmd": command}))}
    if name is None:
        raise LookupError(f"no shell tool among {sorted(tools)}")
    properties = tools[name].get("properties", {})
    key = next(key for key in COMMAND_KEYS if key in properties)
    arguments = {key: [command] if key == "commands" else command}
    for needed in tools[name].get("required", ()):
        kind = properties.get(needed, {}).get("type")
        arguments.setdefault(needed, FILLERS.get(kind if isinstance(kind, str) else "string", "as asked"))
    return name, arguments


def call_of(tools: dict[str, dict], step: str | dict) -> tuple[str, dict]:
    """Return the call that a step of a script asks for; `LookupError` if the agent has no such tool."""
    if isinstance(step, str):
        return shell_call(tools, step)
    if step["tool"] not in tools:
        raise LookupError(f"no tool {step['tool']} among {sorted(tools)}")
    return step["tool"], step["arguments"]


class FakeModel:
    """The script, and the results that the agent has sent so far."""

    def __init__(self, script: list[str | dict]) -> None:
        self.script = script
        self.results: list[str] = []
        # What subagents have sent.
        self.within: list[str] = []
        self.problem = ""

    def answer(self, protocol: Protocol, body) -> list[tuple[str, object]]:
        tools = protocol.tools(body)
        results = protocol.results(body)
        # Requests without tools are for titles and summaries. The summary of a page is all of it.
        if not tools:
            return protocol.events(body, PAGE if PAGE.splitlines()[-1] in json.dumps(body) else "ok", None)
        script = self.script_within(body)
        if script is self.script and len(results) > len(self.results):
            self.results = results
        elif script is not self.script and len(results) > len(self.within):
            self.within = results
        if len(results) >= len(script):
            return protocol.events(body, FINAL_TEXT, None)
        step = script[len(results)]
        if callable(step):
            step = step(results)
        if isinstance(step, str) and "{next}" in step:
            named = NEXT.findall(results[-1]) if results else []
            named = named[-1].strip() if named else "echo nothing is named"
            # A command that is run again is the one before, which is not always a text.
            step = step.replace("{next}", named.replace("COMMAND", str(script[len(results) - 1])))
        try:
            return protocol.events(body, "", call_of(tools, step))
        except LookupError as error:
            self.problem = str(error)
            return protocol.events(body, FINAL_TEXT, None)

    def script_within(self, body) -> list[str | dict]:
        """Return the script of the conversation: that of a subagent if it begins with its prompt."""
        begins = json.dumps(body.get("messages", [""])[0])
        for step in self.script:
            if isinstance(step, dict) and "within" in step and step["arguments"]["prompt"] in begins:
                return step["within"]
        return self.script

    def server(self) -> ThreadingHTTPServer:
        """Return a server on a free port of this machine."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_words):
                """Say nothing."""

            def do_GET(self):
                if self.path == LONG_PAGE:
                    self.send("text/plain", PAGE)
                    return
                names = ("fake-model", "gpt-5.1", "gpt-4o")
                models = [{"id": name, "object": "model", "created": 1, "owned_by": "fake"} for name in names]
                self.send("application/json", json.dumps({"object": "list", "data": models, "models": []}))

            def do_POST(self):
                body = json.loads(self.body() or b"{}")
                path = self.path.partition("?")[0]
                protocol = next((one for one in PROTOCOLS if path.endswith(one.path_part)), None)
                if protocol is None:
                    self.send("application/json", '{"input_tokens": 1, "totalTokens": 1}')
                    return
                events = model.answer(protocol, body)
                if not (body.get("stream") or "stream" in path):
                    self.send("application/json", json.dumps(whole(protocol, events)))
                    return
                lines = []
                for name, data in events:
                    lines += [f"event: {name}"] if name else []
                    lines += [f"data: {data if isinstance(data, str) else json.dumps(data)}", ""]
                self.send("text/event-stream", "\n".join(lines) + "\n")

            def body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                blocks = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    blocks.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(blocks)

            def send(self, kind: str, text: str) -> None:
                data = text.encode("utf-8", "surrogatepass")
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        ThreadingHTTPServer.daemon_threads = True
        return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def whole(protocol: Protocol, events: list[tuple[str, object]]) -> object:
    """Return the answer to a request that is not streamed."""
    if isinstance(protocol, Messages):
        begun, block, delta, _, end, _ = (data for _, data in events)
        content = {**block["content_block"], "text": delta["delta"].get("text", "")}
        if content["type"] == "tool_use":
            content = {**block["content_block"], "input": json.loads(delta["delta"]["partial_json"])}
        return {**begun["message"], "content": [content], "stop_reason": end["delta"]["stop_reason"]}
    if isinstance(protocol, ChatCompletions):
        (_, begun), (_, end), (_, last), _ = events
        message = begun["choices"][0]["delta"]
        choice = {"index": 0, "message": message, "finish_reason": end["choices"][0]["finish_reason"]}
        return {**last, "object": "chat.completion", "choices": [choice]}
    return events[-1][1] if isinstance(protocol, Gemini) else events[-1][1]["response"]
