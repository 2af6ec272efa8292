import {CSPProvider} from '@base-ui/react/csp-provider'
import {Header} from './components/header.tsx'
import {useLocation} from './hooks.ts'
import {Desk} from './pages/desk.tsx'
import {InboxPage} from './pages/inbox.tsx'
import {MemoryPage} from './pages/memory.tsx'
import {ShopPage} from './pages/shop.tsx'
import {inboxPerson} from './people.ts'
import {type Services, ServicesProvider} from './services.ts'

export function App({services}: {services: Services}) {
  const {path, session, as} = useLocation()
  return (
    // The policy of the page forbids style elements, so the components may not write any.
    <CSPProvider disableStyleElements>
      <ServicesProvider value={services}>
        <Header path={path} as={as} />
        <Page path={path} session={session} as={as} />
      </ServicesProvider>
    </CSPProvider>
  )
}

function Page({path, session, as}: {path: string; session: string | null; as: string | null}) {
  switch (path) {
    case '/inbox':
      return <InboxPage key={inboxPerson(as)} person={inboxPerson(as)} />
    case '/memory':
      return <MemoryPage />
    case '/shop':
      return <ShopPage />
    default:
      return <Desk sessionId={session} />
  }
}
