import {createContext, use} from 'react'
import type {Person} from './people.ts'
import type {BrowserRuntime, Inbox} from './runtime-types.ts'
import type {Shop} from './shop/order.ts'
import type {Updates} from './updates.ts'

/** Everything that the page needs from outside: the page itself opens nothing and fetches nothing. */
export interface Services {
  /** The same runtime every time; the first call opens it. */
  runtime(): Promise<BrowserRuntime>
  /** Of whoever works at the approvals page. */
  inbox(person: Person): Inbox
  shop(): Promise<Shop>
  updates: Updates
  reload(): void
}

const ServicesContext = createContext<Services | null>(null)
export const ServicesProvider = ServicesContext.Provider

export function useServices(): Services {
  const services = use(ServicesContext)
  if (!services) throw new Error('The page was rendered outside of its ServicesProvider.')
  return services
}
