import type {ApproverKey} from '../runtime-types.ts'

/** What this browser is called in a list of devices until the person has a better name. */
export function deviceName(userAgent: string): string {
  const browser = named(userAgent, [
    [/\bEdg\//, 'Edge'],
    [/\bFirefox\//, 'Firefox'],
    [/Chrom(?:e|ium)\//, 'Chrome'],
    [/\bSafari\//, 'Safari'],
  ])
  const system = named(userAgent, [
    [/\bAndroid\b/, 'Android'],
    [/\biPhone\b|\biPad\b/, 'iOS'],
    [/\bWindows\b/, 'Windows'],
    [/\bMac OS X\b/, 'macOS'],
    [/\bLinux\b/, 'Linux'],
  ])
  return [browser ?? 'Browser', ...(system ? [`on ${system}`] : [])].join(' ')
}

function named(text: string, names: [RegExp, string][]): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1]
}

/** In force first, this device before all; of those that are over, the latest few. */
export function sortedKeys(keys: readonly ApproverKey[], own: string | null): ApproverKey[] {
  const inForce = keys.filter(({revokedAt}) => revokedAt === null)
  const over = keys.filter(({revokedAt}) => revokedAt !== null)
  return [
    ...inForce.filter(({key}) => key === own),
    ...inForce.filter(({key}) => key !== own),
    ...over.toSorted((a, b) => (b.revokedAt ?? 0) - (a.revokedAt ?? 0)).slice(0, 3),
  ]
}

export function keyWords({createdAt, revokedAt}: ApproverKey): string {
  return revokedAt === null ? `added ${day(createdAt)}` : `revoked ${day(revokedAt)}`
}

function day(at: number): string {
  return new Date(at).toLocaleString('en-GB', {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'})
}
