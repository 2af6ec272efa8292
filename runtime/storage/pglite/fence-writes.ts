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
 * Asks the fence before each change of a file, because a process can be frozen in the middle of a statement. What is
 * thrown here leaves Postgres as a fault of the file system, which stops the database for good. A process that is frozen
 * between the question and the write itself, a few microseconds, is not covered.
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
