import type {Durability} from '../runtime-types.ts'
import {Icon} from './icon.tsx'

/** Where this line is safe: here only, with the server, or refused and kept here with the reason. [SYNC-5, SYNC-2] */
export function DurabilityMark({durability}: {durability: Durability}) {
  switch (durability.status) {
    case 'server':
      return (
        <span className="mark" title="The server has it">
          <Icon name="check" />
          <span className="visually-hidden">The server has it</span>
        </span>
      )
    case 'device':
      return (
        <span className="mark mark-device" title="Safe on this device, not with the server yet">
          <Icon name="clock" />
          <span>on this device</span>
        </span>
      )
    case 'rejected':
      return (
        <span className="mark mark-bad">
          <Icon name="warning" />
          <span>refused: {durability.reason}</span>
        </span>
      )
  }
}
