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
import {wireRevision} from '../../runtime/protocol/version.ts'
import * as wire from '../../runtime/protocol/wire.ts'

/**
 * When this fails, the wire has changed. If an old peer still understands every new message, only replace the hash.
 * If not, raise the kind's version in `versionOf` (with an upcast for the old data) or `protocolVersion`, then replace
 * the hash. Either way raise `wireRevision`, so that an older server knows that the field it meets is a newer device's.
 */
const pinned = '7f846452da237a2f66684d4991beb03c507ac3a1f0d3490151a739d399a0ad46'

/** Of the pinned hash. */
const pinnedRevision = 3

test('[LOG-8] a change of the wire has a revision of its own', () => {
  expect(wireRevision).toBe(pinnedRevision)
})

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
