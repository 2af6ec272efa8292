import {copyFile, mkdir, readdir, rm, stat, utimes} from 'node:fs/promises'
import {join} from 'node:path'

/** A tab that stays open longer than this reloads when its worker has to start again. */
const keptMs = 14 * 24 * 3_600_000

/**
 * Keeps the assets of the build that is about to be replaced. A tab of that build is still open somewhere, and when its
 * worker dies it asks for a script by the old name. Names hold a hash, so the builds of two weeks fit in one folder.
 */
export async function keepEarlier(page: string, earlier: string, now = Date.now()): Promise<void> {
  const [from, to] = [join(page, 'assets'), join(earlier, 'assets')]
  await mkdir(to, {recursive: true})
  for (const name of await readdir(from).catch(() => [])) {
    await copyFile(join(from, name), join(to, name))
    await utimes(join(to, name), now / 1000, now / 1000)
  }
  for (const name of await readdir(to)) {
    if (now - (await stat(join(to, name))).mtimeMs > keptMs) await rm(join(to, name))
  }
}
