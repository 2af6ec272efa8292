import fc from 'fast-check'
import {limits} from '../../../runtime/protocol/version.ts'
import {type Asking, addressOf, type Draft} from './document-requests.ts'

/** A request as it goes out; `how` says for a person what was done to it. */
export type Sent = {how: string; method: string; address: string; headers: Record<string, string>; body?: BodyInit}

export function sent(asking: Asking, draft: Draft): Sent {
  return {
    how: 'as declared',
    method: asking.method,
    address: addressOf(asking, draft),
    headers: {},
    ...('body' in draft && {body: JSON.stringify(draft.body)}),
  }
}

/** Stands for what no serialiser could write: filled in as text. */
const bottomless = '<bottomless>'

const values: [string, unknown][] = [
  ['null', null],
  ['true', true],
  ['-1', -1],
  ['1.5', 1.5],
  ['2^53', 2 ** 53],
  ['1e308', 1e308],
  ['an empty text', ''],
  ['a NUL', 'a\0b'],
  ['half a surrogate pair', '\ud800'],
  ['a long text', 'x'.repeat(20_000)],
  ['an id of another kind', 'abc_01890000-0000-7000-8000-000000000000'],
  ['an empty list', []],
  ['an empty object', {}],
  ['a long list', Array.from({length: 1001}, () => 'x')],
  ['bottomless nesting', bottomless],
  ['deep nesting', JSON.parse('['.repeat(500) + ']'.repeat(500))],
  ['a text for a number', '12'],
  ['what inherits', {constructor: 1, toString: 'x'}],
]

const texts: [string, string | Uint8Array<ArrayBuffer>][] = [
  ['no body', ''],
  ['broken JSON', '{"events": ['],
  ['two values', '{} {}'],
  ['a bare text', '"x"'],
  ['null', 'null'],
  ['a list', '[]'],
  ['a key named __proto__', '{"__proto__": {"events": []}}'],
  ['a NUL byte', '{"x": "\0"}'],
  ['bytes that are no UTF-8', new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])],
  ['bottomless nesting', '['.repeat(200_000)],
  ['bottomless nesting that ends', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ['a number beyond all', '{"sawEpoch": 1e999}'],
  ['over the limit', JSON.stringify({events: ['x'.repeat(limits.bodyBytes)]})],
]

const segments = [
  'x',
  '%00',
  '%',
  '%ED%A0%80',
  '..%2F..',
  '%F0%9F%A6%89',
  '1',
  'x'.repeat(5000),
  'null',
  "'%20OR%201=1",
]
const queries = ['', '-1', '1.5', '1e3', 'x', '%00', '%ED%A0%80', '9'.repeat(16), '9'.repeat(400), 'NaN', '%']
const methods = ['PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'POST', 'GET']
const headers: Record<string, string>[] = [
  {'holdfast-protocol': '2'},
  {'holdfast-protocol': 'x'.repeat(5000)},
  {authorization: ''},
  {authorization: 'Bearer nonsense'},
  {authorization: '{"tenant":"acme"}'},
  {traceparent: 'nonsense', tracestate: 'x'.repeat(2000)},
  {'last-event-id': '-1'},
  {'content-type': 'text/plain'},
  {'content-type': 'multipart/form-data; boundary=x'},
  {'content-type': 'application/json; charset=utf-16'},
  {'content-encoding': 'gzip'},
  {'content-length': '-1'},
  {'transfer-encoding': 'chunked', 'content-length': '5'},
  {accept: 'application/xml', range: 'bytes=9-1', 'if-none-match': '*'},
]

/** The declared request with one thing wrong. */
export function spoiled(asking: Asking, drafts: fc.Arbitrary<Draft>): fc.Arbitrary<Sent> {
  const {operation, path} = asking
  const ways: fc.Arbitrary<Sent>[] = [
    fc.tuple(drafts, fc.constantFrom(...headers)).map(([draft, extra]) => ({
      ...sent(asking, draft),
      how: `headers ${JSON.stringify(extra).slice(0, 60)}`,
      headers: extra,
    })),
    fc.tuple(drafts, fc.constantFrom(...methods)).map(([draft, method]) => ({
      ...sent(asking, draft),
      how: `method ${method}`,
      method,
    })),
  ]
  if (path.includes('{')) {
    ways.push(
      fc.tuple(drafts, fc.constantFrom(...segments)).map(([draft, segment]) => ({
        ...sent(asking, draft),
        how: `path ${segment.slice(0, 20)}`,
        address: path.replaceAll(/\{\w+\}/g, segment),
      })),
    )
  }
  const named = operation.parameters.flatMap(one => ('in' in one && one.in === 'query' ? [one.name] : []))
  ways.push(
    fc.tuple(drafts, fc.constantFrom(...named, 'unknown'), fc.constantFrom(...queries)).map(([draft, name, value]) => ({
      ...sent(asking, draft),
      how: `query ${name}=${value.slice(0, 20)}`,
      address: `${addressOf(asking, {...draft, query: {}})}?${name}=${value}&${name}=1`,
    })),
  )
  if (operation.requestBody) {
    ways.push(
      fc.tuple(drafts, fc.constantFrom(...texts)).map(([draft, [how, body]]) => ({
        ...sent(asking, draft),
        how: `body: ${how}`,
        body,
      })),
    )
    for (let i = 0; i < 4; i++)
      ways.push(fc.tuple(drafts, fc.nat(), spoilings).map(args => spoiledBody(asking, ...args)))
  }
  return fc.oneof(...ways)
}

type Spoiling = {how: string; change: (holder: Record<string, unknown>, key: string) => void}

const spoilings: fc.Arbitrary<Spoiling> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(...values).map(([how, value]) => ({
      how,
      change: (holder: Record<string, unknown>, key: string) => {
        holder[key] = value
      },
    })),
  },
  fc.constant({
    how: 'left out',
    change: (holder: Record<string, unknown>, key: string) => {
      delete holder[key]
    },
  }),
  fc.constant({
    how: 'one more beside',
    change: (holder: Record<string, unknown>, key: string) => {
      holder[`${key}2`] = holder[key]
    },
  }),
)

function spoiledBody(asking: Asking, draft: Draft, at: number, {how, change}: Spoiling): Sent {
  // A root, so that the whole body is a place like any other.
  const root = {body: JSON.parse(JSON.stringify(draft.body ?? null))}
  const places = [...placesIn(root, '')]
  const place = places[at % places.length]
  if (place) change(place.holder, place.key)
  return {...sent(asking, draft), how: `${place?.path}: ${how}`, body: filled(root.body)}
}

function filled(body: unknown): string {
  const levels = 100_000
  return JSON.stringify(body ?? null).replaceAll(`"${bottomless}"`, '['.repeat(levels) + ']'.repeat(levels))
}

type Place = {path: string; holder: Record<string, unknown>; key: string}

function* placesIn(value: unknown, path: string): Iterable<Place> {
  if (typeof value !== 'object' || value === null) return
  const holder = value as Record<string, unknown>
  for (const key of Object.keys(holder)) {
    yield {path: `${path}/${key}`, holder, key}
    yield* placesIn(holder[key], `${path}/${key}`)
  }
}
