export type Invariant =
  | 'one run'
  | 'authority'
  | 'epoch'
  | 'interleaved'
  | 'approval'
  | 'results'
  | 'order'
  | 'lost'
  | 'started once'
  | 'loop'
  | 'settles'
  | 'converges'
  | 'explained'
  | 'facts'
  | 'unreadable'
  | 'fork'
  | 'asleep'
  | 'closed'
  | 'pin'

/** One promise of the protocol, broken; the explorer adds the way there. */
export class Violation extends Error {
  override readonly name = 'Violation'
  constructor(
    readonly invariant: Invariant,
    readonly what: string,
  ) {
    super(`[${invariant}] ${what}`)
  }
}
