import {CSPProvider} from '@base-ui/react/csp-provider'
import {Boundary} from './components/boundary.tsx'
import {Header} from './components/header.tsx'
import {PageFailed} from './components/page-failed.tsx'
import {PersonBoundary} from './components/person-boundary.tsx'
import {useLocation} from './hooks.ts'
import {Desk} from './pages/desk.tsx'
import {InboxPage} from './pages/inbox.tsx'
import {MemoryPage} from './pages/memory.tsx'
import {NotFoundPage} from './pages/not-found.tsx'
import {PlainPage} from './pages/plain.tsx'
import {ShopPage} from './pages/shop.tsx'
import {inboxPerson} from './people.ts'
import {type Services, ServicesProvider} from './services.ts'

export function App({services}: {services: Services}) {
  const {path, session, as, view} = useLocation()
  return (
    // The policy of the page forbids style elements, so the components may not write any.
    <CSPProvider disableStyleElements>
      <ServicesProvider value={services}>
        <Header path={path} as={as} />
        <Boundary
          shows={`${path} ${session} ${view}`}
          fallback={(error, retry) => <PageFailed error={error} session={session} onRetry={retry} />}
        >
          <PersonBoundary>
            <Page path={path} session={session} as={as} view={view} />
          </PersonBoundary>
        </Boundary>
      </ServicesProvider>
    </CSPProvider>
  )
}

type PageProps = {path: string; session: string | null; as: string | null; view: string | null}

function Page({path, session, as, view}: PageProps) {
  switch (path) {
    case '/inbox':
      return <InboxPage key={inboxPerson(as)} person={inboxPerson(as)} />
    case '/memory':
      return <MemoryPage />
    case '/shop':
      return <ShopPage />
    case '/':
    case '/index.html':
      return session !== null && view === 'text' ? <PlainPage sessionId={session} /> : <Desk sessionId={session} />
    default:
      return <NotFoundPage />
  }
}
