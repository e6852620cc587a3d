// Tests an agent with scripted and with recorded responses.
import { fileURLToPath } from "node:url";
import { replay, serve } from "looptape";
import { expect, test } from "vitest";

const file = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));
const prompt = "How warm is it in Paris?";
const answer = "It is 22 degrees in Paris.";

// The server rejects the requests that the provider rejects. close throws an error with the report
// if a request was wrong, or if a response of the scenario was not used.
test("scenario", async () => {
  const fake = await serve(file("weather.txtar"));
  try {
    expect(await agent(fake.baseURLs.openai, prompt)).toBe(answer);
  } finally {
    await fake.close();
  }
});

// To record the cassette again, use record instead of replay, and the key in OPENAI_API_KEY.
test("cassette", async () => {
  const recorded = await replay(file("weather.tape"));
  try {
    expect(await agent(recorded.baseURLs.openai, prompt)).toBe(answer);
  } finally {
    await recorded.close();
  }
});

/**
 * An example with Chat Completions. Call your own agent in its place, with the base URL.
 * @param {string} baseURL
 * @param {string} prompt
 */
async function agent(baseURL, prompt) {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const tools = [{ type: "function", function: { name: "weather", parameters } }];
  /** @type {object[]} */
  const messages = [{ role: "user", content: prompt }];
  for (;;) {
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: "POST",
      headers: { Authorization: `Bearer ${process.env.OPENAI_API_KEY ?? "any-key"}`, "Content-Type": "application/json" },
      body: JSON.stringify({ model: "gpt-5", tools, messages }),
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    const { choices } = /** @type {any} */ (await response.json());
    const { message } = choices[0];
    if (!message.tool_calls?.length) return message.content;
    messages.push(message);
    for (const call of message.tool_calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: '{"tempC":22}' });
    }
  }
}
