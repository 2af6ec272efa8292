import type {PGlite} from '@electric-sql/pglite'
import type {Fence} from './lock-fence.ts'

type Operation = (...args: unknown[]) => unknown
type Operations = Record<string, Operation | undefined>
type NodeFilesystem = {stream_ops: Operations; node_ops: Operations}

const writing = {
  stream_ops: ['write', 'msync'],
  node_ops: ['setattr', 'mknod', 'rename', 'unlink', 'rmdir', 'symlink'],
} as const

/**
 * Checks the fence before each file change, because a process can be suspended in the middle of a statement. A failed
 * check is a filesystem fault for Postgres, which stops the database. A process that is suspended between the check and
 * the write (a few microseconds) is not covered.
 */
export function fenceWrites(db: PGlite, fence: Fence): void {
  const {NODEFS} = Reflect.get(db.Module.FS, 'filesystems') as {NODEFS: NodeFilesystem}
  for (const kind of ['stream_ops', 'node_ops'] as const) {
    for (const name of writing[kind]) {
      const run = NODEFS[kind][name]
      if (!run) continue
      NODEFS[kind][name] = (...args) => {
        fence()
        return run(...args)
      }
    }
  }
}
