import {valueThat} from '../runtime/protocol/check-options.ts'

/** The error does not repeat the URL, because it may contain a password. */
export const postgresUrl = valueThat<string>(
  'an address that begins with "postgres://"',
  url => typeof url === 'string' && /^postgres(ql)?:\/\//.test(url),
)
