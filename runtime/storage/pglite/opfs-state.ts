import {damaged} from './opened-database.ts'
import {listNames, readText, writeText} from './opfs-files.ts'

/**
 * `opfs-ahp` keeps its file tree in one file: a snapshot on the first line, a change on each later one. Opened as it
 * is, an empty file becomes an empty database without a word, and a torn last line fails for ever. So it is looked
 * at, and mended where nothing acknowledged can be lost, before PGlite sees it.
 */
const stateFile = 'state.txt'
/** Holds the tree while the snapshot is being rewritten, which truncates first; empty at all other times. */
export const spareFile = 'state.spare'

export async function mendState(folder: FileSystemDirectoryHandle): Promise<void> {
  const lines = ((await readText(folder, stateFile)) ?? '').split('\n')
  if (!isJson(lines[0])) return restoreSpare(folder)
  const torn = lines.findIndex(line => line !== '' && !isJson(line))
  if (torn === -1) return checkFiles(folder, lines)
  if (torn < lines.length - 1) throw damaged(`line ${torn + 1} of the file tree is unreadable`)
  // A change is flushed before the write that needed it is acknowledged, so one cut short was never promised.
  await writeText(folder, stateFile, lines.slice(0, -1).join('\n'))
  await checkFiles(folder, lines.slice(0, -1))
}

async function restoreSpare(folder: FileSystemDirectoryHandle): Promise<void> {
  const spare = await readText(folder, spareFile)
  if (!isJson(spare)) throw damaged('the file tree is empty')
  await writeText(folder, stateFile, spare)
}

/**
 * PGlite only logs a file that is gone, and opens the rest. What a table no longer needs goes into its pool of handles
 * and, when there are too many, is deleted: the snapshot still names it, the changes after it say so.
 */
async function checkFiles(folder: FileSystemDirectoryHandle, [snapshot, ...changes]: string[]): Promise<void> {
  const there = new Set(await listNames(await folder.getDirectoryHandle('data', {create: true}), 'file'))
  const made = changes.filter(line => line !== '').map(line => JSON.parse(line) as Change)
  const deleted = new Set(made.flatMap(({opp, args}) => (opp === 'deletePoolFile' ? args : [])))
  const missing = backingFiles(JSON.parse(snapshot ?? '')).filter(file => !there.has(file) && !deleted.has(file))
  if (missing.length > 0) throw damaged(`${missing.length} of its files are gone`)
}

/** One line behind the snapshot; the one argument of `deletePoolFile` is the file's name. */
type Change = {opp: string; args: unknown[]}

interface TreeNode {
  backingFilename?: string
  children?: Record<string, TreeNode>
}

function backingFiles({root}: {root: TreeNode}): string[] {
  const walk = (node: TreeNode): string[] =>
    node.backingFilename ? [node.backingFilename] : Object.values(node.children ?? {}).flatMap(walk)
  return walk(root)
}

function isJson(text: string | undefined): text is string {
  try {
    JSON.parse(text ?? '')
    return true
  } catch {
    return false
  }
}
