// Prints what Vercel's AI SDK makes of a UI message stream: the chunks by their types,
// the message that they come to, and the errors that it was told of. A second argument
// is the number of chunks after which it stops reading.
import { DefaultChatTransport, readUIMessageStream } from 'ai'

const [api, stopAfter] = process.argv.slice(2)
const types = []
const errors = []
const stop = new AbortController()

const transport = new DefaultChatTransport({ api })
const chunks = await transport.sendMessages({
  chatId: 'chat',
  messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  trigger: 'submit-message',
  abortSignal: stop.signal,
})
const seen = chunks.pipeThrough(
  new TransformStream({
    transform(chunk, controller) {
      types.push(chunk.type)
      controller.enqueue(chunk)
      if (types.length === Number(stopAfter)) stop.abort()
    },
  }),
)
let message
for await (const m of readUIMessageStream({ stream: seen, onError: (error) => errors.push(error.message) })) message = m
console.log(JSON.stringify({ types, message, errors }))
