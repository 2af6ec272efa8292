import * as z from 'zod'

/**
 * What a message does that arrives while a run is active [RUN-3]:
 * `steer` the next step sees it, and operations that have not started are void;
 * `interrupt` as steer, and the model call and the tools under way are stopped for it;
 * `queue` it waits, unseen, until the run has ended, and then starts the next one;
 * `fork` it goes to a branch of the session, and this run goes on undisturbed;
 * `reject` it is refused while the run is active.
 */
export const busyPolicySchema = z.enum(['steer', 'interrupt', 'queue', 'fork', 'reject'])
export type BusyPolicy = z.infer<typeof busyPolicySchema>
