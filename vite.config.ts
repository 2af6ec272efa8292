import {realpathSync} from 'node:fs'
import {builtinModules} from 'node:module'
import {availableParallelism} from 'node:os'
import {join} from 'node:path'
import react from '@vitejs/plugin-react'
import type {EnvironmentOptions, Plugin, PluginOption} from 'vite'
import {VitePWA} from 'vite-plugin-pwa'
import {defineConfig} from 'vitest/config'
import {preparedDataDirPlugin} from './runtime/storage/prepared/vite-plugin.ts'
import ClosingLine from './test/support/closing-line.ts'
import LongestFirst from './test/support/longest-first.ts'
import {devServer} from './web-demo/build/dev-server.ts'
import {keepEarlier} from './web-demo/build/keep-earlier.ts'
import {precompress} from './web-demo/build/precompress.ts'
import {withIntegrity} from './web-demo/build/with-integrity.ts'

const here = import.meta.dirname
const at = (...path: string[]) => join(here, ...path)
const preparedDataDir = () => preparedDataDirPlugin({cacheDir: at('node_modules/.cache/holdfast')})

/** PGlite's own eval is never reached: the pages under test forbid it and work. */
const quiet = {eval: false, pluginTimings: false}

/** The page: one app for every route, precached whole so that it opens with the server stopped. */
const page: EnvironmentOptions = {
  build: {
    outDir: at('dist/page'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2022',
    rollupOptions: {checks: quiet},
  },
}

const server: EnvironmentOptions = {
  consumer: 'server',
  build: onNode('dist/server', {server: at('web-demo/server.ts')}),
}

/** The package: the public entries and what they share; dependencies stay the installer's. */
const lib: EnvironmentOptions = {
  consumer: 'server',
  build: onNode('dist/lib', {
    index: at('runtime/index.ts'),
    worker: at('runtime/worker.ts'),
    node: at('runtime/node.ts'),
    testing: at('runtime/testing.ts'),
    embedder: at('runtime/embedder.ts'),
    'sync-server': at('sync-server/index.ts'),
    'sync-server-node': at('sync-server/node.ts'),
    'sync-server-postgres': at('sync-server/postgres.ts'),
  }),
}

function onNode(outDir: string, input: Record<string, string>): EnvironmentOptions['build'] {
  return {
    outDir: at(outDir),
    emptyOutDir: true,
    emitAssets: true,
    copyPublicDir: false,
    minify: false,
    target: 'node20',
    rollupOptions: {
      input,
      external: isDependency,
      preserveEntrySignatures: 'strict',
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: 'shared/[name].js',
        // Beside the chunks that name them, without a hash: a bundler that copies no files needs names that stay.
        assetFileNames: 'shared/[name][extname]',
      },
    },
  }
}

function isDependency(id: string): boolean {
  return id.startsWith('node:') || builtinModules.includes(id) || /^(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*(\/|$)/.test(id)
}

/** Workbox would otherwise write a service worker for the server and the package too. */
function onlyFor(environment: string, plugins: PluginOption[]): PluginOption[] {
  const limit = (plugin: Plugin): Plugin => ({...plugin, applyToEnvironment: ({name}) => name === environment})
  return plugins.flat().map(plugin => limit(plugin as Plugin))
}

const offline = () =>
  VitePWA({
    strategies: 'generateSW',
    // An open page goes on with its own build, offline too, until the person asks for the newer one.
    registerType: 'prompt',
    // The page registers it itself: an inline script would need a hole in the Content-Security-Policy.
    injectRegister: null,
    manifest: {
      name: 'Holdfast refund desk',
      short_name: 'Refund desk',
      start_url: '/',
      display: 'standalone',
      icons: [{src: '/icon.svg', sizes: 'any', type: 'image/svg+xml'}],
    },
    workbox: {
      globPatterns: ['**/*.{html,js,css,wasm,data,bin,svg,png,woff2,webmanifest}'],
      globIgnores: ['**/initdb-*.wasm'],
      maximumFileSizeToCacheInBytes: 32 * 1024 * 1024,
      manifestTransforms: [withIntegrity(at('dist/page'))],
      navigateFallback: '/index.html',
      navigateFallbackDenylist: [/^\/v1\//, /^\/demo\//],
    },
  })

/** Pages of two builds can be open at once, and the newer one leads: names of builds sort by their age. */
const build = JSON.stringify(new Date().toISOString())

export default defineConfig({
  define: {__BUILD__: build},
  // Vitest runs over the whole repository; the page's own root is where its index.html lies.
  root: process.env.VITEST ? here : at('web-demo'),
  plugins: [preparedDataDir(), devServer(), ...onlyFor('client', [react(), offline(), precompress(at('dist/page'))])],
  worker: {format: 'es', plugins: () => [preparedDataDir()], rollupOptions: {checks: quiet}},
  // Pre-bundling would lose the files that PGlite finds beside its own module.
  optimizeDeps: {exclude: ['@electric-sql/pglite']},
  server: {fs: {allow: [here, realpathSync(at('node_modules'))]}},
  environments: {client: page, server, lib},
  builder: {
    async buildApp({build, environments}) {
      await keepEarlier(at('dist/page'), at('dist/earlier'))
      for (const name of ['client', 'server', 'lib']) await build(environments[name]!)
    },
  },
  test: {
    reporters: ['default', new ClosingLine()],
    // One worker more than cores: browser files wait for timers and pages, and another file uses that time.
    maxWorkers: availableParallelism() + 1,
    sequence: {sequencer: LongestFirst},
    // The limits catch hangs, not slow machines: a red run must mean a fault, also while the machine does other work.
    expect: {poll: {timeout: 120_000}},
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/support/build-demo.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        extends: true,
        // Run by `npm run bench`, never with the tests: each prints its yardstick and the ratio to it from one run.
        test: {name: 'bench', include: ['test/bench/**/*.bench.ts'], fileParallelism: false, testTimeout: 600_000},
      },
    ],
  },
})
