import type {LanguageModelV3Prompt} from '@ai-sdk/provider'
import type {PGlite} from '@electric-sql/pglite'
import {describe, expect, test} from 'vitest'
import {defineAgent} from '../../runtime/node.ts'
import type {ToolEntry} from '../../runtime/protocol/transcript.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {openTestDatabase, promptModel, said} from '../../runtime/testing.ts'
import {clerkHost, clerkModel} from '../support/blob-clerk.ts'
import {bytesWith} from '../support/blobs.ts'
import {deskHost, openDevice, until} from '../support/crashable-device.ts'
import {desk as deskAgent} from '../support/desk.ts'
import {deskScenes, kindsOf} from '../support/desk-scenes.ts'
import {rowsByTable} from '../support/scan-database.ts'

const desk = deskScenes()

/** Calls that no result in the prompt answers, and results that answer no call. */
function unpaired(prompt: LanguageModelV3Prompt): string[] {
  const calls = new Set<string>()
  const loose: string[] = []
  for (const message of prompt) {
    if (message.role === 'assistant') {
      loose.push(...calls)
      calls.clear()
      for (const part of message.content) if (part.type === 'tool-call') calls.add(part.toolCallId)
    } else if (message.role === 'tool') {
      for (const part of message.content)
        if ('toolCallId' in part && !calls.delete(part.toolCallId)) loose.push('result')
    }
  }
  return [...loose, ...calls]
}

describe('transcript', () => {
  test('[LOG-7] [RUN-7] a run that is cancelled later and later, up to its wait, leaves no call that breaks the next model call', async () => {
    const prompts: LanguageModelV3Prompt[] = []
    const model = promptModel(prompt => {
      prompts.push(prompt)
      if (said(prompt).at(-1) === 'And now?' || prompt.at(-1)?.role === 'tool') return {text: 'Done.'}
      return {
        calls: [
          {tool: 'lookupOrder', input: {orderId: 'A17'}, id: 'look'},
          {tool: 'saveNote', input: {text: 'x'}, id: 'note'},
          {tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}, id: 'large'},
        ],
      }
    })
    const cutAt: string[] = []
    // From the event that starts the run on: before it there is nothing to cancel.
    for (let after = 3; ; after++) {
      const scene = await desk.play(model)
      const cut = new Promise<void>(resolve => {
        const stop = scene.session.subscribe(async view => {
          const {rows} = await desk.db.query('select id from holdfast_events where session = $1', [scene.id])
          if (rows.length < after && view.status !== 'waiting_for_approval') return
          resolve()
          queueMicrotask(() => stop())
        })
      })
      await scene.session.send('Do it all.')
      await cut
      const whole = (await scene.session.passport())?.status === 'waiting_for_approval'
      await scene.session.cancel().catch(() => undefined)
      cutAt.push((await scene.session.passport())?.status ?? 'none')
      await scene.session.send('And now?')
      await until(scene.session, view => view.status === 'completed' && view.pending === 0)
      await scene.device.close()
      if (whole) break
    }
    expect(cutAt.length).toBeGreaterThan(2)
    expect(new Set(cutAt)).toEqual(new Set(['cancelled']))
    expect(prompts.map(unpaired)).toEqual(prompts.map(() => []))
  })

  test('[LOG-1] whatever a session goes through, no statement shortens a log or changes what an event says', async () => {
    await forbidEdits(desk.db, 'holdfast_events')
    await forbidEdits(desk.shop.db, 'hf_events')
    const model = promptModel(prompt => {
      const last = said(prompt).at(-1)
      if (last === 'Fail.') return {error: new Error('overloaded')}
      if (prompt.at(-1)?.role === 'tool' || last !== 'Refund.') return {text: 'Done.'}
      return {
        calls: [
          {tool: 'saveNote', input: {text: 'y'}},
          {tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}},
        ],
      }
    })
    const scene = await desk.play(model)
    const {session, device} = scene
    await session.send('Refund.')
    await until(session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    await session.send('No, leave it.')
    await until(session, view => view.status === 'completed' && view.pending === 0)
    await session.document('draft').edit('Rewritten by hand.')
    await session.send('Fail.')
    await until(session, view => view.status === 'failed_retryable' && view.pending === 0)
    await session.retry()
    await until(
      session,
      view => view.status === 'failed_retryable' && view.passport?.attempt === 2 && view.pending === 0,
    )
    await session.cancel()
    const branch = await session.fork({after: 3})
    await branch.send('Elsewhere.')
    await until(branch, view => view.status === 'completed' && view.pending === 0)
    await device.service.setOnline(false)
    await session.send('Offline.')
    await device.service.setOnline(true)
    await until(session, view => view.status === 'completed' && view.pending === 0)
    const before = kindsOf(await desk.log(scene))
    await device.close()
    const reopened = await scene.open(model)
    const view = await until(await reopened.session(scene.id), each => each.pending === 0 && each.settled)
    expect(kindsOf(await desk.log(scene)).slice(0, before.length)).toEqual(before)
    expect(view.storageFault).toBeNull()
    await expect(desk.db.exec('delete from holdfast_events')).rejects.toThrow('shortened')
    await expect(desk.shop.db.exec(`update hf_events set body = '{}'`)).rejects.toThrow('edited')
    await reopened.close()
  })

  test('[VIEW-4] [LOG-5] a turn late in a long conversation stores no more than one near its start', async () => {
    const agent = defineAgent({...deskAgent, name: 'desk', budgets: {viewTokens: 600}})
    const model = promptModel(prompt =>
      prompt.at(-1)?.role === 'tool'
        ? {text: 'It costs 89.00.'}
        : {calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]},
    )
    const scene = await desk.play(model, {hosts: [deskHost(model, {agent})]})
    const size = async (db: PGlite) => {
      const rows = [...(await rowsByTable(db)).values()].flat().filter(row => row.includes(scene.id))
      return rows.reduce((sum, row) => sum + row.length, 0)
    }
    const sizes: {device: number; server: number}[] = []
    for (let turn = 1; turn <= 16; turn++) {
      await scene.session.send(`What is A17? (${String(turn).padStart(3, '0')})`)
      await until(
        scene.session,
        view =>
          view.status === 'completed' &&
          view.pending === 0 &&
          view.passport !== null &&
          view.entries.filter(each => each.type === 'message').length === turn,
      )
      sizes.push({device: await size(desk.db), server: await size(desk.shop.db)})
    }
    const grown = (side: 'device' | 'server', turn: number) => sizes[turn]![side] - sizes[turn - 1]![side]
    for (const side of ['device', 'server'] as const) {
      const [early, late] = [grown(side, 8), grown(side, 15)]
      expect(late).toBeLessThan(early * 1.1)
    }
    await scene.device.close()
  })

  test('[LOG-5] [VIEW-4] a tool that brings a picture every turn swells neither state nor log nor view, and its session ends at a bound', {
    timeout: 180_000,
  }, async () => {
    const database = await openTestDatabase()
    const pictures = Array.from({length: 9}, () => bytesWith('', limits.blobBytes))
    let turn = 0
    const host = clerkHost(() => ({picture: pictures[turn++ % pictures.length]}))
    const subject = 'painter'
    const link = await desk.shop.link(subject)
    link.setOnline(false)
    const device = await openDevice({
      db: database.db,
      shop: desk.shop,
      subject,
      model: clerkModel(),
      hosts: [host],
      link,
    })
    await device.sessions.setOnline(false)
    const session = await device.sessions.openSession({agent: 'desk'})
    const results: unknown[] = []
    for (let said = 1; said <= pictures.length + 1; said++) {
      await session.send('fetchFile')
      const view = await until(session, ({settled, entries}) => {
        return settled && entries.filter(({type}) => type === 'reply').length === said
      })
      const card = view.entries.findLast(({type}) => type === 'tool') as ToolEntry
      results.push(card.result?.outcome === 'ok' ? 'ok' : JSON.stringify(card.result?.output))
      expect(JSON.stringify(view).length).toBeLessThan(30_000)
    }
    const eight = Array.from({length: 8}, () => 'ok')
    // The ninth is one too many; the first again is here already and costs nothing.
    expect(results).toEqual([...eight, expect.stringContaining('at most 67108864 are kept'), 'ok'])
    const {rows} = await database.db.query<{state: number; log: number; blobs: number}>(
      `select (select sum(length(confirmed) + length(current)) from holdfast_sessions)::int as state,
         (select sum(length(body)) from holdfast_events)::int as log,
         (select sum(length(bytes)) from holdfast_blobs)::int as blobs`,
    )
    expect(rows[0]?.state).toBeLessThan(10_000)
    expect(rows[0]?.log).toBeLessThan(100_000)
    expect(rows[0]?.blobs).toBe(limits.sessionBlobBytes)
    await device.close()
    await database.close()
  })
})

/** Lets the log confirm and refuse events, and nothing else: a deleted or edited one is an error of its statement. */
async function forbidEdits(db: PGlite, table: string): Promise<void> {
  await db.exec(`
    create function ${table}_kept() returns trigger language plpgsql as $$
    begin
      if tg_op = 'DELETE' then raise exception 'the log was shortened'; end if;
      if (old.body::jsonb - 'seq') is distinct from (new.body::jsonb - 'seq') then
        raise exception 'an event was edited';
      end if;
      return new;
    end $$;
    create trigger ${table}_kept before update or delete on ${table} for each row execute function ${table}_kept();
  `)
}
