// The official SDK of Anthropic, with its own loop: toolRunner.
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { main, maxSteps, retries, timeout, tools } from './case.mjs'

await main(async ({ streaming, input }) => {
  const client = new Anthropic({ maxRetries: retries, timeout })
  const runner = client.beta.messages.toolRunner({
    model: 'claude-opus-4-5',
    max_tokens: 1024,
    max_iterations: maxSteps,
    messages: [{ role: 'user', content: input }],
    tools: tools.map(({ name, description, parameters, run }) => betaTool({ name, description, inputSchema: parameters, run })),
    stream: streaming,
    thread: false, // by default the conversation is kept by Anthropic, and only what is new is sent
  })
  const last = await runner.runUntilDone()
  return last.content.map((block) => block.text ?? '').join('')
})
