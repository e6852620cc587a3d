// The shared parts of the programs in this folder: the tools, the input of cases and the output of
// results.
import { createInterface } from 'node:readline'

/** The time limit of a response, the retries and the step limit of a loop. */
const [protocol, mode, argument] = process.argv.slice(2)
export const keep = argument === 'keep'
export const timeout = 2000
export const retries = keep ? 0 : 1 // the wait before a retry takes time
export const maxSteps = 8

const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })

const skies = { Bern: 'rain', Rome: 'sun', Oslo: 'snow' }

const numbered = (name) => ({ name, description: name, parameters: object({ n: { type: 'number' } }), run: ({ n }) => `${name} got {"n":${n}}` })

/** The tools of all scenarios: name, description, JSON Schema of the arguments, function. */
export const tools = keep ? [numbered('a'), numbered('b')] : [
  { name: 'weather', description: 'The weather of a city.', parameters: object({ city: { type: 'string' } }), run: ({ city }) => skies[city] ?? 'fog' },
  { name: 'note', description: 'Notes a text.', parameters: object({ text: { type: 'string' } }), run: () => 'noted' },
  { name: 'now', description: 'The time.', parameters: object({}), run: () => 'noon' },
]

/** Returns the result of a call, for manual loops. The arguments are an object. */
export function run(name, args) {
  const tool = tools.find((t) => t.name === name)
  if (tool === undefined) throw new Error(`the model calls the unknown tool ${JSON.stringify(name)}`)
  return tool.run(args)
}

/** A manual loop: calls step() until it returns the final text. */
export async function loop(step) {
  for (let i = 0; i < maxSteps; i++) {
    const text = await step()
    if (text !== undefined) return text
  }
  throw new Error(`the loop reached its step limit of ${maxSteps}`)
}

const prompt = 'How is the weather in Bern and in Rome?'

const why = (e) => (e instanceof Error ? `${e.name}: ${e.message}` : `thrown: ${JSON.stringify(e)}`)

let unhandled = () => {} // rejects if something fails outside the promise of the library

async function result(run, c) {
  Object.assign(process.env, c.env)
  const failure = new Promise((_, reject) => (unhandled = reject))
  try {
    return { id: c.id, text: (await Promise.race([run({ input: prompt, ...c }), failure])) ?? '', error: '' }
  } catch (e) {
    return { id: c.id, text: '', error: why(e) }
  }
}

/**
 * Runs cases: run(case) runs one and returns its final text. A case has a protocol (openai-chat,
 * openai-responses, anthropic-messages, gemini), a response mode (streaming or not), and env, the
 * environment with base URLs and keys, which the libraries read.
 *
 * With the arguments PROTOCOL and streaming or non-streaming, it runs this case with the current
 * environment, prints the text, and exits with status 1 on failure. With the third argument keep, it runs the case for each
 * line of the input and writes a line "done" or "done 1", as looptape explore --keep requires; the tools are a and b. Without
 * arguments, each line of the input is a case in JSON, and each line of the output is a result {"id", "text", "error"}.
 */
export async function main(run) {
  if (protocol !== undefined && !keep) {
    console.log(await run({ protocol, streaming: mode === 'streaming', input: prompt }))
    process.exit() // some libraries keep a connection open for a while
  }
  for (const event of ['unhandledRejection', 'uncaughtException']) {
    process.on(event, (e) => unhandled(new Error(`uncaught: ${why(e)}`)))
  }
  console.log = console.info = console.error // output of libraries is not a result
  for await (const line of createInterface({ input: process.stdin })) {
    if (keep) {
      const { error } = await result(run, { protocol, streaming: mode === 'streaming' })
      if (error !== '') console.error(error)
      process.stdout.write(error === '' ? 'done\n' : 'done 1\n')
      continue
    }
    process.stdout.write(JSON.stringify(await result(run, JSON.parse(line))) + '\n')
  }
}
