import {Tabs} from '@base-ui/react/tabs'
import type {Run} from '../hooks.ts'
import type {BrowserRuntime, Connection, PersonState, Session, SessionView} from '../runtime-types.ts'
import {Part} from './boundary.tsx'
import {DevicePanel, type Role} from './device-panel.tsx'
import {PassportPanel} from './passport-panel.tsx'
import {SharedEditors} from './shared-editors.tsx'

export type SidePanelProps = {
  runtime: BrowserRuntime | null
  session: Session | null
  view: SessionView | null
  connection: Connection
  role: Role
  person: PersonState | null
  run: Run
}

export function SidePanel({runtime, session, view, connection, role, person, run}: SidePanelProps) {
  return (
    <div className="side">
      <Part name="The shared documents" shows={session}>
        <SharedEditors session={session} run={run} />
      </Part>
      <Tabs.Root className="tabs" defaultValue="run">
        <Tabs.List className="tab-list" aria-label="Details">
          <Tabs.Tab className="tab" value="run">
            Run passport
          </Tabs.Tab>
          <Tabs.Tab className="tab" value="device">
            This device
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel className="tab-panel" value="run">
          <Part name="The run passport" shows={view}>
            <PassportPanel view={view} />
          </Part>
        </Tabs.Panel>
        <Tabs.Panel className="tab-panel" value="device">
          <Part name="The state of this device" shows={connection}>
            <DevicePanel runtime={runtime} connection={connection} role={role} person={person} run={run} />
          </Part>
        </Tabs.Panel>
      </Tabs.Root>
    </div>
  )
}
