// Serves the built page and server, building first if there is no build or the sources are newer than it.
import {fileURLToPath} from 'node:url'
import './build.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
await import('../dist/server/server.js')
