import {canonicalJson} from '../../runtime/protocol/canonical-json.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {LedgerRow} from '../storage/store.ts'
import {sha256} from './hash.ts'

/** Digest of exactly what would be executed: the input as the tool's contract parsed it, not as it was sent. [OP-2] */
export function operationDigest(row: LedgerRow, input: Json): Promise<string> {
  const {tool, version, basis, tenant, session, run} = row
  return sha256(canonicalJson({tool, version, input, basis, tenant, session, run}))
}
