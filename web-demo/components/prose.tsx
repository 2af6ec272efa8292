import Markdown, {type Components} from 'react-markdown'
import {isSafeMarkdown} from '../markdown-limits.ts'
import {Boundary} from './boundary.tsx'
import {follow} from './header.tsx'
import {PlainText} from './plain-text.tsx'

const components: Components = {
  a: ({href, children}) =>
    href?.startsWith('/') && !href.startsWith('//') ? (
      <a href={href} onClick={event => follow(event, href)}>
        {children}
      </a>
    ) : (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    ),
}

/**
 * A model's words: formatted, but with no images, which could carry what they were told to another server. What is too
 * deep or too long to parse is shown as it was written.
 */
export function Prose({text}: {text: string}) {
  if (!isSafeMarkdown(text)) return <Unformatted text={text} />
  return (
    <Boundary shows={text} fallback={<Unformatted text={text} />}>
      <div className="prose">
        <Markdown components={components} disallowedElements={['img', 'h1', 'h2', 'h3', 'hr']} unwrapDisallowed>
          {text}
        </Markdown>
      </div>
    </Boundary>
  )
}

function Unformatted({text}: {text: string}) {
  return (
    <div className="prose">
      <PlainText text={text} />
    </div>
  )
}
