import {useState} from 'react'
import {keepComposing} from '../enter.ts'
import {useAction} from '../hooks.ts'
import type {ApproverKey, Inbox, InboxState} from '../runtime-types.ts'
import {deviceName, keyWords, sortedKeys} from '../words/device.ts'
import {isOver, OverLimit} from './over-limit.tsx'
import {Problems} from './problems.tsx'
import {StatusDot} from './status-dot.tsx'

/** Characters of a device's name that the server takes. */
const labelCharacters = 100

type Props = {inbox: Inbox; state: InboxState}

/** Which devices of this person may sign decisions while there is no connection, this one first. [APP-4] */
export function DecidingDevices({inbox, state: {ownKey, keys, connection, decisions}}: Props) {
  const {problems, run, dismiss} = useAction()
  const apart = connection.state !== 'live' && connection.state !== 'polling'
  const waiting = decisions.some(({refused}) => refused === null)
  return (
    <details className="lending devices">
      <summary>Deciding without a connection</summary>
      <div className="devices-own">
        <StatusDot
          tone={ownKey ? 'done' : 'quiet'}
          words={ownKey ? 'This device can decide offline' : 'This device cannot decide offline'}
        />
        <p>
          {ownKey
            ? 'Without a connection your decision is signed here and handed in later; the server looks at everything again before it counts. A device that is lost should be revoked.'
            : 'Without a connection there is nothing to decide with here, until you add this device.'}
        </p>
      </div>
      <Problems problems={problems} onDismiss={dismiss} />
      {apart && <p>Devices can be added and revoked when the server is back.</p>}
      {!ownKey && <AddDevice disabled={apart} onAdd={label => run(() => inbox.addDevice(label))} />}
      {keys?.length === 0 && <p>No device of yours can decide offline yet.</p>}
      <ul className="lending-list" aria-label="Your devices">
        {sortedKeys(keys ?? [], ownKey).map(key => (
          <li key={key.key}>
            <Device entry={key} own={key.key === ownKey} loses={key.key === ownKey && waiting} />
            {key.revokedAt === null && (
              <button
                type="button"
                className="button"
                disabled={apart}
                aria-label={`Revoke ${key.label}${key.key === ownKey ? ', this device' : ''}`}
                onClick={() => void run(() => inbox.revokeDevice(key.key))}
              >
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}

function Device({entry, own, loses}: {entry: ApproverKey; own: boolean; loses: boolean}) {
  return (
    <span className="devices-one">
      <span className={entry.revokedAt === null ? 'devices-name' : 'devices-over'}>
        {entry.label}
        {own && ', this device'}
      </span>
      <span>{keyWords(entry)}</span>
      {loses && <span>Revoked now, what it has signed and not handed in would not count.</span>}
    </span>
  )
}

function AddDevice({disabled, onAdd}: {disabled: boolean; onAdd: (label: string) => Promise<boolean>}) {
  const [label, setLabel] = useState(() => deviceName(navigator.userAgent))
  const [adding, setAdding] = useState(false)
  const add = async () => {
    setAdding(true)
    await onAdd(label.trim())
    setAdding(false)
  }
  return (
    <form
      className="lending-form"
      onSubmit={event => {
        event.preventDefault()
        void add()
      }}
    >
      <label htmlFor="device-name">Its name</label>
      <input
        id="device-name"
        className="field"
        autoComplete="off"
        aria-describedby="device-name-over"
        value={label}
        onChange={event => setLabel(event.target.value)}
        onKeyDown={keepComposing}
      />
      <OverLimit id="device-name-over" text={label} limit={labelCharacters} />
      <button
        type="submit"
        className="button"
        disabled={disabled || adding || label.trim() === '' || isOver(label, labelCharacters)}
      >
        Add this device
      </button>
    </form>
  )
}
