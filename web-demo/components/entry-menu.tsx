import {Menu} from '@base-ui/react/menu'
import type {StepRef, TranscriptEntry} from '../runtime-types.ts'
import {Icon} from './icon.tsx'

type Props = {entry: TranscriptEntry; onBranch: (after: number) => void; onLook: (step: StepRef) => void}

/** A branch starts at an entry that the server has; anything newer has no place in the common order yet. */
export function EntryMenu({entry, onBranch, onLook}: Props) {
  const {durability} = entry
  const seq = durability.status === 'server' ? durability.seq : null
  const text = 'text' in entry ? entry.text : null
  const step = entry.type === 'reply' ? entry.step : null
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="button-icon entry-more" aria-label="More about this entry">
        <Icon name="more" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" align="end" sideOffset={4}>
          <Menu.Popup className="menu">
            <Menu.Item className="menu-item" disabled={seq === null} onClick={() => seq !== null && onBranch(seq)}>
              <Icon name="branch" />
              {seq === null ? 'Branch from here (once the server has it)' : 'Branch from here'}
            </Menu.Item>
            {step && (
              <Menu.Item className="menu-item" onClick={() => onLook(step)}>
                <Icon name="search" />
                What the model saw
              </Menu.Item>
            )}
            {text !== null && (
              <Menu.Item className="menu-item" onClick={() => void navigator.clipboard.writeText(text)}>
                <Icon name="list" />
                Copy text
              </Menu.Item>
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
