import {CSPProvider} from '@base-ui/react/csp-provider'
import {Header} from './components/header.tsx'
import {useLocation} from './hooks.ts'
import {Desk} from './pages/desk.tsx'
import {InboxPage} from './pages/inbox.tsx'
import {MemoryPage} from './pages/memory.tsx'
import {ShopPage} from './pages/shop.tsx'
import {type Services, ServicesProvider} from './services.ts'

export function App({services}: {services: Services}) {
  const {path, session} = useLocation()
  return (
    // The policy of the page forbids style elements, so the components may not write any.
    <CSPProvider disableStyleElements>
      <ServicesProvider value={services}>
        <Header path={path} />
        <Page path={path} session={session} />
      </ServicesProvider>
    </CSPProvider>
  )
}

function Page({path, session}: {path: string; session: string | null}) {
  switch (path) {
    case '/inbox':
      return <InboxPage />
    case '/memory':
      return <MemoryPage />
    case '/shop':
      return <ShopPage />
    default:
      return <Desk sessionId={session} />
  }
}
