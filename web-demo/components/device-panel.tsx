import {Switch} from '@base-ui/react/switch'
import type {Run} from '../hooks.ts'
import type {BrowserRuntime, Connection, PersonState} from '../runtime-types.ts'
import {useServices} from '../services.ts'
import {connectionWords} from '../words/session.ts'
import {PersonPanel} from './person-panel.tsx'
import {StatusDot} from './status-dot.tsx'

export type Role = 'starting' | 'leader' | 'follower'

const roles: Record<Role, string> = {
  starting: 'This tab is starting.',
  leader: 'This tab runs the agent and owns the database.',
  follower: 'Another tab runs the agent; this one follows it.',
}

/** Controls that show what the runtime survives: no connection, a reload, a killed worker, another person. */
export function DevicePanel({
  runtime,
  connection,
  role,
  person,
  run,
}: {
  runtime: BrowserRuntime | null
  connection: Connection
  role: Role
  person: PersonState | null
  run: Run
}) {
  const services = useServices()
  const {words, tone} = connectionWords(connection)
  return (
    <div className="device">
      <div className="device-row">
        <label className="switch-label" htmlFor="online">
          Connection to the server
        </label>
        <Switch.Root
          id="online"
          className="switch"
          checked={connection.state !== 'cut'}
          disabled={!runtime}
          onCheckedChange={online => void run(async () => runtime?.setOnline(online))}
        >
          <Switch.Thumb className="switch-thumb" />
        </Switch.Root>
      </div>
      <p className="device-state">
        <StatusDot tone={tone} words={words} />
        {connection.detail && <span className="device-detail">{connection.detail}</span>}
      </p>
      <p className="device-state">{roles[role]}</p>
      <div className="device-buttons">
        <button type="button" className="button" onClick={services.reload}>
          Reload
        </button>
        <button type="button" className="button" disabled={!runtime} onClick={() => runtime?.killWorker()}>
          Kill the worker
        </button>
      </div>
      <p className="hint">Neither button loses anything. Try them in the middle of a reply.</p>
      <PersonPanel runtime={runtime} person={person} run={run} />
    </div>
  )
}
