// What all programs of this folder have in common: the tools, and how a case comes
// in and its outcome goes out.
import { createInterface } from 'node:readline'

/** The longest that a library may wait for an answer, and the steps of a loop. */
export const timeout = 2000
export const retries = 1
export const maxSteps = 8

const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })

const skies = { Bern: 'rain', Rome: 'sun', Oslo: 'snow' }

/** The tools of all scenarios: name, description, JSON Schema of the arguments, function. */
export const tools = [
  { name: 'weather', description: 'The weather of a city.', parameters: object({ city: { type: 'string' } }), run: ({ city }) => skies[city] ?? 'fog' },
  { name: 'note', description: 'Notes a text.', parameters: object({ text: { type: 'string' } }), run: () => 'noted' },
  { name: 'now', description: 'The time.', parameters: object({}), run: () => 'noon' },
]

/** The result of a call, for loops that are written by hand: the arguments are an object. */
export function run(name, args) {
  const tool = tools.find((t) => t.name === name)
  if (tool === undefined) throw new Error(`the model calls ${JSON.stringify(name)}, and there is no such tool`)
  return tool.run(args)
}

/** A loop by hand: step() until it returns the last text. */
export async function loop(step) {
  for (let i = 0; i < maxSteps; i++) {
    const text = await step()
    if (text !== undefined) return text
  }
  throw new Error(`no end after ${maxSteps} steps`)
}

const question = 'How is the weather in Bern and in Rome?'

const why = (e) => (e instanceof Error ? `${e.name}: ${e.message}` : `thrown: ${JSON.stringify(e)}`)

let unhandled = () => {} // what fails outside the library's own promise

async function outcome(play, c) {
  Object.assign(process.env, c.env)
  const stray = new Promise((_, reject) => (unhandled = reject))
  try {
    return { id: c.id, text: (await Promise.race([play({ input: question, ...c }), stray])) ?? '', error: '' }
  } catch (e) {
    return { id: c.id, text: '', error: why(e) }
  }
}

/**
 * Plays cases: play(case) plays one and returns its last text. A case has a protocol
 * (openai-chat, openai-responses, anthropic-messages, gemini), is streamed or not, and has
 * env, for the environment: base URLs and keys are read from there, as the libraries do.
 *
 * With the arguments PROTOCOL and streamed or buffered it plays that one, with the
 * environment as it is, prints the text, and fails with status 1. Without arguments,
 * each line of the input is a case in JSON and is answered with {"id", "text", "error"}.
 */
export async function main(play) {
  const [protocol, delivery] = process.argv.slice(2)
  if (protocol !== undefined) {
    console.log(await play({ protocol, streamed: delivery === 'streamed', input: question }))
    process.exit() // some libraries keep a connection open for a while
  }
  for (const event of ['unhandledRejection', 'uncaughtException']) {
    process.on(event, (e) => unhandled(new Error(`nobody catches ${why(e)}`)))
  }
  console.log = console.info = console.error // what libraries say is not an answer
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await outcome(play, JSON.parse(line))) + '\n')
  }
}
