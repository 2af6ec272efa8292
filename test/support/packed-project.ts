import {execFile} from 'node:child_process'
import {cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {promisify} from 'node:util'
import {createBuilder} from 'vite'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

export type PackedProject = {
  /** An empty project that has the package from its tarball, and what the package says it depends on. */
  folder: string
  /** What the tarball holds, in paths of the package. */
  files: string[]
  tarballBytes: number
  remove(): Promise<void>
}

/** Builds the package, packs it as `npm publish` would and installs the tarball; dependencies are linked, not fetched. */
export async function packedProject(): Promise<PackedProject> {
  const scratch = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-package-')))
  const staged = join(scratch, 'staged')
  const folder = join(scratch, 'project')
  await buildInto(join(staged, 'dist/lib'))
  for (const name of ['package.json', 'README.md', 'LICENSE']) await cp(join(root, name), join(staged, name))
  // The build has run already, elsewhere than in the repository, where another one may be running.
  const {stdout} = await run('npm', ['pack', '--json', '--ignore-scripts', '--offline'], {cwd: staged})
  const [{filename, size, files}] = JSON.parse(stdout) as [{filename: string; size: number; files: {path: string}[]}]
  const installed = join(folder, 'node_modules/holdfast')
  await mkdir(installed, {recursive: true})
  await run('tar', ['-xzf', join(staged, filename), '-C', installed, '--strip-components=1'])
  await linkDependencies(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({private: true, type: 'module'}))
  return {
    folder,
    files: files.map(({path}) => path),
    tarballBytes: size,
    remove: () => rm(scratch, {recursive: true, force: true}),
  }
}

async function buildInto(outDir: string): Promise<void> {
  const builder = await createBuilder({
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    environments: {lib: {build: {outDir}}},
  })
  await builder.build(builder.environments.lib!)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(root, '.ci/tsconfig.declarations.json')
  await run(process.execPath, [tsc, '-p', project, '--outDir', join(outDir, 'types')])
}

async function linkDependencies(folder: string): Promise<void> {
  const {dependencies, peerDependencies} = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
    peerDependencies: Record<string, string>
  }
  for (const name of [...Object.keys(dependencies), ...Object.keys(peerDependencies), '@types/node']) {
    await linkPackage(folder, name)
  }
}

/** Makes a package that the repository has resolvable in the project. */
export async function linkPackage(folder: string, name: string): Promise<void> {
  const link = join(folder, 'node_modules', name)
  await mkdir(dirname(link), {recursive: true})
  await symlink(await realpath(join(root, 'node_modules', name)), link, 'dir')
}
