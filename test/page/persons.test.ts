import {describe, expect, test} from 'vitest'
import {boundParts} from '../../runtime/page/bound-parts.ts'
import {memoryPeople} from '../../runtime/page/people.ts'
import {type Opened, Persons} from '../../runtime/page/persons.ts'
import type {Person} from '../../runtime/protocol/person.ts'

const ana = {tenant: 'shop', subject: 'ana'} as Person
const ben = {tenant: 'shop', subject: 'ben'} as Person

/** Databases that hold nothing, and an index that a test may look into while it is read. */
function personsOf(onRead: () => void, onOpen: () => void = () => undefined) {
  const index = memoryPeople()
  const opened = (person: Person | null): Opened<null> => ({
    parts: {
      service: new Proxy({} as never, {get: () => async () => person && {...person, unsent: 0}}),
      listen: () => () => undefined,
      onOwnerChange: () => () => undefined,
      environment: {now: () => 0, id: () => ''} as never,
    },
    extra: null,
    close: async () => undefined,
  })
  const open = async (_: string, person: Person | null) => {
    onOpen()
    return opened(person)
  }
  return new Persons<null>({
    index: {
      ...index,
      read: async () => {
        onRead()
        return index.read()
      },
    },
    open,
    remove: async () => true,
    me: async () => null,
    onOther: () => undefined,
  })
}

describe('[ID-6] a change of person', () => {
  test('refuses a call that the earlier person made while it was under way', async () => {
    const calls: {whose: unknown; answer: Promise<unknown>}[] = []
    let isChanging = false
    const persons: Persons<null> = personsOf(() => {
      if (!isChanging || !persons.current) return
      calls.push({
        whose: persons.current.place,
        answer: persons.ready().then(
          ({place}) => place,
          ({code}) => code,
        ),
      })
    })
    await persons.start()
    await persons.switchTo(ana)
    isChanging = true
    await persons.switchTo(ben)
    const answers = await Promise.all(calls.map(async ({whose, answer}) => ({whose, answer: await answer})))
    const refused = answers.filter(({answer}) => answer === 'unauthenticated')
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.filter(({whose, answer}) => answer !== whose)).toEqual(refused)
    await expect(persons.ready()).resolves.toBe(persons.current)
  })

  test('refuses a call that was made when no database was open any more', async () => {
    const answers: Promise<unknown>[] = []
    let isChanging = false
    const persons: Persons<null> = personsOf(
      () => undefined,
      () => {
        if (isChanging) answers.push(persons.ready().catch(({code}) => code))
      },
    )
    await persons.start()
    await persons.switchTo(ana)
    isChanging = true
    await persons.switchTo(ben)
    expect(await Promise.all(answers)).toEqual(['unauthenticated'])
    await expect(persons.ready()).resolves.toBe(persons.current)
  })

  test('still stores edits that were typed before, and nothing else', async () => {
    const asked: string[] = []
    const service = new Proxy({} as never, {get: (_, name) => async () => void asked.push(String(name))})
    const environment = {now: () => 0, id: () => ''} as never
    const parts = {service, listen: () => () => undefined, onOwnerChange: () => () => undefined, environment}
    const {service: bound} = boundParts(parts, () => false)
    await bound.updateDocument('ses' as never, 'evt' as never, 'draft', new Uint8Array())
    await expect(bound.sessions()).rejects.toMatchObject({code: 'unauthenticated'})
    expect(asked).toEqual(['updateDocument'])
  })
})
