import {createHash} from 'node:crypto'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {storableResult} from '../../runtime/loop/storable-result.ts'
import {estimateTokens} from '../../runtime/protocol/estimate-tokens.ts'
import {jsonBytes, jsonSchema} from '../../runtime/protocol/json.ts'
import {limits} from '../../runtime/protocol/version.ts'

async function stored(value: unknown) {
  const result = await storableResult(value)
  if ('fault' in result) throw new Error(result.fault)
  return result
}

const idOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const everyByte = Uint8Array.from({length: 1024}, (_, i) => i % 256)
/** Quotes around it make up the rest. */
const textOf = (bytes: number) => 'x'.repeat(bytes - 2)

describe('what a tool gives back', () => {
  test.each([-1, 0])('[LOG-5] JSON of 64 KiB %i stays in its event, exactly as it is', async more => {
    const value = textOf(limits.valueBytes + more)
    expect(await stored(value)).toEqual({output: value, blobs: []})
  })

  test('[LOG-5] JSON of one byte more is a blob whose bytes are exactly its text', async () => {
    const value = textOf(limits.valueBytes + 1)
    const {output, blobs} = await stored(value)
    expect(blobs).toHaveLength(1)
    expect(JSON.parse(new TextDecoder().decode(blobs[0]?.bytes))).toBe(value)
    const ref = {$blob: idOf(blobs[0]?.bytes ?? everyByte), bytes: limits.valueBytes + 1, type: 'application/json'}
    expect(blobs[0]?.ref).toEqual(ref)
    expect(output).toMatchObject(ref)
  })

  test('[LOG-5] any large JSON, with NUL and halves of characters in it, is read back exactly', async () => {
    const json = fc.jsonValue({maxDepth: 3, stringUnit: 'binary'}).filter(value => jsonSchema.safeParse(value).success)
    await fc.assert(
      fc.asyncProperty(json, async value => {
        const large = [value, '\0\ud800', 'ü'.repeat(limits.valueBytes / 2)]
        const {blobs} = await stored(large)
        expect(JSON.parse(new TextDecoder().decode(blobs[0]?.bytes))).toEqual(large)
      }),
      {numRuns: 20, seed: 20261130},
    )
  })

  test('[LOG-5] bytes of every value, anywhere in it, are kept exactly, and their places say what they are', async () => {
    const image = new Blob([everyByte], {type: 'image/png'})
    const {output, blobs} = await stored({name: 'A17', pages: [everyByte, image], empty: new Uint8Array()})
    const bytes = {$blob: idOf(everyByte), bytes: 1024, type: 'application/octet-stream'}
    expect(output).toEqual({
      name: 'A17',
      pages: [bytes, {...bytes, type: 'image/png'}],
      empty: {$blob: idOf(new Uint8Array()), bytes: 0, type: 'application/octet-stream'},
    })
    expect(blobs.map(blob => [...blob.bytes])).toEqual([[...everyByte], []])
  })

  test('[LOG-5] what a tool writes into its bytes afterwards changes nothing', async () => {
    const own = everyByte.slice()
    const {blobs} = await stored(own)
    own.fill(0)
    expect(idOf(blobs[0]?.bytes ?? own)).toBe(idOf(everyByte))
  })

  test('[LOG-5] a value of the application that looks like a reference is a value and holds nothing', async () => {
    const looks = {$blob: idOf(everyByte), bytes: 1024, type: 'image/png', $excerpt: {$blob: 7}}
    expect(await stored(looks)).toEqual({output: looks, blobs: []})
  })

  test('[LOG-5] 8 MiB are taken and one byte more is refused, as bytes and as JSON, before anything is stored', async () => {
    expect((await stored(new Uint8Array(limits.blobBytes))).blobs).toHaveLength(1)
    expect((await stored(textOf(limits.blobBytes))).blobs).toHaveLength(1)
    const over = limits.blobBytes + 1
    for (const value of [new Uint8Array(over), [new Blob([new Uint8Array(over)])], textOf(over)]) {
      expect(await storableResult(value)).toEqual({fault: expect.stringContaining(`${over} bytes`)})
    }
  })

  test('[LOG-5] more blobs than one event may hold are refused; the same bytes many times are one', async () => {
    const many = Array.from({length: limits.eventBlobs + 1}, (_, i) => Uint8Array.of(i))
    expect(await storableResult(many)).toEqual({fault: '17 blobs; at most 16 are taken'})
    expect((await stored(many.map(() => everyByte.slice()))).blobs).toHaveLength(1)
  })

  test.each([
    [
      'an object that holds itself',
      () => {
        const self: Record<string, unknown> = {bytes: everyByte}
        self.self = self
        return self
      },
    ],
    ['a class of its own', () => ({at: new Date(), bytes: everyByte})],
    ['a buffer that is no view', () => everyByte.buffer],
    ['an id that was rounded', () => [2 ** 60, everyByte]],
  ])('[LOG-4] %s is refused by what it is, also beside bytes', async (_, make) => {
    expect(await storableResult(make())).toEqual({fault: expect.stringContaining('what JSON cannot hold')})
  })

  test.each<[string, unknown, unknown]>([
    ['undefined members are absent', {a: 1, b: undefined, c: {d: undefined}}, {a: 1, c: {}}],
    [
      'a hole and undefined in an array are null',
      [1, undefined, Object.assign([1], {length: 2})],
      [1, null, [1, null]],
    ],
    ['minus zero is 0', {a: [-0], b: -0}, {a: [0], b: 0}],
    ['numbers with an exponent stay', [1e308, 5e-324], [1e308, 5e-324]],
    ['nothing is null', undefined, null],
  ])('[LOG-5] as JSON text has it, %s', async (_, value, output) => {
    expect(await stored(value)).toStrictEqual({output, blobs: []})
  })

  test.each<[string, unknown, string]>([
    ['a date', {items: [{when: new Date(0)}]}, 'output.items.0.when: expected a plain object, got Date'],
    ['a bigint', {a: {b: 1n}}, 'output.a.b: expected JSON, got bigint'],
    ['no number', [0, Number.NaN], 'output.1: expected a finite number, got NaN'],
  ])('[LOG-4] of %s the fault names the place', async (_, value, fault) => {
    expect(await storableResult(value)).toEqual({fault: expect.stringContaining(fault)})
  })

  test('[VIEW-5] a credential is left out of large JSON and of bytes that are a text, and of how they begin', async () => {
    const secret = 'sk-live0123456789abcdefghij'
    const {output, blobs} = await stored({
      page: new Blob([`<p>${secret}</p>`], {type: 'text/html; charset=utf-8'}),
      list: `${secret} ${textOf(limits.valueBytes)}`,
    })
    expect(JSON.stringify(output)).not.toContain(secret)
    expect(blobs).toHaveLength(2)
    for (const {bytes, ref} of blobs) {
      expect(new TextDecoder().decode(bytes)).not.toContain(secret)
      expect(ref.$blob).toBe(idOf(bytes))
    }
  })

  test('[VIEW-4] of 5 MB a model is shown less than 400 tokens', async () => {
    const {output} = await stored({rows: Array.from({length: 50_000}, (_, i) => `row ${i} ${'y'.repeat(90)}`)})
    expect(output).toMatchObject({excerpt: expect.stringMatching(/^\{"rows":\["row 0 y/)})
    expect(estimateTokens(output)).toBeLessThan(400)
    expect(jsonBytes(output)).toBeLessThan(limits.valueBytes)
  })
})
