import {mkdir, open, readFile, rename} from 'node:fs/promises'
import {join} from 'node:path'
import {nobodyYet, type People, type PeopleIndex, peopleSchema} from '../page/people.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {unreadable} from '../storage/pglite/check-files.ts'

const fileName = 'people.json'
const draftName = `${fileName}.new`

/**
 * Stores the index in a folder that one process locks. A change is written to a new file and renamed, so it is never
 * read half written.
 */
export function peopleFile(folder: string): PeopleIndex {
  let turn: Promise<People> | null = null
  const read = async (): Promise<People> => {
    const text = await readFile(join(folder, fileName), 'utf8').catch(error => whenMissing(folder, error))
    if (text === null) return nobodyYet
    const people = peopleSchema.safeParse(parsed(text))
    // Each database records its owner. A damaged index loses only who was there last.
    return people.success ? people.data : nobodyYet
  }
  return {
    read,
    change: change => {
      const next = (turn ?? Promise.resolve(nobodyYet))
        .catch(() => nobodyYet)
        .then(async () => {
          const people = change(await read())
          await write(folder, people)
          return people
        })
      turn = next
      return next
    },
    onChange: () => () => undefined,
  }
}

async function write(folder: string, people: People): Promise<void> {
  await replace(folder, people).catch(error => Promise.reject(named(folder, error)))
}

async function replace(folder: string, people: People): Promise<void> {
  await mkdir(folder, {recursive: true})
  const draft = join(folder, draftName)
  const file = await open(draft, 'w')
  try {
    await file.writeFile(JSON.stringify(people))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, join(folder, fileName))
}

function whenMissing(folder: string, error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw named(folder, error)
}

function named(folder: string, error: unknown): HoldfastError {
  return HoldfastError.from(unreadable(folder, `the file ${fileName}`, error) ?? error)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
