// The official SDK of OpenAI, with its own loops: runTools and ResponsesToolRunner.
import OpenAI from 'openai'
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner'
import { main, maxSteps, retries, timeout, tools } from './case.mjs'

const model = 'gpt-4.1'

function chat(client, { streaming, input }) {
  const body = {
    model,
    messages: [{ role: 'user', content: input }],
    tools: tools.map(({ run, ...f }) => ({ type: 'function', function: { ...f, function: run, parse: JSON.parse } })),
    ...(streaming && { stream: true, stream_options: { include_usage: true } }),
  }
  return client.chat.completions.runTools(body, { maxChatCompletions: maxSteps }).finalContent()
}

async function responses(client, { streaming, input }) {
  const runner = new ResponsesToolRunner({
    functions: tools.map(({ run, ...f }) => ({ tool: { type: 'function', strict: true, ...f }, execute: run })),
  })
  const last = await runner.run(client, { model, input: [{ role: 'user', content: input }] }, { stream: streaming, maxSteps })
  return last.output_text
}

await main((c) => {
  const client = new OpenAI({ maxRetries: retries, timeout })
  return c.protocol === 'openai-chat' ? chat(client, c) : responses(client, c)
})
