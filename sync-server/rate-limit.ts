export type Rate = {perSecond: number; burst: number}
export type RateLimits = {subject: Rate; tenant: Rate}

/** Generous for people and devices, short of what one loop gone wrong would take from everybody else. */
export const standardRates: RateLimits = {
  subject: {perSecond: 100, burst: 1000},
  tenant: {perSecond: 2000, burst: 10_000},
}

/** So many requests may still come at once; refilled as time passes. */
export type Bucket = {left: number; at: number}

/** Pure: the bucket after one request at `now` (ms), and how long to wait (ms) if there was none left; 0 when taken. */
export function take(bucket: Bucket | undefined, rate: Rate, now: number): {bucket: Bucket; waitMs: number} {
  const passed = bucket ? Math.max(0, now - bucket.at) : 0
  const left = bucket ? Math.min(rate.burst, bucket.left + (passed * rate.perSecond) / 1000) : rate.burst
  if (left >= 1) return {bucket: {left: left - 1, at: now}, waitMs: 0}
  return {bucket: {left, at: now}, waitMs: Math.ceil(((1 - left) * 1000) / rate.perSecond)}
}

/** Callers that are remembered; the longest unseen goes first, and its bucket was full again by then. */
const remembered = 50_000

/**
 * Buckets of this process by name; several processes together let through several times as much, as they can also bear.
 * That is on purpose. The limit keeps one caller from taking a process away from all others, and must work when the
 * database is what is overloaded; what must hold across processes (budgets of models, limits of operations) is counted
 * in the database. Measured on one Postgres with sixteen callers: a bucket a row, for subject and tenant, takes 1,250
 * requests a second to 700 and doubles their median time. Leases of fifty at a time cost nothing, but a process then
 * refuses while another sits on what is left, and who called is one more table to erase.
 */
export function rateLimiter(now: () => number): (name: string, rate: Rate) => number {
  const buckets = new Map<string, Bucket>()
  return (name, rate) => {
    const {bucket, waitMs} = take(buckets.get(name), rate, now())
    buckets.delete(name)
    buckets.set(name, bucket)
    const [oldest] = buckets.keys()
    if (buckets.size > remembered && oldest !== undefined) buckets.delete(oldest)
    return waitMs
  }
}
