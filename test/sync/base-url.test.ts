import {describe, expect, test} from 'vitest'
import {openInbox} from '../../runtime/index.ts'
import {defineAgent, openRuntime} from '../../runtime/node.ts'
import {systemEnvironment} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {approverLink} from '../../runtime/sync/approver-link.ts'
import {httpLink} from '../../runtime/sync/http-link.ts'
import {scriptedModel} from '../../runtime/testing.ts'

const session = systemEnvironment.id('session')
const signal = new AbortController().signal

/** The paths that a link to `url` asks for; every answer is refused. */
function asked(url: string | URL) {
  const paths: string[] = []
  const fetch: typeof globalThis.fetch = async input => {
    paths.push(new URL(String(input)).pathname)
    return new Response('', {status: 404})
  }
  return {paths, link: httpLink({url, token: async () => 't', fetch})}
}

const places: [string | URL, string][] = [
  ['https://x.test', ''],
  ['https://x.test/', ''],
  ['https://x.test/agents/holdfast', '/agents/holdfast'],
  ['https://x.test/agents/holdfast/', '/agents/holdfast'],
  [' https://x.test/a%2Fb/ü ', '/a%2Fb/%C3%BC'],
  [new URL('https://x.test/agents'), '/agents'],
]

describe('a server under a path', () => {
  test.each(places)('[SYNC-3] every request to %s keeps the path', async (url, before) => {
    const {paths, link} = asked(url)
    const calls = [
      link.push(session, []),
      link.pull(session, 0),
      link.blob(session, 'sha256-x' as never),
      link.fact('order/A 1?#'),
      link.live(() => undefined, signal),
      link.models(),
      link.streamModel('m', {prompt: []}),
      approverLink(link).inbox(),
    ]
    await Promise.allSettled(calls)
    expect(paths.toSorted()).toEqual(
      [
        `/v1/sessions/${session}/events`,
        `/v1/sessions/${session}/events`,
        `/v1/sessions/${session}/blobs/sha256-x`,
        '/v1/facts/order%2FA%201%3F%23',
        '/v1/live',
        '/v1/models',
        '/v1/models/m/stream',
        '/v1/approvals',
      ]
        .map(path => before + path)
        .toSorted(),
    )
  })
})

describe('an address that cannot be one is refused at the start', () => {
  const bad = [
    '',
    'desk.example',
    '/agents',
    'ftp://x.test',
    'https://',
    'https://me:secret@x.test',
    'https://x.test?a=1',
    'https://x.test#a',
    undefined,
    7,
  ]
  test.each(bad)('%j, naming its field and not repeating it', async url => {
    const options = {url: url as string, token: 't'}
    const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: []})
    const starts: [string, () => unknown][] = [
      ['url', () => httpLink({url: url as string, token: async () => 't'})],
      ['url', () => openInbox(options)],
      [
        'sync.url',
        () => openRuntime({agent, model: scriptedModel([]), tools: {}, dataDir: 'memory://', sync: options}),
      ],
    ]
    for (const [field, start] of starts) {
      const error = await (async () => start())().catch((caught: unknown) => caught)
      expect(
        HoldfastError.is(error, 'misconfigured') && [error.details.field, error.message.includes(`${field}: expected`)],
      ).toEqual([field, true])
      expect(String(error)).not.toContain('secret')
    }
  })
})
