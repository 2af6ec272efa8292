import {createHash} from 'node:crypto'
import {expect, test} from 'vitest'
import * as z from 'zod'
import {decisionSchema} from '../../runtime/protocol/approval.ts'
import {delegationSchema, newDelegationSchema} from '../../runtime/protocol/delegation.ts'
import {
  custodianKinds,
  envelopeSchema,
  type Kind,
  personKinds,
  serverKinds,
  versionOf,
} from '../../runtime/protocol/event.ts'
import {factSchema} from '../../runtime/protocol/fact.ts'
import {approverKeySchema, newKeySchema, signedIntentSchema} from '../../runtime/protocol/intent.ts'
import {memoryChangeSchema, memoryProposalSchema} from '../../runtime/protocol/memory.ts'
import {recallAnswerSchema, recallAskSchema} from '../../runtime/protocol/memory-recall.ts'
import * as memoryWire from '../../runtime/protocol/memory-wire.ts'
import * as wire from '../../runtime/protocol/wire.ts'

/**
 * When this fails, the wire has changed. If an old peer still understands every new message, only replace the hash.
 * If not, raise the kind's version in `versionOf` (with an upcast for the old data) or `protocolVersion`, then replace
 * the hash.
 */
const pinned = '7975bf27ef4af6f4dc17c5f63b9e71706bc9b30b17b76d0018f4e78226ffc022'

test('[LOG-8] the schemas of the wire and of every event are the ones that were pinned', () => {
  const schemas = {
    envelopeSchema,
    decisionSchema,
    factSchema,
    signedIntentSchema,
    newKeySchema,
    approverKeySchema,
    newDelegationSchema,
    delegationSchema,
    ...wire,
    ...memoryWire,
    memoryProposalSchema,
    memoryChangeSchema,
    recallAskSchema,
    recallAnswerSchema,
    ...personKinds,
    ...custodianKinds,
    ...serverKinds,
  }
  const described = Object.entries(schemas)
    .flatMap(([name, schema]) =>
      schema instanceof z.ZodType ? [[name, z.toJSONSchema(schema, options), versionOf(name as Kind)] as const] : [],
    )
    .sort(([a], [b]) => (a < b ? -1 : 1))
  expect(described.length).toBeGreaterThan(35)
  const hash = createHash('sha256').update(JSON.stringify(described)).digest('hex')
  expect(
    hash,
    'The wire has changed. If an old peer understands every new message, replace the pinned hash; if not, raise ' +
      'the version of the kind (with an upcast) or protocolVersion first. See the comment above the hash.',
  ).toBe(pinned)
})

const options = {io: 'input', unrepresentable: 'any'} as const
