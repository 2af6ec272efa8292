import {canonicalJson} from '../../runtime/protocol/canonical-json.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {LedgerRow} from '../storage/store.ts'
import {sha256} from './hash.ts'

/**
 * Returns the digest of what would be executed. It covers the input as parsed by the tool's contract, not as sent.
 * [OP-2]
 */
export function operationDigest(row: LedgerRow, input: Json): Promise<string> {
  const {tool, version, basis, tenant, session, run} = row
  return sha256(canonicalJson({tool, version, input, basis, tenant, session, run}))
}
