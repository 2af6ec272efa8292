import {Menu} from '@base-ui/react/menu'
import {useState} from 'react'
import type {Connection, SessionView} from '../runtime-types.ts'
import {whyNotClosed} from '../words/closing.ts'
import {CloseDialog} from './close-dialog.tsx'
import {Icon} from './icon.tsx'

type Props = {view: SessionView; connection: Connection['state']; onClose: (reason: string) => Promise<void>}

/** What can be done with a conversation as a whole; what cannot says why. */
export function SessionMenu({view, connection, onClose}: Props) {
  const [closing, setClosing] = useState(false)
  const whyNot = whyNotClosed(view)
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger className="button-icon" aria-label="More about this conversation">
          <Icon name="more" />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className="menu-positioner" align="end" sideOffset={4}>
            <Menu.Popup className="menu">
              <Menu.Item className="menu-item" disabled={whyNot !== null} onClick={() => setClosing(true)}>
                <Icon name="close" />
                {whyNot === null ? 'Close for good …' : `Close for good (${whyNot})`}
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <CloseDialog view={view} connection={connection} open={closing} onOpenChange={setClosing} onClose={onClose} />
    </>
  )
}
