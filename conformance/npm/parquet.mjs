// Prints the rows of a Parquet file as JSON, a line each, as hyparquet reads them.
import { readFileSync } from 'node:fs'
import { parquetReadObjects } from 'hyparquet'

const bytes = readFileSync(process.argv[2])
const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
for (const row of await parquetReadObjects({ file })) {
  console.log(JSON.stringify(row, (_, v) => (typeof v === 'bigint' ? Number(v) : v)))
}
