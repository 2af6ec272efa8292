import {afterEach, describe, expect, test, vi} from 'vitest'
import {systemEnvironment} from '../../runtime/platform/environment.ts'
import {httpLink} from '../../runtime/sync/http-link.ts'

const someDevice = systemEnvironment.id('device')

afterEach(() => void vi.useRealTimers())

const hello = 'event: hello\ndata: {"type":"hello"}\n\n'

/** A server whose live stream says hello and then nothing. */
function silent(status = 200, body: string | null = null): typeof fetch {
  return async () => {
    const stream = new ReadableStream({start: controller => controller.enqueue(new TextEncoder().encode(hello))})
    return new Response(body ?? stream, {status, headers: {'content-type': 'text/event-stream'}})
  }
}

function linkTo(fetch: typeof globalThis.fetch, onTokenRefused = () => {}) {
  return httpLink({url: 'http://desk.test', token: async () => 't', fetch, onTokenRefused})
}

describe('a live stream', () => {
  test('[SYNC-3] that goes silent is given up, and leaves no timer that keeps its process alive', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']})
    const heard: string[] = []
    const live = linkTo(silent()).live(message => heard.push(message.type), new AbortController().signal)
    const over = expect(live).rejects.toMatchObject({
      code: 'offline',
      message: expect.stringContaining('sent nothing in time'),
    })
    await vi.waitFor(() => expect(heard).toEqual(['hello']))
    await vi.advanceTimersByTimeAsync(45_000)
    await over
    expect(vi.getTimerCount()).toBe(0)
  })

  const endings: [string, (link: ReturnType<typeof linkTo>, stop: AbortController) => void, boolean][] = [
    ['is stopped', (_, stop) => stop.abort(), true],
    ['is cut', link => link.setOnline(false), false],
  ]
  test.each(endings)('[CUS-5] that %s ends at once and leaves no timer behind', async (_, end, quietly) => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']})
    const link = linkTo(silent())
    const stop = new AbortController()
    const heard: string[] = []
    const live = link.live(message => heard.push(message.type), stop.signal)
    const over = quietly ? expect(live).resolves.toBeUndefined() : expect(live).rejects.toMatchObject({code: 'offline'})
    await vi.waitFor(() => expect(heard).toEqual(['hello']))
    end(link, stop)
    await over
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('an answer', () => {
  const answers: [string, number, string, string][] = [
    ['that is not ours', 502, '<h1>Bad gateway</h1>', 'offline'],
    ['cut short', 200, '{"sessions": [', 'offline'],
    ['of another shape', 200, '{"sessions": [{}]}', 'offline'],
    ['that is a login page', 200, '<html>Sign in to the network</html>', 'offline'],
    ['with a typed error', 401, '{"error": {"code": "token_expired", "message": "expired"}}', 'token_expired'],
    ['with an error of a newer server', 418, '{"error": {"code": "teapot", "message": "x"}}', 'offline'],
  ]
  test.each(answers)('[SYNC-4] %s is a typed error', async (_, status, body, code) => {
    let asked = 0
    const link = linkTo(silent(status, body), () => {
      asked += 1
    })
    await expect(link.sessions(someDevice)).rejects.toMatchObject({code})
    expect(asked).toBe(code === 'token_expired' ? 1 : 0)
  })

  test('[SYNC-5] a link that is cut asks nothing of the network until it is joined again', async () => {
    let asked = 0
    const link = linkTo(async () => {
      asked += 1
      return Response.json({sessions: [], erased: []})
    })
    link.setOnline(false)
    await expect(link.sessions(someDevice)).rejects.toMatchObject({code: 'offline'})
    expect([asked, link.online]).toEqual([0, false])
    link.setOnline(true)
    expect(await link.sessions(someDevice)).toEqual({sessions: [], erased: []})
  })
})
