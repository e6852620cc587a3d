// Vercel's AI SDK: generateText and streamText, over its own providers.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { keep, main, maxSteps, retries, timeout, tools } from './case.mjs'

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
  if (!streaming) {
    const { text, finishReason } = await generateText(body)
    return complete(text, finishReason)
  }
  let failed
  const stream = streamText({ ...body, onError: ({ error }) => (failed ??= error) })
  await stream.consumeStream()
  if (failed !== undefined) throw failed
  return complete(await stream.text, await stream.finishReason)
})

/** Returns the text. With keep, a run that ended early is an error: the library reports that in the finish reason. */
function complete(text, finishReason) {
  if (keep && ['error', 'interrupted'].includes(finishReason)) throw new Error(`the run ended with ${finishReason}`)
  return text
}
