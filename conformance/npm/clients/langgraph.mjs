// LangGraph: its ready-made agent, over LangChain's models.
import { ChatAnthropic } from '@langchain/anthropic'
import { tool } from '@langchain/core/tools'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { main, maxSteps, retries, timeout, tools } from './case.mjs'

const models = {
  'openai-chat': (o) => new ChatOpenAI({ ...o, model: 'gpt-4.1', timeout, useResponsesApi: false }),
  'openai-responses': (o) => new ChatOpenAI({ ...o, model: 'gpt-4.1', timeout, useResponsesApi: true }),
  'anthropic-messages': (o) => new ChatAnthropic({ ...o, model: 'claude-opus-4-5', clientOptions: { timeout } }),
  gemini: (o) => new ChatGoogleGenerativeAI({ ...o, model: 'gemini-3-pro-preview', baseUrl: process.env.GOOGLE_GEMINI_BASE_URL }),
}

const theirTools = tools.map(({ name, description, parameters, run }) => tool(run, { name, description, schema: parameters }))

await main(async ({ protocol, streaming, input }) => {
  const agent = createReactAgent({ llm: models[protocol]({ maxRetries: retries }), tools: theirTools })
  const start = { messages: [{ role: 'user', content: input }] }
  const limits = { recursionLimit: 2 * maxSteps }
  if (!streaming) return (await agent.invoke(start, limits)).messages.at(-1).text
  let state
  for await (const [mode, chunk] of await agent.stream(start, { ...limits, streamMode: ['messages', 'values'] })) {
    if (mode === 'values') state = chunk
  }
  return state.messages.at(-1).text
})
