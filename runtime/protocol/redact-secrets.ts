import type {Json} from './json.ts'

const removed = '[removed]'

const secretNames =
  '\\b((?:x-)?(?:api|secret|private|access)[-_ ]?key|(?:access|refresh|auth|id)[-_ ]?token|client[-_ ]?secret|password|secret)'

/**
 * Shapes that credentials have and nothing else does. Every repetition that could be tried at many places is bounded,
 * so that a hostile text costs no more than its length.
 */
const shapes: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY-----|$)/g,
    removed,
  ],
  // A JWT: base64url of `{"`, and two more parts.
  [/\beyJ[\w-]{8,2000}\.[\w-]{8,8000}\.[\w-]+/g, removed],
  // Vendors mark their keys so that they can be found.
  [/\b(?:sk|rk|xai|gsk|hf)[-_](?=[\w-]{0,80}\d)[\w-]{16,}/g, removed],
  [/\b(?:gh[opsur]_|github_pat_|glpat-|xox[abeprs]-)[\w-]{16,}/g, removed],
  [/\bAIza[\w-]{35}(?![\w-])/g, removed],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, removed],
  // Headers and settings as text; the name stays, so that the reader knows what was there.
  [
    /\b((?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?)(?:(?:bearer|basic|token)\s{1,4}|(?=[\w.~+/=-]{0,80}\d))[\w.~+/=[\]-]+/gi,
    `$1${removed}`,
  ],
  [/\b(bearer|basic)\s{1,4}(?=[\w.~+/=-]{0,80}\d)[\w.~+/=-]{16,}/gi, `$1 ${removed}`],
  [/\b((?:set-)?cookie["']?\s{0,4}:\s{0,4})(?=[^\r\n"]{0,80}=)[^\r\n"]+/gi, `$1${removed}`],
  // After a colon only with a digit in it: "password: expected a text" is a sentence.
  [new RegExp(`${secretNames}(["']?\\s{0,4}=\\s{0,4}["']?)[^\\s"'&,;}]{6,}`, 'gi'), `$1$2${removed}`],
  [
    new RegExp(`${secretNames}(["']?\\s{0,4}:\\s{0,4}["']?)(?=[^\\s"'&,;}]{0,80}\\d)[^\\s"'&,;}]{6,}`, 'gi'),
    `$1$2${removed}`,
  ],
  // User and password before the host of an address.
  [/(:\/\/)[^\s/:@]{1,200}:[^\s/@]{1,200}@/g, `$1${removed}@`],
]

/** Fields whose whole text is a credential, as they are named in JSON, compared without `-`, `_` and case. */
const secretFields = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'apikey',
  'xapikey',
  'accesskey',
  'secretkey',
  'secretaccesskey',
  'privatekey',
  'accesstoken',
  'refreshtoken',
  'clientsecret',
  'password',
])

/**
 * The text without anything shaped like a credential. [VIEW-5]
 *
 * @example
 * redactText('401 for Authorization: Bearer abc') // '401 for Authorization: [removed]'
 */
export function redactText(text: string): string {
  return shapes.reduce((clean, [shape, instead]) => clean.replace(shape, instead), text)
}

/** The same value with every text in it redacted; unchanged, and uncopied, when there is nothing to remove. [VIEW-5] */
export function redactSecrets(value: Json): Json {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return redactArray(value)
  const fields = Object.entries(value).map(([key, inner]) => [key, redactField(key, inner)] as const)
  return fields.every(([key, inner]) => inner === value[key]) ? value : Object.fromEntries(fields)
}

function redactArray(values: Json[]): Json {
  const clean = values.map(redactSecrets)
  return clean.every((inner, i) => inner === values[i]) ? values : clean
}

function redactField(key: string, inner: Json): Json {
  const name = key.replaceAll(/[-_]/g, '').toLowerCase()
  return typeof inner === 'string' && inner !== '' && secretFields.has(name) ? removed : redactSecrets(inner)
}
