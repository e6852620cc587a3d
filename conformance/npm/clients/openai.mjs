// The official SDK of OpenAI, with a loop by hand as its guides to function calling
// show it. Streams are read by the SDK's own helpers.
import OpenAI from 'openai'
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems'
import { loop, main, retries, run, timeout, tools } from './case.mjs'

const model = 'gpt-4.1'

function chat(client, { streaming, input }) {
  const messages = [{ role: 'user', content: input }]
  const body = { model, messages, ...(streaming && { stream_options: { include_usage: true } }), tools: tools.map(({ run, ...f }) => ({ type: 'function', function: f })) }
  return loop(async () => {
    const response = streaming
      ? await client.chat.completions.stream(body).finalChatCompletion()
      : await client.chat.completions.create(body)
    const { message } = response.choices[0]
    messages.push(message)
    if (!message.tool_calls?.length) return message.content ?? message.refusal
    for (const { id, function: f } of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: run(f.name, JSON.parse(f.arguments)) })
    }
  })
}

function responses(client, { streaming, input }) {
  const items = [{ role: 'user', content: input }]
  const body = { model, input: items, tools: tools.map(({ run, ...f }) => ({ type: 'function', strict: true, ...f })) }
  return loop(async () => {
    const response = streaming ? await client.responses.stream(body).finalResponse() : await client.responses.create(body)
    items.push(...toResponseInputItems(response.output))
    const calls = response.output.filter((item) => item.type === 'function_call')
    if (calls.length === 0) return response.output_text
    for (const { call_id, name, arguments: args } of calls) {
      items.push({ type: 'function_call_output', call_id, output: run(name, JSON.parse(args)) })
    }
  })
}

await main((c) => {
  const client = new OpenAI({ maxRetries: retries, timeout })
  return c.protocol === 'openai-chat' ? chat(client, c) : responses(client, c)
})
