import fc from 'fast-check'
import {beforeAll, describe, expect, test} from 'vitest'
import type {Delegation} from '../../runtime/protocol/delegation.ts'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {EventId} from '../../runtime/protocol/ids.ts'
import type {ApproverKey} from '../../runtime/protocol/intent.ts'
import {serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {proposalOf} from '../memory/support/teller.ts'
import {bytesWith, refOf} from '../support/blobs.ts'
import {approverDevice} from '../sync-server/support/approver-device.ts'
import {putBlob} from '../sync-server/support/blob-calls.ts'
import {call, headersOf, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {declared} from '../sync-server/support/declared.ts'
import {deskServers, inbox} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'
import {type Asking, addressOf, draftsOf, type Known} from '../sync-server/support/document-requests.ts'
import {readStream} from '../sync-server/support/read-stream.ts'

const database = testDatabase()
const servers = deskServers(database)
const {document} = declared
let server: SyncServer

/** Everything of one owner that a request could name. */
type Ids = {
  session: string
  gone: string
  run: string
  approval: string
  operation: string
  delegation: string
  key: string
  memory: string
  erasure: string
  subject: string
  fact: string
  blob: string
}
const owners: {who: Who; ids: Ids}[] = []

/** A request with marks like `~run~` in the place of ids. */
type Question = {method: string; address: string; body?: string}

const digest = '0'.repeat(64)
const pushed = {
  ...{id: env.id('event'), session: '~session~', seq: null, device: env.id('device'), deviceSeq: 1},
  ...{
    kind: 'document.updated',
    data: {document: 'draft', update: ''},
    actor: {type: 'agent', name: 'desk'},
    at: 1,
    v: 1,
  },
}

/** Where the document speaks of a record, the questions have its mark; else what gets them past the first look. */
const marks: Known = {
  SessionId: fc.constantFrom('~session~', '~gone~'),
  RunId: fc.constant('~run~'),
  ApprovalId: fc.constant('~approval~'),
  OperationId: fc.constant('~operation~'),
  DelegationId: fc.constant('~delegation~'),
  ApproverKeyId: fc.constant('~key~'),
  MemoryId: fc.constant('~memory~'),
  ErasureId: fc.constant('~erasure~'),
  SubjectId: fc.constant('~subject~'),
  FactKey: fc.constant('~fact~'),
  BlobId: fc.constant('~blob~'),
  ModelCallKey: fc.constant(`~run~.${env.id('step')}.1.1`),
  Event: fc.constantFrom(pushed, {...pushed, seq: 1}, {...pushed, session: '~gone~'}),
  Digest: fc.constant(digest),
  '.signature': fc.constant('AAAA'),
  '.approval': fc.constant('~approval~'),
}

/** What may be asked on a route about somebody's records, as its declaration has it; none for one that names no record. */
function questionsOf(asking: Asking): Question[] {
  const drafts = fc.sample(draftsOf(asking, document, marks), {numRuns: 12, seed: 20261130})
  const questions = drafts.map(draft => ({
    method: asking.method,
    address: addressOf(asking, draft),
    ...('body' in draft && {body: JSON.stringify(draft.body)}),
  }))
  const different = new Map(questions.map(question => [JSON.stringify(question), question]))
  return [...different].flatMap(([text, question]) => (/~\w+~/.test(text) ? [question] : [])).slice(0, 6)
}

function about({method, address, body}: Question, ids: Ids): Question {
  const id = (mark: string) => ids[mark.slice(1, -1) as keyof Ids]
  return {
    method,
    address: address.replaceAll(/~\w+~/g, mark => encodeURIComponent(id(mark))),
    ...(body !== undefined && {body: body.replaceAll(/~\w+~/g, id)}),
  }
}

const tenants = ['acme', 'other']
const strangers: Who[] = [
  {tenant: 'acme', subject: 'eve'},
  {tenant: 'other', subject: 'eve', roles: ['lead', 'auditor']},
  {tenant: 'third', subject: 'ana', roles: ['lead', 'auditor']},
  {tenant: 'third', subject: 'bob', roles: []},
]

beforeAll(async () => {
  server = servers.server({
    limits: {rates: {subject: {perSecond: 1e6, burst: 1e6}, tenant: {perSecond: 1e6, burst: 1e6}}},
  })
  for (const tenant of tenants) {
    for (const subject of ['ana', 'bob']) {
      const who = {tenant, subject}
      const device = testDevice(who)
      const refund = device.refund({orderId: 'A1', cents: 6000})
      await device.push(server, [device.open(), ...refund.events])
      await server.idle()
      const bytes = bytesWith()
      const blob = refOf(bytes).$blob
      await putBlob(server, who, device.session, blob, bytes)
      const item = (await inbox(server, {...who, roles: ['lead']})).find(({run}) => run === refund.run)
      const gone = testDevice(who)
      await gone.push(server, [gone.open()])
      const {body} = await call<ErasureReceipt>(server, who, '/v1/erasures', {session: gone.session})
      const fact = `order/${tenant}-${subject}`
      const lent = {role: 'lead', to: 'dana', until: Date.now() + 3_600_000}
      const {body: delegation} = await call<Delegation>(server, {...who, roles: ['lead']}, '/v1/delegations', lent)
      const {publicKey} = await approverDevice()
      const {body: added} = await call<ApproverKey>(server, who, '/v1/approver-keys', {publicKey, label: 'Phone'})
      const proposal = proposalOf({session: device.session, event: refund.events[0]?.id as EventId})
      await call(server, who, '/v1/memory/proposals', {proposals: [proposal]})
      servers.desk.setOrder(tenant, `${tenant}-${subject}`, 'delivered', '1')
      owners.push({
        who,
        ids: {
          ...{session: device.session, gone: gone.session, run: refund.run, erasure: body.erasure, fact},
          ...{approval: item?.approval ?? '', operation: item?.operation ?? '', subject},
          ...{delegation: delegation.delegation, key: added.key, memory: proposal.id, blob},
        },
      })
    }
  }
})

const nobody = (): Ids => ({
  ...{session: env.id('session'), gone: env.id('session'), run: env.id('run'), approval: env.id('approval')},
  ...{operation: env.id('operation'), delegation: env.id('delegation'), key: env.id('key')},
  ...{
    memory: env.id('memory'),
    erasure: env.id('erasure'),
    subject: `nobody-${env.id('event').slice(-6)}`,
    fact: 'order/none',
    blob: refOf(bytesWith()).$blob,
  },
})

/** The answer, with the ids that it was asked about given back as their marks: an answer may say them again. */
async function ask(who: Who, question: Question, ids: Ids) {
  const {method, address, body} = about(question, ids)
  const response = await server.app.request(address, {method, headers: headersOf(who), ...(body && {body})})
  const raw = await response.text()
  const text = Object.entries(ids).reduce((said, [name, id]) => said.replaceAll(id, `~${name}~`), raw)
  // The length of an answer that says the ids again is theirs.
  const headers = [...response.headers].map(([name, value]) =>
    name === 'content-length' ? [name, Number(value) - raw.length] : [name, value],
  )
  return {status: response.status, body: text, headers}
}

const read = async (who: Who, address: string) =>
  await (await server.app.request(address, {headers: headersOf(who)})).text()

/** An operator of the tenant may see it, and whoever it belongs to is no stranger to it. */
function mayKnow(caller: Who, owner: Who): boolean {
  if (caller.tenant !== owner.tenant) return false
  return caller.subject === owner.subject || (caller.roles ?? []).length > 0
}

const askings = declared.askings.filter(({path}) => path.startsWith('/v1/'))
const asked = askings.map(asking => ({name: `${asking.method} ${asking.path}`, asking, questions: questionsOf(asking)}))
const naming = asked.filter(({questions}) => questions.length > 0)
/** Routes that name nobody's record: what they list must hold nothing of anybody else. */
const lists = asked.filter(
  ({asking: {method, operation}, questions}) =>
    questions.length === 0 && method === 'GET' && JSON.stringify(operation.responses).includes('application/json'),
)

describe('somebody else’s ids', () => {
  test('[RET-5] every route that takes the id of a record is asked about it', () => {
    const idInPath = askings.filter(({path}) => /\{(?!name)\w+\}/.test(path))
    const names = naming.map(({name}) => name)
    expect(names).toEqual(expect.arrayContaining(idInPath.map(({method, path}) => `${method} ${path}`)))
    expect(names).toEqual(expect.arrayContaining(['POST /v1/erasures', 'POST /v1/revocations', 'POST /v1/facts']))
    expect(lists.map(({name}) => name)).toEqual(expect.arrayContaining(['GET /v1/sessions', 'GET /v1/memory/items']))
  })

  // First of all: what a stranger asks about is in their own tenant's audit afterwards.
  test.each(lists)('[RET-5] $name lists nothing of anybody else', async ({asking}) => {
    for (const draft of fc.sample(draftsOf(asking, document), {numRuns: 4, seed: 20261130})) {
      for (const caller of strangers) {
        const body = await read(caller, addressOf(asking, draft))
        for (const {who, ids} of owners.filter(({who}) => !mayKnow(caller, who))) {
          const {subject: _, fact: __, ...unguessable} = ids
          for (const id of Object.values(unguessable)) expect(body, `${who.subject}@${who.tenant}`).not.toContain(id)
        }
      }
    }
  })

  test.each(naming)('[ID-4] $name answers about a foreign id exactly as about an unknown one', async ({questions}) => {
    for (const question of questions) {
      for (const {who: owner, ids} of owners) {
        for (const caller of strangers.filter(who => !mayKnow(who, owner))) {
          // These two are named by the application: a fact is its tenant's, and a name like one's own is one's own.
          const named = {
            fact: caller.tenant === owner.tenant ? 'order/none' : ids.fact,
            subject: caller.subject === ids.subject ? 'nobody' : ids.subject,
          }
          const foreign = await ask(caller, question, {...ids, ...named})
          expect(foreign).toEqual(await ask(caller, question, nobody()))
        }
      }
    }
  })

  test('[RET-5] asked at random, in any mixture of whose ids are whose, no answer tells one from another', async () => {
    const anything = fc.record({
      question: fc.constantFrom(...naming.flatMap(({questions}) => questions)),
      caller: fc.constantFrom(...strangers),
      mixture: fc.array(fc.nat(), {minLength: 6, maxLength: 6}),
    })
    await fc.assert(
      fc.asyncProperty(anything, async ({question, caller, mixture}) => {
        const foreign = owners.filter(({who}) => who.tenant !== caller.tenant)
        const pick = (index: number) => foreign[(mixture[index] ?? 0) % foreign.length]?.ids ?? nobody()
        const mixed: Ids = {
          ...{session: pick(0).session, gone: pick(1).gone, run: pick(2).run, approval: pick(3).approval},
          ...{operation: pick(3).operation, delegation: pick(4).delegation, key: pick(5).key, memory: pick(0).memory},
          ...{erasure: pick(4).erasure, fact: pick(5).fact, subject: 'nobody', blob: pick(0).blob},
        }
        const unknown = await ask(caller, question, {...nobody(), subject: 'nobody'})
        expect(await ask(caller, question, mixed)).toEqual(unknown)
      }),
      {numRuns: 60, seed: 20261130},
    )
  })

  test('[RET-5] the audit of a tenant has nothing of another', async () => {
    const body = await read({tenant: 'fourth', subject: 'aud', roles: ['auditor']}, '/v1/audit')
    expect(JSON.parse(body)).toEqual({entries: [], next: null})
  })

  test('[RET-5] a live stream says nothing of what others do', async () => {
    const caller = {tenant: 'acme', subject: 'eve', expiresAt: Date.now() + 60_000}
    const stream = readStream(await server.app.request('/v1/live', {headers: headersOf(caller)}))
    expect(await stream.next()).toEqual({type: 'hello'})
    for (const tenant of [...tenants, 'acme']) {
      const device = testDevice({tenant, subject: 'ana'})
      await device.push(server, [device.open(), device.post('Hello.')])
      await call(server, device.who, '/v1/erasures', {session: device.session})
    }
    const mine = testDevice(caller)
    await mine.push(server, [mine.open()])
    expect(await stream.next()).toEqual({type: 'head', session: mine.session, head: 1})
    await stream.cancel()
  })
})
