"""Tests an agent with scripted and with recorded responses."""

import json
import os
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
PROMPT = "How warm is it in Paris?"
ANSWER = "It is 22 degrees in Paris."


def test_scenario(looptape_serve):
    """The server rejects the requests that the provider rejects.

    At the end, the test fails if a request was wrong, or if a response of the scenario was not used.
    """
    fake = looptape_serve(HERE / "weather.txtar")
    assert agent(fake.base_urls["openai"], PROMPT) == ANSWER


def test_cassette(looptape_replay):
    """To record the cassette again: looptape record -o weather.tape -- your-program."""
    recorded = looptape_replay(HERE / "weather.tape")
    assert agent(recorded.base_urls["openai"], PROMPT) == ANSWER


def agent(base_url, prompt):
    """An example with Chat Completions. Call your own agent in its place, with the base URL."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    messages = [{"role": "user", "content": prompt}]
    while True:
        request = urllib.request.Request(
            base_url + "/chat/completions",
            json.dumps({"model": "gpt-5", "tools": tools, "messages": messages}).encode(),
            {"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "any-key"), "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            message = json.load(response)["choices"][0]["message"]
        if not message.get("tool_calls"):
            return message["content"]
        messages.append(message)
        for call in message["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": '{"tempC":22}'})
