import {useState} from 'react'
import {type Divergence, heldWords, settledWords, standingWords} from '../words/divergence.ts'

export type DivergenceActions = {
  choose: (choice: 'keep' | 'merge' | 'discard') => Promise<boolean>
  restore: () => void
  open: (session: string) => void
}

/** Work that this device did while another had taken over: it waits here until the person has said what becomes of it. */
export function DivergenceCard({divergence, actions}: {divergence: Divergence; actions: DivergenceActions}) {
  const [choosing, setChoosing] = useState(false)
  const {resolution, lastWords, since} = divergence
  if (resolution) return <Settled resolution={resolution} actions={actions} />
  const choose = async (choice: 'keep' | 'merge' | 'discard') => {
    setChoosing(true)
    await actions.choose(choice)
    setChoosing(false)
  }
  return (
    <section className="approval divergence" aria-label="Work done apart">
      <h2 className="divergence-title">This device worked apart</h2>
      <p>
        Since {clock(since)} it went on by itself, while another device had taken this conversation over. What it did (
        {heldWords(divergence)}) is not part of the conversation. Your own messages are.
      </p>
      {lastWords && <blockquote className="divergence-words">“{lastWords}”</blockquote>}
      {standingWords(divergence).map(sentence => (
        <p className="refund-detail" key={sentence}>
          {sentence}
        </p>
      ))}
      <div className="decision-buttons">
        <button type="button" className="button button-primary" disabled={choosing} onClick={() => void choose('keep')}>
          Keep as a branch
        </button>
        <button type="button" className="button" disabled={choosing} onClick={() => void choose('merge')}>
          Tell the conversation
        </button>
        <button type="button" className="button" disabled={choosing} onClick={() => void choose('discard')}>
          Put it away
        </button>
      </div>
      <p className="refund-detail">
        Telling sends one message: like any new instruction it withdraws what still waits for approval.
      </p>
    </section>
  )
}

function Settled({
  resolution: {choice, fork},
  actions,
}: {
  resolution: NonNullable<Divergence['resolution']>
  actions: DivergenceActions
}) {
  return (
    <div className="retry">
      <p>{settledWords(choice)}</p>
      {choice === 'discard' && (
        <button type="button" className="button" onClick={actions.restore}>
          Bring it back
        </button>
      )}
      {fork && (
        <button type="button" className="button" onClick={() => actions.open(fork)}>
          Open the branch
        </button>
      )}
    </div>
  )
}

function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'})
}
