import {Dialog} from '@base-ui/react/dialog'
import type {ReactNode} from 'react'
import {Icon, type IconName} from './icon.tsx'

/** On narrow screens a column becomes a drawer; the dialog keeps focus inside and gives it back. */
export function Drawer(props: {
  side: 'left' | 'right'
  title: string
  icon: IconName
  open: boolean
  onOpenChange: (open: boolean) => void
  children: ReactNode
}) {
  return (
    <Dialog.Root open={props.open} onOpenChange={props.onOpenChange}>
      <Dialog.Trigger className={`button-icon drawer-trigger drawer-trigger-${props.side}`} aria-label={props.title}>
        <Icon name={props.icon} />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className={`drawer drawer-${props.side}`}>
          <div className="drawer-head">
            <Dialog.Title className="drawer-title">{props.title}</Dialog.Title>
            <Dialog.Close className="button-icon" aria-label="Close">
              <Icon name="close" />
            </Dialog.Close>
          </div>
          {props.children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
