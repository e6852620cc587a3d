// Tool loops with the SDKs. A broken loop omits the result of the first call.
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import OpenAI from "openai";

const question = "How warm is it in Paris and in Rome?";
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const description = "The temperature in a city.";
const results = (calls, broken) => calls.slice(broken ? 1 : 0);

async function openai({ baseURLs }, broken) {
  const client = new OpenAI({ baseURL: baseURLs.openai, apiKey: "any-key", maxRetries: 0 });
  const messages = [{ role: "user", content: question }];
  const tools = [{ type: "function", function: { name: "weather", description, parameters } }];
  for (;;) {
    const response = await client.chat.completions.create({ model: "gpt-5", messages, tools });
    const { message } = response.choices[0];
    messages.push(message);
    if (!message.tool_calls) return message.content;
    messages.push(...results(message.tool_calls, broken).map(({ id }) => ({ role: "tool", tool_call_id: id, content: "22" })));
  }
}

async function anthropic({ baseURLs }, broken) {
  const client = new Anthropic({ baseURL: baseURLs.anthropic, apiKey: "any-key", maxRetries: 0 });
  const messages = [{ role: "user", content: question }];
  const tools = [{ name: "weather", description, input_schema: parameters }];
  for (;;) {
    const { content } = await client.messages.create({ model: "claude-opus-4-5", max_tokens: 1024, messages, tools });
    messages.push({ role: "assistant", content });
    const calls = content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) return content[0].text;
    messages.push({ role: "user", content: results(calls, broken).map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "22" })) });
  }
}

async function google({ baseURLs }, broken) {
  const { models } = new GoogleGenAI({ apiKey: "any-key", httpOptions: { baseUrl: baseURLs.gemini } });
  const contents = [{ role: "user", parts: [{ text: question }] }];
  const config = { tools: [{ functionDeclarations: [{ name: "weather", description, parametersJsonSchema: parameters }] }] };
  for (;;) {
    const response = await models.generateContent({ model: "gemini-3-pro-preview", contents, config });
    contents.push(response.candidates[0].content);
    if (!response.functionCalls) return response.text;
    const parts = results(response.functionCalls, broken).map(({ id, name }) => ({ functionResponse: { id, name, response: { result: 22 } } }));
    contents.push({ role: "user", parts });
  }
}

// The AI SDK appends the results itself; this loop is broken by its step limit.
async function ai({ baseURLs }, broken) {
  const { text } = await generateText({
    model: createOpenAI({ baseURL: baseURLs.openai, apiKey: "any-key" })("gpt-5"),
    prompt: question,
    tools: { weather: tool({ description, inputSchema: jsonSchema(parameters), execute: () => 22 }) },
    stopWhen: isStepCount(broken ? 1 : 5),
    maxRetries: 0,
  });
  return text;
}

export const agents = { openai, "@anthropic-ai/sdk": anthropic, "@google/genai": google, ai };
