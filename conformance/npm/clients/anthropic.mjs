// The official SDK of Anthropic, with a loop by hand as its guide to tool use shows it.
// Streams are read by the SDK's own helper.
import Anthropic from '@anthropic-ai/sdk'
import { loop, main, retries, run, timeout, tools } from './case.mjs'

await main(({ streaming, input }) => {
  const client = new Anthropic({ maxRetries: retries, timeout })
  const messages = [{ role: 'user', content: input }]
  const body = {
    model: 'claude-opus-4-5',
    max_tokens: 1024,
    messages,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
  }
  return loop(async () => {
    const response = streaming ? await client.messages.stream(body).finalMessage() : await client.messages.create(body)
    messages.push({ role: 'assistant', content: response.content })
    if (response.stop_reason === 'pause_turn') return undefined // to be continued
    const calls = response.content.filter((block) => block.type === 'tool_use')
    if (calls.length === 0) return response.content.map((block) => block.text ?? '').join('')
    messages.push({
      role: 'user',
      content: calls.map(({ id, name, input }) => ({ type: 'tool_result', tool_use_id: id, content: run(name, input) })),
    })
  })
})
