import {Dialog} from '@base-ui/react/dialog'
import {useEffect, useState} from 'react'
import type {Run} from '../hooks.ts'
import type {BrowserRuntime, ModelView, StepRef} from '../runtime-types.ts'
import {seenParts, sizeWords, verdictWords} from '../words/model-view.ts'
import {Part} from './boundary.tsx'
import {Icon} from './icon.tsx'
import {PlainText} from './plain-text.tsx'

type Props = {runtime: BrowserRuntime | null; step: StepRef | null; run: Run; onClose: () => void}

/** What the model saw at one step, word for word, and whether the record still proves it. */
export function ModelViewDialog({runtime, step, run, onClose}: Props) {
  const view = useModelView(runtime, step, run)
  return (
    <Dialog.Root open={step !== null} onOpenChange={open => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="drawer drawer-right model-view">
          <div className="drawer-head">
            <Dialog.Title className="drawer-title">What the model saw at this step</Dialog.Title>
            <Dialog.Close className="button-icon" aria-label="Close">
              <Icon name="close" />
            </Dialog.Close>
          </div>
          <section className="model-view-body" aria-label="Prompt">
            {view === 'none' && <p className="hint">This step is not on this device yet.</p>}
            {view === 'loading' && <p className="hint">Rebuilding it from the record…</p>}
            {typeof view === 'object' && (
              <Part name="What the model saw" shows={view}>
                <Seen view={view} />
              </Part>
            )}
          </section>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Seen({view}: {view: ModelView}) {
  return (
    <>
      <p className={view.exact ? 'model-view-exact' : 'model-view-lacking'}>{verdictWords(view)}</p>
      {!view.exact && (
        <ul className="model-view-missing">
          {view.lacking.map(({part, why}) => (
            <li key={part}>
              <strong>{part}</strong>: {why}
            </li>
          ))}
        </ul>
      )}
      <p className="hint">{sizeWords(view)}</p>
      {seenParts(view).map(({place, title, text}) => (
        <section key={place} className="model-view-part">
          <h3>{title}</h3>
          <div className="model-view-text">
            <PlainText text={text} />
          </div>
        </section>
      ))}
    </>
  )
}

function useModelView(runtime: BrowserRuntime | null, step: StepRef | null, run: Run): ModelView | 'none' | 'loading' {
  const [held, setHeld] = useState<{step: StepRef; view: ModelView | null} | null>(null)
  useEffect(() => {
    let current = true
    if (runtime && step) {
      void run(async () => {
        const view = await runtime.viewOf(step.run, step.id)
        if (current) setHeld({step, view})
      })
    }
    return () => {
      current = false
    }
  }, [runtime, step, run])
  if (!held || held.step !== step) return 'loading'
  return held.view ?? 'none'
}
