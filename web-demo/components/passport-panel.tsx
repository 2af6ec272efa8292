import type {Passport, SessionView} from '../runtime-types.ts'
import {mayNames, passportFacts} from '../words/passport.ts'
import {Icon} from './icon.tsx'

const rights = Object.keys(mayNames) as (keyof Passport['may'])[]

export function PassportPanel({view}: {view: SessionView | null}) {
  const passport = view?.passport
  if (!view || !passport)
    return (
      <p className="hint">
        A run starts with the first message. Here you then see which run it is and what may happen next.
      </p>
    )
  return (
    <div className="passport">
      <dl className="facts">
        {passportFacts(passport, view.custody).map(({name, value}) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>What may happen now</h3>
      <ul className="rights">
        {rights.map(right => (
          <Right key={right} name={mayNames[right]} {...passport.may[right]} />
        ))}
      </ul>
      <p className="run-id">
        Run <code>{passport.run}</code>
      </p>
    </div>
  )
}

function Right({name, legal, why}: {name: string; legal: boolean; why: string}) {
  return (
    <li className={legal ? 'right' : 'right right-no'}>
      <Icon name={legal ? 'check' : 'close'} />
      <div>
        <p className="right-name">
          {name}
          <span className="visually-hidden">{legal ? ': yes' : ': not now'}</span>
        </p>
        <p className="right-why">{why.replaceAll('_', ' ')}</p>
      </div>
    </li>
  )
}
