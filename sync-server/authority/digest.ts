import canonicalize from 'canonicalize'
import type {Json} from '../../runtime/protocol/json.ts'
import type {LedgerRow} from '../storage/store.ts'
import {sha256} from './hash.ts'

/**
 * Digest of exactly what would be executed: the input as the tool's contract parsed it, not as it was sent. Null when
 * there is no canonical text for it (a lone surrogate); such an operation cannot be approved, so it is refused. [OP-2]
 */
export async function operationDigest(row: LedgerRow, input: Json): Promise<string | null> {
  const {tool, version, basis, tenant, session, run} = row
  const text = canonicalText({tool, version, input, basis, tenant, session, run})
  return text === null ? null : sha256(text)
}

function canonicalText(value: Json): string | null {
  try {
    return canonicalize(value) ?? null
  } catch {
    return null
  }
}
