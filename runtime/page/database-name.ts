import {valueThat} from '../protocol/check-options.ts'

/** Can be used as the name of a folder. */
export const databaseNameSchema = valueThat<string>(
  'a letter or digit, then up to 99 letters, digits, ".", "_" or "-"',
  name => typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name),
)
