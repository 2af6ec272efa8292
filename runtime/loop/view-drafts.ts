import {estimateTokens} from '../protocol/estimate-tokens.ts'
import type {DataOf} from '../protocol/event.ts'
import type {EventId} from '../protocol/ids.ts'
import {type Manifest, viewBuilder} from '../protocol/manifest.ts'
import {type NamedStep, namesOf} from '../protocol/shown-events.ts'
import type {Range} from './compact-view.ts'
import type {Agent} from './define.ts'
import {buildView, type prepareView} from './prepare-view.ts'
import {promptHash} from './prompt-hash.ts'
import type {Beside} from './view-sections.ts'
import type {ViewSources} from './view-sources.ts'

export type Viewed = {
  agent: Agent
  sources: ViewSources
  view: ReturnType<typeof prepareView>
  answers: EventId[]
  /** A step of the same run to go on from. */
  earlier: NamedStep | null
}

/** Everything by which exactly this view can be built again. [VIEW-2] */
export async function manifestOf({agent, sources, view, answers, earlier}: Viewed): Promise<Manifest> {
  const {beside, references, transforms} = sources
  return {
    ...namesOf(view.events, earlier),
    answers,
    estimatedTokens: view.estimatedTokens,
    promptHash: await promptHash(view),
    builder: viewBuilder,
    agent: {name: agent.name, version: agent.version},
    viewTokens: beside.viewTokens,
    ...(view.excerpt !== undefined && {excerpt: view.excerpt}),
    ...references,
    transforms: [...transforms, ...view.transforms].slice(0, 1000),
    whole: view.whole,
  }
}

/** The range that the summary stands for from now on, and what a view holds after it. [VIEW-3] */
export function compactionOf(
  agent: Agent,
  {from, to, previous, kept}: Range,
  told: Pick<DataOf<'view.compacted'>, 'summary' | 'by' | 'usage' | 'promptHash'>,
  beside: Beside,
): DataOf<'view.compacted'> {
  const rest = buildView(agent, [], {...beside, summary: null}).estimatedTokens
  return {
    from,
    to,
    ...(previous && {previous: previous.id}),
    ...told,
    tokens: rest + estimateTokens(told.summary) + kept.tokens,
    events: kept.events,
  }
}
