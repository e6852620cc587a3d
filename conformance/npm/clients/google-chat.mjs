// The official SDK of Google, with its own loop: a chat that calls functions by itself.
import { GoogleGenAI } from '@google/genai'
import { main, maxSteps, retries, run, timeout, tools } from './case.mjs'

const callable = {
  tool: async () => ({ functionDeclarations: tools.map(({ name, description, parameters }) => ({ name, description, parametersJsonSchema: parameters })) }),
  callTool: async (calls) => calls.map(({ id, name, args }) => ({ functionResponse: { id, name, response: { result: run(name, args) } } })),
}

await main(async ({ streaming, input }) => {
  const { chats } = new GoogleGenAI({ httpOptions: { timeout, retryOptions: { attempts: 1 + retries, initialDelay: 0.001 } } })
  const chat = chats.create({
    model: 'gemini-3-pro-preview',
    config: { tools: [callable], automaticFunctionCalling: { maximumRemoteCalls: maxSteps } },
  })
  if (!streaming) return (await chat.sendMessage({ message: input })).text
  let text = ''
  for await (const chunk of await chat.sendMessageStream({ message: input })) text += chunk.text ?? ''
  return text
})
