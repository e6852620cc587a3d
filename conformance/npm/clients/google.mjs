// The official SDK of Google, with a loop by hand as its guide to function calling
// shows it: the parts of an response go back as they came.
import { GoogleGenAI } from '@google/genai'
import { loop, main, retries, run, timeout, tools } from './case.mjs'

await main(({ streaming, input }) => {
  const { models } = new GoogleGenAI({ httpOptions: { timeout, retryOptions: { attempts: 1 + retries, initialDelay: 0.001 } } })
  const contents = [{ role: 'user', parts: [{ text: input }] }]
  const body = {
    model: 'gemini-3-pro-preview',
    contents,
    config: { tools: [{ functionDeclarations: tools.map(({ name, description, parameters }) => ({ name, description, parametersJsonSchema: parameters })) }] },
  }
  return loop(async () => {
    const responses = streaming ? await models.generateContentStream(body) : [await models.generateContent(body)]
    const parts = []
    for await (const { candidates } of responses) parts.push(...(candidates?.[0]?.content?.parts ?? []))
    contents.push({ role: 'model', parts })
    const calls = parts.filter((part) => part.functionCall)
    if (calls.length === 0) return parts.map((part) => part.text ?? '').join('')
    contents.push({
      role: 'user',
      parts: calls.map(({ functionCall: { id, name, args } }) => ({ functionResponse: { id, name, response: { result: run(name, args) } } })),
    })
  })
})
