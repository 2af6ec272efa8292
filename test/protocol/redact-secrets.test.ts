import {describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {redactSecrets, redactText} from '../../runtime/protocol/redact-secrets.ts'

// Put together here, so that no scanner takes this file for a leak.
const key = `sk-${'proj'}-4f9aK2mQ8rT1vX7zB3nD`
const jwt = ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiJtYXlhIn0', 'dBjftJeZ4CVPmB92K27uhbUJU1p1r'].join('.')
const pem = ['-----BEGIN RSA PRIVATE KEY-----', 'MIIEowIBAAKCAQEAzq0', '-----END RSA PRIVATE KEY-----'].join('\n')

const secrets: [string, string, string][] = [
  ['a bearer header', `401 for Authorization: Bearer ${key}`, '401 for Authorization: [removed]'],
  ['a bearer header of any token', 'authorization: bearer abc', 'authorization: [removed]'],
  ['a header as JSON', `{"Authorization":"Basic bWF5YTpzZWNyZXQ=","a":1}`, '{"Authorization":"[removed]","a":1}'],
  ['a bearer token without its header', 'sent Bearer a1b2c3d4e5f6a7b8c9', 'sent Bearer [removed]'],
  ['a key with a vendor prefix', `no such key: ${key}.`, 'no such key: [removed].'],
  ['a live payment key', `using sk_${'live'}_51H8abcDEF2345xyz`, 'using [removed]'],
  ['a code host token', `ghp_${'a1B2'.repeat(9)} was refused`, '[removed] was refused'],
  ['a chat token', `xoxb-${'12345678'}-abcdefghijk`, '[removed]'],
  ['a cloud key id', `AKIA${'IOSFODNN7EXAMPL2'} is disabled`, '[removed] is disabled'],
  ['a search key', `key AIza${'SyA1-'.repeat(7)}`, 'key [removed]'],
  ['a JWT', `token ${jwt} has expired`, 'token [removed] has expired'],
  ['a private key', `read ${pem} from disk`, 'read [removed] from disk'],
  ['a private key that was cut off', pem.slice(0, 40), '[removed]'],
  ['a key in a query', 'GET https://x.test/a?api_key=hunter2hunter&b=1', 'GET https://x.test/a?api_key=[removed]&b=1'],
  ['a named header', 'x-api-key: 0123456789', 'x-api-key: [removed]'],
  ['a password in settings', 'host=db password=correcthorse user=x', 'host=db password=[removed] user=x'],
  ['credentials in an address', 'postgres://app:hunter2@db.test/shop', 'postgres://[removed]@db.test/shop'],
  ['a cookie', 'set-cookie: sid=abc; Path=/\nage: 1', 'set-cookie: [removed]\nage: 1'],
]

describe('credentials', () => {
  test.each(secrets)('[VIEW-5] %s is taken out and the words around it stay', (_, text, clean) => {
    expect(redactText(text)).toBe(clean)
    expect(redactText(clean)).toBe(clean)
  })

  test('[VIEW-5] a field named like a credential is taken out whatever its text looks like, at any depth', () => {
    const value = {request: [{headers: {'X-Api-Key': 'plain', accept: 'text/plain'}}], access_token: 'x', password: ''}
    expect(redactSecrets(value)).toEqual({
      request: [{headers: {'X-Api-Key': '[removed]', accept: 'text/plain'}}],
      access_token: '[removed]',
      password: '',
    })
  })

  test('[VIEW-5] an error holds none in its words, its details or its cause, however it was made', () => {
    const cause = new Error(`fetch failed with ${key}`)
    const made = new HoldfastError('model_failed', `refused: ${key}`, {cause, details: {sent: {authorization: key}}})
    const body = HoldfastError.from(made).toBody()
    expect(JSON.stringify(body) + made.message + HoldfastError.from(cause).message).not.toContain(key)
    expect(body).toEqual({
      code: 'model_failed',
      message: 'refused: [removed]',
      cause: 'fetch failed with [removed]',
      details: {sent: {authorization: '[removed]'}},
    })
  })
})

const innocent: [string, string][] = [
  ['an order id', 'A17'],
  ['a stock number', 'sk-100 and SK-II and desk-2024-archive-of-orders-01'],
  ['a session id', 'ses_01922f1e-6c7a-7c3a-9f3b-2f6c7a1e9d10'],
  ['a uuid', '5c1b0a52-0f3e-4a8e-9b52-6f2b6a4d7c11'],
  ['a SHA-256', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  ['a document update in base64', 'AQGKv7jWDgAEAQVkcmFmdA1IZWxsbyB3b3JsZCEAeyJhbGci+/sk0123456789012345=='],
  ['a hyphenated phrase', 'a risk-averse, task-oriented sk-learn-pipeline-for-everybody'],
  ['a bearer of news', 'the bearer of responsibilities and basic understandings'],
  ['a parser that stumbled', 'Unexpected token: } at 12'],
  ['a budget of tokens', 'maxTokens: 16000, inputTokens=120'],
  ['a secret that is talked about', 'The secret: be kind. No password is needed; authorization was refused.'],
  ['a header that is only asked for', 'The request needs a header "authorization: Bearer …".'],
  ['a state of affairs', 'authorization: pending, cookie: chocolate'],
  ['what a schema expects', 'input.password: expected a text of at most 40 characters; secret: required'],
  ['an address with a port', 'http://127.0.0.1:8787/v1/live and mailto:maya@shop.test'],
  ['a public certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
  ['a file name', 'keys.ts, eyJ.png, 1.2.3-beta.4'],
]

describe('what is no credential', () => {
  test.each(innocent)('[VIEW-5] %s stays as it is', (_, text) => {
    expect(redactText(text)).toBe(text)
  })

  test('[VIEW-5] a value without any is handed on as it is, not copied', () => {
    const value = {token: 'next-page', cents: 1, rows: [{id: 'A17', ok: null}]}
    expect(redactSecrets(value)).toBe(value)
  })

  test('[VIEW-5] a text made to be slow costs no more than its length', () => {
    const hostile = ['sk-', 'eyJ-', '-----BEGIN ', 'Bearer ', '://a', 'api key ', 'authorization:'].map(piece =>
      piece.repeat(Math.ceil(65_536 / piece.length)),
    )
    for (const text of hostile) expect(redactText(text).length).toBeLessThanOrEqual(text.length)
  })
})
