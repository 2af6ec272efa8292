import type {LeftSessions, StoredDevice} from './stored-device.ts'

export type Outcome = 'as it was' | 'told' | 'SILENT' | 'LOST' | 'FALSE'

/** What a person finds: everything, or less and is told, and never a word that nobody said. */
export async function damageOutcome(device: StoredDevice, {own, shared}: LeftSessions): Promise<Outcome> {
  const mine = await device.texts(own.session)
  const theirs = await device.texts(shared.session)
  const log = await device.log(shared.session)
  const behind = log.isBehind
  await log.receive(shared.page)
  const refilled = await device.texts(shared.session)
  const {recovery} = device
  await device.close()
  if ([...mine, ...theirs].some(text => ![...own.texts, ...shared.texts].includes(text))) return 'FALSE'
  if (mine.join() !== own.texts.join()) return recovery?.lost === 0 || !recovery ? 'LOST' : 'told'
  if (refilled.join() !== shared.texts.join()) return 'LOST'
  if (theirs.length < shared.texts.length && !(behind && recovery)) return 'SILENT'
  return recovery ? 'told' : 'as it was'
}
