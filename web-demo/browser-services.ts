import {openInbox, openRuntime} from '../runtime/index.ts'
import {fetchJson} from './fetch-json.ts'
import {pagePerson} from './page-person.ts'
import type {BrowserRuntime} from './runtime-types.ts'
import type {Services} from './services.ts'
import {shopSchema} from './shop/order.ts'
import {signIn} from './sign-in.ts'
import {demoToken, deskToken} from './token.ts'
import {updates} from './updates.ts'
import {deviceName} from './words/device.ts'

let runtime: Promise<BrowserRuntime> | null = null

/** The real world behind the page: one runtime for as long as the page lives, whichever route shows. */
export const browserServices: Services = {
  runtime: () => {
    runtime ??= openDesk()
    return runtime
  },
  inbox: person =>
    openInbox({
      url: location.origin,
      token: demoToken(person),
      offline: {name: person, label: deviceName(navigator.userAgent)},
    }),
  shop: async () => {
    return shopSchema.parse(await fetchJson('/demo/shop'))
  },
  updates,
  reload: () => location.reload(),
}

function openDesk(): Promise<BrowserRuntime> {
  const opening = openRuntime({
    worker: () => new Worker(new URL('./agent.worker.ts', import.meta.url), {type: 'module'}),
    // As the first build called it; each person has a database of their own under this name.
    name: 'desk-maya',
    build: __BUILD__,
    sync: {url: location.origin, token: deskToken},
  })
  opening.then(
    desk => {
      pagePerson.follow(desk.person)
      followSignOut(desk)
    },
    () => {
      runtime = null
    },
  )
  return opening
}

/** A person can also sign out at the approvals page, which has no runtime of its own. [ID-6] */
function followSignOut(desk: BrowserRuntime): void {
  const look = () => {
    if (signIn.get() === null) void desk.signOut().catch(() => undefined)
  }
  signIn.subscribe(look)
  look()
}
