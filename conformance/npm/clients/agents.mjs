// OpenAI's Agents SDK: its loop, over both protocols of OpenAI.
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { keep, main, maxSteps, retries, timeout, tools } from './case.mjs'

setTracingDisabled(true)

await main(async ({ protocol, streaming, input }) => {
  const runner = new Runner({
    modelProvider: new OpenAIProvider({
      openAIClient: new OpenAI({ maxRetries: retries, timeout }),
      useResponses: protocol === 'openai-responses',
    }),
    ...(keep && { toolNotFoundBehavior: 'return_error_to_model' }),
  })
  const agent = new Agent({
    name: 'weather',
    model: 'gpt-4.1',
    tools: tools.map(({ name, description, parameters, run }) => tool({ name, description, parameters, strict: true, execute: run })),
  })
  const result = await runner.run(agent, input, { stream: streaming, maxTurns: maxSteps })
  if (streaming) {
    await result.completed
    if (result.error) throw result.error
  }
  return result.finalOutput
})
