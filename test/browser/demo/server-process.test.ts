import {type ChildProcess, spawn} from 'node:child_process'
import {mkdtemp, readdir, readFile, rm, truncate} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join, resolve} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'

const script = resolve('dist/server/server.js')

let folder: string
let children: ChildProcess[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-process-'))
  children = []
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, {recursive: true, force: true})
})

type Process = {
  output(): string
  /** The status, or the signal that ended it. */
  exited: Promise<number | string | null>
  url(): Promise<string>
  stop(): Promise<number | string | null>
}

function start(settings: Record<string, string> = {}): Process {
  const {VITEST: _vitest, NODE_ENV: _nodeEnv, ...env} = process.env
  const child = spawn(process.execPath, [script], {env: {...env, HOLDFAST_DATA: folder, PORT: '0', ...settings}})
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const exited = new Promise<number | string | null>(done =>
    child.once('close', (code, signal) => done(code ?? signal)),
  )
  const address = () => /Refund desk on (\S+),/.exec(output)?.[1]
  return {
    output: () => output,
    exited,
    url: async () => {
      await expect.poll(address).toBeDefined()
      return address()!
    },
    stop: () => {
      child.kill('SIGTERM')
      return exited
    },
  }
}

const events = ({output}: Process) => [...output().matchAll(/"event":"([^"]+)"/g)].map(([, event]) => event)

async function damage(): Promise<void> {
  const first = start()
  await first.url()
  expect(await first.stop()).toBe(0)
  await truncate(join(folder, 'postgres/global/pg_control'), 100)
}

describe('the process of the demo server on a damaged folder', () => {
  test('[LOG-9] it ends with status 1, names the cause and both ways on, and changes nothing', async () => {
    await damage()
    const names = await readdir(folder)
    const refused = start()
    expect(await refused.exited).toBe(1)
    expect(refused.output()).toMatch(/pg_control has 100 bytes instead of 8192/)
    expect(refused.output()).toMatch(/Restore the folder from a backup, or start once with HOLDFAST_BEGIN_ANEW=\w{12} /)
    expect(refused.output()).not.toContain('Refund desk on')
    expect(await readdir(folder)).toEqual(names)
  })

  test('[LOG-9] only with the value that the refusal names does it begin anew, and only once', async () => {
    await damage()
    const wrong = start({HOLDFAST_BEGIN_ANEW: 'true'})
    expect(await wrong.exited).toBe(1)
    const name = /HOLDFAST_BEGIN_ANEW=(\w{12})/.exec(wrong.output())![1]!
    const anew = start({HOLDFAST_BEGIN_ANEW: name})
    await anew.url()
    expect(await anew.stop()).toBe(0)
    expect(await readdir(folder)).toContain('postgres.damaged-1')
    await truncate(join(folder, 'postgres/global/pg_control'), 100)
    const again = start({HOLDFAST_BEGIN_ANEW: name})
    expect(await again.exited).toBe(1)
  })
})

describe('the database of the demo server stops while it runs', () => {
  /** As if another process had taken the folder: the first write stops this one. */
  const takeFolder = () => rm(join(folder, 'holdfast.lock'))
  const readOrders = async (url: string) => (await fetch(`${url}/demo/shop`)).status

  test('[LOG-9] it is opened again in the same process, with a line for both', async () => {
    const server = start()
    const url = await server.url()
    await takeFolder()
    await expect
      .poll(async () => [await readOrders(url), events(server)])
      .toEqual([200, expect.arrayContaining(['database.stopped', 'database.reopened'])])
    expect(JSON.parse(await readFile(join(folder, 'holdfast.lock'), 'utf8'))).toMatchObject({pid: children[0]!.pid})
    expect(await server.stop()).toBe(0)
  })

  test('[LOG-9] with HOLDFAST_ON_STOPPED=exit the process ends with status 1 instead', async () => {
    const server = start({HOLDFAST_ON_STOPPED: 'exit'})
    const url = await server.url()
    await takeFolder()
    const reads = setInterval(() => void readOrders(url).catch(() => undefined), 200)
    expect(await server.exited).toBe(1)
    clearInterval(reads)
    expect(events(server)).toContain('database.stopped')
    expect(events(server)).not.toContain('database.reopened')
  })
})
