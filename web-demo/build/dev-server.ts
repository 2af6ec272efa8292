import {resolve} from 'node:path'
import {getRequestListener} from '@hono/node-server'
import type {Plugin, ViteDevServer} from 'vite'

/** In development Vite serves the page, and this the shop and its sync server, on the same port and the same data. */
export function devServer(): Plugin {
  return {
    name: 'holdfast-dev-server',
    apply: 'serve',
    async configureServer(server) {
      if (process.env.VITEST) return
      const shop = await openShop(server)
      const listener = getRequestListener(request => shop.app.fetch(request))
      server.middlewares.use((request, response, next) => {
        if (/^\/(v1|demo|healthz|readyz)\b/.test(request.url ?? '')) void listener(request, response)
        else next()
      })
      server.httpServer?.once('close', () => void shop.sync.close().then(shop.closeDatabase))
    },
  }
}

async function openShop(server: ViteDevServer) {
  // Loaded through Vite, so that it may be TypeScript and find the prepared database.
  const {openShop} = (await server.ssrLoadModule('/server/open-demo.ts')) as typeof import('../server/open-demo.ts')
  const {modelSettings} = (await server.ssrLoadModule(
    '/server/gateway-models.ts',
  )) as typeof import('../server/gateway-models.ts')
  const dataDir = resolve(process.env.HOLDFAST_DATA ?? '.data')
  const shop = await openShop({dataDir, model: modelSettings(process.env)})
  await shop.sync.start()
  return shop
}
