import type {ToolEntry} from '../runtime-types.ts'
import {jsonText} from '../words/plain.ts'
import {tellTool} from '../words/tool.ts'
import {DurabilityMark} from './durability-mark.tsx'
import {Icon, type IconName} from './icon.tsx'
import {PlainText} from './plain-text.tsx'

const icons: Record<string, IconName> = {
  lookupOrder: 'search',
  findOrders: 'search',
  draftReply: 'pen',
  addToPlan: 'list',
}

/** A read or local call in one line; what exactly went in and came out is one click away. */
export function ToolCard({entry}: {entry: ToolEntry}) {
  return (
    <details className="tool">
      <summary>
        <Icon name={icons[entry.tool] ?? 'chevron'} />
        <span className={entry.result ? undefined : 'working'}>{tellTool(entry)}</span>
        {entry.durability.status !== 'server' && <DurabilityMark durability={entry.durability} />}
        <span className="tool-chevron">
          <Icon name="chevron" />
        </span>
      </summary>
      <Raw label="Asked" value={entry.input} />
      {entry.result && <Raw label={`Answered (${entry.result.outcome})`} value={entry.result.output} />}
    </details>
  )
}

export function Raw({label, value}: {label: string; value: unknown}) {
  return (
    <figure className="raw">
      <figcaption>{label}</figcaption>
      <PlainText text={jsonText(value)} />
    </figure>
  )
}
