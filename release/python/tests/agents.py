"""Agent loops over clients of HTTP, right and broken ones, and the scenario for them."""

import json
import os
import time
import urllib.error
import urllib.request

WEATHER = """version: 2
models:
  main:
    - calls:
        - {id: call_1, name: weather, arguments: {city: Bern}}
        - {id: call_2, name: weather, arguments: {city: Rome}}
    - text: It rains in both.
input: not used here
"""

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}


def post_urllib(url, body):
    headers = {"Authorization": "Bearer any-key", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        error.close()
        raise


def post_requests(url, body):
    import requests

    response = requests.post(url, json=body, headers={"Authorization": "Bearer any-key"})
    response.raise_for_status()
    return response.json()


def post_httpx(url, body):
    import httpx

    response = httpx.post(url, json=body, headers={"Authorization": "Bearer any-key"})
    response.raise_for_status()
    return response.json()


def run(base_url=None, omit=0, post=post_urllib, prompt="How is the weather in Bern and in Rome?"):
    """Run an agent. A broken one omits the results of the first calls."""
    messages = [{"role": "user", "content": prompt}]
    while True:
        url = (base_url or os.environ["OPENAI_BASE_URL"]) + "/chat/completions"
        message = post(url, {"model": "gpt-5", "messages": messages, "tools": [TOOL]})["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"][omit:]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "rain"})


def wait():
    """Wait for a signal. A single long sleep could begin after the signal came, and not end."""
    for _ in range(1200):
        time.sleep(0.05)
