// Vercel's AI SDK: generateText and streamText, over its own providers.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { main, maxSteps, retries, timeout, tools } from './case.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false

const models = {
  'openai-chat': () => createOpenAI().chat('gpt-4.1'),
  'openai-responses': () => createOpenAI().responses('gpt-4.1'),
  'anthropic-messages': () => createAnthropic()('claude-opus-4-5'),
  gemini: () => createGoogle({ baseURL: `${process.env.GOOGLE_GEMINI_BASE_URL}/v1beta` })('gemini-3-pro-preview'),
}

await main(async ({ protocol, streaming, input }) => {
  const body = {
    model: models[protocol](),
    prompt: input,
    tools: Object.fromEntries(
      tools.map(({ name, description, parameters, run }) => [name, tool({ description, inputSchema: jsonSchema(parameters), execute: run })]),
    ),
    stopWhen: isStepCount(maxSteps),
    maxRetries: retries,
    timeout: 3 * timeout, // of the whole loop, with the wait before a retry
  }
  if (!streaming) return (await generateText(body)).text
  let failed
  const stream = streamText({ ...body, onError: ({ error }) => (failed ??= error) })
  await stream.consumeStream()
  if (failed !== undefined) throw failed
  return stream.text
})
