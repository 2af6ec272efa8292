import {badInput, HoldfastError} from '../../runtime/protocol/errors.ts'
import {
  evolveMemory,
  type MemoryAct,
  type MemoryProposal,
  type MemoryRecord,
  memoryProposalSchema,
  proposedMemory,
} from '../../runtime/protocol/memory.ts'
import {displaces} from '../../runtime/protocol/memory-fold.ts'
import type {MemoryProposalVerdict} from '../../runtime/protocol/memory-wire.ts'
import {redactText} from '../../runtime/protocol/redact-secrets.ts'
import {textStart} from '../../runtime/protocol/text.ts'
import {limits} from '../../runtime/protocol/version.ts'
import type {MemoryRuling} from '../memory-policy.ts'
import type {Owner} from '../principal.ts'
import type {LockedMemory} from '../storage/memory-store.ts'
import {withDeadline} from './deadline.ts'
import {enterForce, type MemoryContext, memoryMoved, record} from './memory-context.ts'
import {type OpenMemory, openMemory} from './open-memory.ts'

const policyDeadlineMs = 10_000

const settledReason = 'What was remembered from this message was corrected or forgotten.'

type Screened = {verdict: MemoryProposalVerdict} | {proposal: MemoryProposal}

/**
 * Decides a batch of proposals and returns a verdict per proposal; an invalid one does not affect the others. The
 * policy runs outside the lock, because it may be slow. Its result is checked again under the lock. [MEM-2, MEM-4]
 */
export async function admitProposals(
  context: MemoryContext,
  owner: Owner,
  values: readonly unknown[],
): Promise<MemoryProposalVerdict[]> {
  const {memory} = context.store
  const screened = await memory.locked(owner, locked => screenAll(locked, values))
  const judged: (Screened & {ruling?: MemoryRuling})[] = []
  for (const one of screened) {
    judged.push('verdict' in one ? one : {...one, ruling: await rule(context, owner, one.proposal, one.current)})
  }
  const verdicts = await memory.locked(owner, async locked => {
    const all: MemoryProposalVerdict[] = []
    const batch = {locked, owner, open: openMemory(await locked.open())}
    for (const one of judged) {
      all.push('verdict' in one ? one.verdict : await admit(context, batch, one.proposal, one.ruling))
    }
    return all
  })
  if (verdicts.some(({status}) => status !== 'rejected' && status !== 'duplicate')) memoryMoved(context, owner)
  return verdicts
}

async function screenAll(
  locked: LockedMemory,
  values: readonly unknown[],
): Promise<({verdict: MemoryProposalVerdict} | {proposal: MemoryProposal; current: MemoryRecord[]})[]> {
  const open = await locked.open()
  const parsed = values.map(readProposal)
  const known = await locked.byIds(parsed.flatMap(one => ('proposal' in one ? [one.proposal.id] : [])))
  return await Promise.all(
    parsed.map(async one => {
      if ('verdict' in one) return one
      const {proposal} = one
      if (known.has(proposal.id)) return {verdict: {status: 'duplicate' as const, id: proposal.id}}
      // Same error for a source that belongs to another subject, was erased or does not exist. [ID-4, RET-3]
      if (!(await locked.hasSources(proposal.sources))) {
        return {verdict: rejected(proposal.id, new HoldfastError('not_found', 'No such source events.'))}
      }
      return {proposal, current: open.filter(other => displaces(proposal, other))}
    }),
  )
}

function readProposal(value: unknown): Screened {
  const parsed = memoryProposalSchema.safeParse(value)
  if (!parsed.success) return {verdict: rejected(idOf(value), badInput('proposal', parsed.error))}
  // Text that looks like a credential is never stored. [VIEW-5]
  return {proposal: {...parsed.data, text: redactText(parsed.data.text)}}
}

function idOf(value: unknown): string {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null
  return typeof id === 'string' ? textStart(id, 100) : ''
}

function rejected(id: string, error: HoldfastError): MemoryProposalVerdict {
  return {status: 'rejected', id, error: error.toBody()}
}

async function rule(
  {policy, onFault}: MemoryContext,
  owner: Owner,
  proposal: MemoryProposal,
  current: readonly MemoryRecord[],
): Promise<MemoryRuling> {
  try {
    const {tenant, subject} = owner
    return await withDeadline('The memory policy', policyDeadlineMs, () => policy({tenant, subject, proposal, current}))
  } catch (error) {
    onFault(error)
    return {ask: 'The policy could not decide.'}
  }
}

/** Open items are read once per batch and updated here; reading them for every proposal would take seconds. */
type Batch = {locked: LockedMemory; owner: Owner; open: OpenMemory}

async function admit(
  {environment}: MemoryContext,
  {locked, owner, open}: Batch,
  proposal: MemoryProposal,
  ruling: MemoryRuling = {ask: ''},
): Promise<MemoryProposalVerdict> {
  const {id} = proposal
  if ((await locked.byIds([id])).has(id)) return {status: 'duplicate', id}
  const act: MemoryAct = {at: environment.now(), by: {type: 'policy'}}
  const item = proposedMemory(proposal, act.at)
  const refuse = async (reason: string): Promise<MemoryProposalVerdict> => {
    await record(locked, owner, evolveMemory(item, {do: 'refuse'}, act), act)
    return {status: 'refused', id, reason}
  }
  if (open.says(proposal)) return await refuse('This is known already.')
  if (await locked.isSettled(proposal)) return await refuse(settledReason)
  if ('refuse' in ruling) return await refuse(textStart(ruling.refuse, 500))
  if (open.size >= limits.memoryItems) return await refuse(`Memory is full: at most ${limits.memoryItems} items.`)
  if ('ask' in ruling) {
    await record(locked, owner, item, {at: act.at, by: {type: 'extractor', name: proposal.extractor}})
    open.set(item)
    return {status: 'proposed', id}
  }
  const accepted = {...act, why: textStart(ruling.accept, 500)}
  for (const changed of await enterForce(locked, owner, {item, open: open.items(), act: accepted})) open.set(changed)
  return {status: 'accepted', id}
}
