// Prints what Vercel's AI SDK reads from a UI message stream: the types of the chunks, the message
// that they become, and the reported errors. The stream goes through the SDK's own
// createUIMessageStream. The SDK's schemas check each chunk and the message. A second argument
// is the number of chunks after which it stops reading.
import { createUIMessageStream, DefaultChatTransport, readUIMessageStream, uiMessageChunkSchema, validateUIMessages } from 'ai'

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
    async transform(chunk, controller) {
      const valid = await uiMessageChunkSchema().validate(chunk)
      if (!valid.success) throw valid.error
      types.push(chunk.type)
      controller.enqueue(chunk)
      if (types.length === Number(stopAfter)) stop.abort()
    },
  }),
)
const stream = createUIMessageStream({ execute: ({ writer }) => writer.merge(seen) })
let message
for await (const m of readUIMessageStream({ stream, onError: (error) => errors.push(error.message) })) message = m
await validateUIMessages({ messages: [{ ...message, id: message.id || 'm' }] })
console.log(JSON.stringify({ types, message, errors }))
