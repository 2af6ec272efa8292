import {type Amount, amountIn} from './amount.ts'

export type Verb = 'refund' | 'broken' | 'list' | 'status' | 'draft' | 'outcome'
export type Request = {order: string; amount: Amount | null}

/** What one instruction says by itself, before the conversation around it fills the gaps. */
export type Reading = {
  verb: Verb | null
  /** Orders outside of clauses that take something back, each with the amount said about it. */
  requests: Request[]
  /** An amount that no order claims. */
  amount: Amount | null
  customer: string | null
  reason: string | null
  withdraws: boolean
  withdrawn: string[]
  social: 'greet' | 'help' | 'thanks' | 'yes' | 'no' | 'again' | null
  text: string
}

const withdrawal =
  /\b(?:do not|don['’]?t|never|no longer|stop|cancel|withdraw|undo|revert|forget|without)\b.{0,40}\b(?:refunds?|it|that|this)\b|\bno refunds?\b|\bnever ?mind\b|\bscratch that\b|^(?:cancel|stop)$/i
const troubles: [RegExp, string][] = [
  [/\bnever (?:arrived|came)|did(?:n['’]t| not) arrive|\b(?:got|is|was) lost\b/i, 'Never arrived'],
  [/\bwrong (?:item|size|colou?r|one|thing|order)\b/i, 'Wrong item sent'],
  [/\b(?:broken?|broke|shattered|smashed|cracked)\b/i, 'Arrived broken'],
  [/\b(?:damaged?|torn|ripped|dented|scratched|stained)\b/i, 'Arrived damaged'],
  [/\b(?:faulty|defect(?:ive)?|leak(?:s|ing|ed)?|(?:does|did)(?:n['’]t| not) work|not working)\b/i, 'Faulty'],
  [/\bmissing\b/i, 'Item missing'],
]

export function understand(text: string): Reading {
  const clauses = clausesOf(text)
  const kept = clauses.filter(clause => !withdrawal.test(clause))
  const withdrawn = clauses.filter(clause => withdrawal.test(clause))
  const {requests, amount} = requestsOf(kept)
  return {
    verb: verbOf(kept, requests.length > 0),
    requests,
    amount,
    customer: customerIn(text),
    reason: reasonOf(text),
    withdraws: withdrawn.length > 0,
    withdrawn: withdrawn.flatMap(ordersIn),
    social: socialOf(text),
    text,
  }
}

/** A comma inside "12,50" ends nothing. */
function clausesOf(text: string): string[] {
  return text
    .split(/[;!?\n]+|[.,](?!\d)|\bbut\b|\band\b|\binstead\b/i)
    .map(clause => clause.trim())
    .filter(clause => clause !== '')
}

export function ordersIn(text: string): string[] {
  const found = [...text.matchAll(/(?<![\p{L}\d])([a-z])[- ]?(\d{2,4})(?![\p{L}\d])/giu)]
  return [...new Set(found.map(match => `${match[1]}${match[2]}`.toUpperCase()))]
}

function requestsOf(clauses: string[]): {requests: Request[]; amount: Amount | null} {
  const requests: Request[] = []
  let loose: Amount | null = null
  for (const clause of clauses) {
    const amount = amountIn(clause)
    const orders = ordersIn(clause)
    for (const order of orders) {
      const known = requests.find(request => request.order === order)
      if (known) known.amount ??= amount
      else requests.push({order, amount: amount ?? loose})
    }
    if (orders.length > 0) loose = null
    else if (amount) loose = claim(requests, amount, /\beach\b/i.test(clause)) ? null : amount
  }
  return {requests, amount: loose}
}

/** "A17 arrived broken, refund 20 €": the amount belongs to the order just named. */
function claim(requests: Request[], amount: Amount, each: boolean): boolean {
  const open = each ? requests : requests.slice(-1).filter(request => request.amount === null)
  for (const request of open) request.amount = amount
  return open.length > 0
}

function verbOf(clauses: string[], namesOrder: boolean): Verb | null {
  const refund = clauses.find(clause => /\brefund|\bmoney back\b|\breimburse/i.test(clause))
  if (refund) return isQuestion(refund) ? 'outcome' : 'refund'
  const text = clauses.join(', ')
  if (/\b(?:pay|give) (?:back|her|him|them)\b/i.test(text)) return 'refund'
  if (/^why\b/i.test(text)) return 'outcome'
  if (troubles.some(([pattern]) => pattern.test(text))) return 'broken'
  if (/\b(?:draft|write|answer|reply)\b/i.test(text)) return 'draft'
  if (
    !namesOrder &&
    /\borders\b|\b(?:order|bought|buy|purchased?)\b.*\b(?:of|by|from|did|has)\b|\bdid\b.*\b(?:order|buy)\b/i.test(text)
  )
    return 'list'
  return /\b(?:status|where|when|what|which|who|how much|total|cost|items?|inside|contains?|show|look|check|tell|see|find|order)\b/i.test(
    text,
  )
    ? 'status'
    : null
}

function isQuestion(clause: string): boolean {
  const bare = clause.replace(/^(?:so|and|ok(?:ay)?|well|please|hey|hi)\b[\s,]*/i, '')
  if (/^(?:can|could|would|will) (?:you|we|i)\b/i.test(bare)) return false
  return (
    /^(?:why|what|when|how|where|was|were|is|are|has|have|had|did|does|do|any|can|could|which)\b/i.test(bare) ||
    /\b(?:has|have|was|been|get|got) (?:already )?refunded\b|\brefund (?:status|go(?:ne|es)? through)/i.test(bare)
  )
}

function customerIn(text: string): string | null {
  const email = /[\w.+-]+@[\w-]+\.[\w.-]*\w/.exec(text)?.[0]
  if (email) return email
  const name = String.raw`\p{Lu}[\p{Ll}'-]+(?:\s+\p{Lu}[\p{Ll}'-]+){0,2}`
  return (
    new RegExp(`(${name})['’]s?\\s+(?:\\w+\\s+)?orders`, 'u').exec(text)?.[1] ??
    new RegExp(`\\b(?:of|for|by|from|did|does|has|customer)\\s+(${name})`, 'u').exec(text)?.[1] ??
    null
  )
}

function reasonOf(text: string): string | null {
  const because = /\b(?:because|since|as)\b\s+(?:of\s+)?(.{3,120}?)(?:[.!?\n]|$)/i.exec(text)?.[1]
  if (because) return `${because[0]?.toUpperCase()}${because.slice(1)}`
  return troubles.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

function socialOf(text: string): Reading['social'] {
  const bare = text
    .trim()
    .toLowerCase()
    .replace(/[.!?,\s]+$/g, '')
  if (/^(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|servus|moin)\b[^\d]{0,20}$/.test(bare)) return 'greet'
  if (/^help\b|what can you do|who are you|how does this work/.test(bare)) return 'help'
  if (/^(?:thanks|thank you|thx|great|perfect|cheers|ok thanks)\b.{0,30}$/.test(bare)) return 'thanks'
  if (/^(?:yes|yep|yeah|sure|ok(?:ay)?|go ahead|please do|do it|yes please|correct)\b.{0,12}$/.test(bare)) return 'yes'
  if (/^(?:no|nope|no thanks|not now|leave it)$/.test(bare)) return 'no'
  if (/^(?:please )?(?:try|propose|do)? ?(?:it |that )?(?:again|once more|retry)\b/.test(bare)) return 'again'
  return null
}
