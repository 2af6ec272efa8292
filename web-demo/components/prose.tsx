import Markdown, {type Components} from 'react-markdown'
import {follow} from './header.tsx'

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

/** A model's words: formatted, but with no images, which could carry what they were told to another server. */
export function Prose({text}: {text: string}) {
  return (
    <div className="prose">
      <Markdown components={components} disallowedElements={['img', 'h1', 'h2', 'h3', 'hr']} unwrapDisallowed>
        {text}
      </Markdown>
    </div>
  )
}
