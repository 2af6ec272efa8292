import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../protocol/errors.ts'
import {migrations} from './migrations.ts'
import {rows} from './pglite-rows.ts'

/**
 * Brings the tables of a device up to date, one migration a transaction.
 *
 * @throws HoldfastError `version_mismatch` for tables of a newer build, which are left as they are
 */
export async function migrate(db: PGlite): Promise<void> {
  await db.exec('create table if not exists holdfast_migrations (version int primary key)')
  const [last] = await rows<{version: number | null}>(db, 'select max(version) as version from holdfast_migrations')
  const have = last?.version ?? 0
  if (have > migrations.length) {
    throw new HoldfastError(
      'version_mismatch',
      `database: schema ${have} is newer than ${migrations.length}, which this build knows`,
    )
  }
  for (let version = have + 1; version <= migrations.length; version++) {
    await db.transaction(async tx => {
      await tx.exec(migrations[version - 1] ?? '')
      await tx.query('insert into holdfast_migrations (version) values ($1)', [version])
    })
  }
}
