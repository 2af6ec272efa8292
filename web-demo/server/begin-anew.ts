import {createHash} from 'node:crypto'
import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {HoldfastError, type OpenedDatabase, openNodeDatabase} from '../../runtime/node.ts'

/**
 * Opens the folder's database. A damaged one is refused unless `consent` names it, which `HOLDFAST_BEGIN_ANEW` does:
 * the name stands in the refusal, and holds for this one database, so that a setting left behind never empties the next.
 */
export async function openOrAskToBeginAnew(dataDir: string, consent: string | undefined): Promise<OpenedDatabase> {
  try {
    return await openNodeDatabase({dataDir})
  } catch (error) {
    if (!HoldfastError.is(error, 'database_damaged', 'misconfigured')) throw error
    const name = await nameOf(dataDir)
    if (consent === name) return openNodeDatabase({dataDir, onDamage: 'begin_anew'})
    const {folder, reason} = error.details
    throw new HoldfastError(
      error.code,
      `The database in ${folder} cannot be opened: ${reason}. Nothing was changed. Restore the folder from a backup, ` +
        `or start once with HOLDFAST_BEGIN_ANEW=${name} to set its files aside and begin with an empty database.`,
      {details: error.details, cause: error},
    )
  }
}

async function nameOf(dataDir: string): Promise<string> {
  const marker = await readFile(join(dataDir, 'generation')).catch(() => '')
  return createHash('sha256').update(marker).digest('hex').slice(0, 12)
}
