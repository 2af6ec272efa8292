import {describe, expect, test} from 'vitest'
import {rulesModel} from '../../web-demo/rules-model.ts'
import {
  a17,
  aborted,
  b22,
  c05,
  denied,
  failed,
  ok,
  partsFor,
  play,
  shopWith,
  superseded,
  type ToolAnswer,
} from './rules-scenes.ts'

const shop = shopWith([a17, b22, c05])
const look = (orderId: string): [string, object] => ['lookupOrder', {orderId}]
const refund = (orderId: string, cents: number, reason = 'Asked for by support'): [string, object] => [
  'refundOrder',
  {orderId, cents, reason},
]
const refusing = (output: ReturnType<typeof ok>): ToolAnswer => shopWith([a17, b22, c05], {refundOrder: () => output})
const offline = shopWith([], {
  lookupOrder: () => ok({unavailable: 'offline'}),
  findOrders: () => ok({unavailable: 'offline'}),
})
const aged = shopWith([], {
  lookupOrder: () =>
    ok({found: true, order: a17, source: 'replica', ageMs: 180_000, asOf: "3 minutes ago, from this device's copy"}),
})

type Scene = {messages: string[]; shop?: ToolAnswer; calls?: unknown[]; says: RegExp[]; never?: RegExp}
const scenes: Record<string, Scene> = {
  'a greeting says what it can do': {messages: ['Hello!'], calls: [], says: [/Hello\. I look orders up/]},
  'help says what it can do': {messages: ['what can you do?'], calls: [], says: [/propose refunds/]},
  'gibberish is not guessed at': {messages: ['flurb wuggle 9'], calls: [], says: [/did not understand/]},
  'another language gets an honest answer': {
    messages: ['Bonjour, je voudrais un remboursement'],
    calls: [],
    says: [/read English only/],
  },
  'another language with an order number still gets the order': {
    messages: ['Bestellung A17 kam kaputt an'],
    calls: [look('A17')],
    says: [/Order A17/, /not what you want done/],
  },
  status: {messages: ['Where is order A17?'], calls: [look('A17')], says: [/delivered/, /Delivered on 20 November/]},
  'what is in it': {
    messages: ['What is in a17'],
    calls: [look('A17')],
    says: [/1 × Enamel mug, €18\.00/, /Total €46\.00/],
  },
  'it stands for the order spoken of': {
    messages: ['Where is A17?', 'and what was the total of it?'],
    calls: [look('A17')],
    says: [/€46\.00/],
  },
  'unknown order': {messages: ['status of Z99'], calls: [look('Z99')], says: [/no order Z99/]},
  'a list of orders': {
    messages: ['Show me the orders of Lena Brandt'],
    calls: [['findOrders', {customer: 'Lena Brandt'}]],
    says: [/A17/, /B22/],
  },
  'a list needs a customer': {messages: ['list the orders'], calls: [], says: [/Whose orders do you mean\?/]},
  'the name alone answers whose orders': {
    messages: ['list the orders', 'Lena Brandt'],
    calls: [['findOrders', {customer: 'Lena Brandt'}]],
    says: [/A17/],
  },
  'full refund': {
    messages: ['Refund A17'],
    calls: [look('A17'), refund('A17', 4600)],
    says: [/Refunded €46\.00 for A17: receipt R-1/],
  },
  'partial refund': {
    messages: ['refund 20 € of A17'],
    calls: [look('A17'), refund('A17', 2000)],
    says: [/Refunded €20\.00/],
  },
  'cents after a comma': {
    messages: ['please refund 12,50 € for A17'],
    calls: [look('A17'), refund('A17', 1250)],
    says: [/€12\.50/],
  },
  'half of it': {messages: ['refund half of A17'], calls: [look('A17'), refund('A17', 2300)], says: [/€23\.00/]},
  'the amount may come first': {
    messages: ['Give back €5. Refund order A17'],
    calls: [look('A17'), refund('A17', 500)],
    says: [/€5\.00/],
  },
  'which order?': {messages: ['I want a refund'], calls: [], says: [/Which order is it\?/]},
  'an order number alone answers which order': {
    messages: ['refund 20 €', 'A17'],
    calls: [look('A17'), refund('A17', 2000)],
    says: [/Refunded €20\.00/],
  },
  'two orders in one message are looked up at once': {
    messages: ['Refund 20 € of A17 and all of B22'],
    calls: [look('A17'), look('B22'), refund('A17', 2000), refund('B22', 12900)],
    says: [/A17/, /B22/],
  },
  'a large amount needs a team lead': {
    messages: ['refund B22'],
    calls: [look('B22'), refund('B22', 12900)],
    says: [/team lead has to approve/],
  },
  'more than is left is not proposed': {
    messages: ['refund 80 € of A17'],
    calls: [look('A17')],
    says: [/more than is left/, /Shall I propose €46\.00/],
  },
  'yes accepts what was offered': {
    messages: ['refund 80 € of A17', 'yes'],
    calls: [look('A17'), refund('A17', 4600)],
    says: [/Refunded €46\.00/],
  },
  'no leaves it': {messages: ['refund 80 € of A17', 'no'], calls: [], says: [/leave it as it is/]},
  'already refunded': {messages: ['refund C05'], calls: [look('C05')], says: [/already been refunded in full/]},
  'broken: look up, write, propose': {
    messages: ['Order A17 arrived broken.'],
    calls: [
      look('A17'),
      ['draftReply', {text: expect.stringMatching(/Dear Lena[\s\S]*€46\.00/)}],
      ['addToPlan', {step: 'Refund €46.00 for A17, then send the reply.'}],
      refund('A17', 4600, 'Arrived broken'),
    ],
    says: [/write the reply to Lena Brandt/, /Refunded/],
  },
  'only the broken item': {
    messages: ['The mug in A17 arrived broken'],
    calls: [
      look('A17'),
      ['draftReply', expect.anything()],
      ['addToPlan', expect.anything()],
      refund('A17', 1800, 'Arrived broken'),
    ],
    says: [/€18\.00 for A17 \(Enamel mug\)/],
  },
  'a question about a refund proposes none': {
    messages: ['Was A17 refunded?'],
    calls: [look('A17')],
    says: [/Nothing of it has been refunded/],
  },
  'a change of mind after the refund was withdrawn by it': {
    messages: ['refund 20 € of A17', 'actually only 10 €'],
    shop: shopWith([a17], {
      refundOrder: (_, {cents}) =>
        cents === 2000
          ? superseded('A newer instruction arrived.')
          : ok({refund: 'R-2', orderId: 'A17', cents: 1000, remainingCents: 3600}),
    }),
    calls: [look('A17'), refund('A17', 1000)],
    says: [/Refunded €10\.00/],
  },
  'a change of mind also changes the amount in the draft, and only that': {
    messages: ['Order A17 arrived broken', 'actually only 10 €'],
    shop: shopWith([a17], {
      refundOrder: (_, {cents}) =>
        cents === 4600
          ? superseded('A newer instruction arrived.')
          : ok({refund: 'R-2', orderId: 'A17', cents, remainingCents: 3600}),
    }),
    calls: [look('A17'), ['draftReply', {text: '€10.00', instead: '€46.00'}], refund('A17', 1000, 'Arrived broken')],
    says: [/change the amount/],
  },
  'a change of mind after the money went out pays nothing twice': {
    messages: ['refund 20 € of A17', 'actually only 10 €'],
    calls: [look('A17')],
    says: [/That payment stands/, /another €10\.00/],
  },
  'withdrawing what was voided': {
    messages: ['refund B22', 'no, cancel that refund'],
    shop: refusing(superseded('A newer instruction arrived.')),
    calls: [],
    says: [/withdrew the refund of €129\.00 for B22 before it started/, /no money moved/],
  },
  'withdrawing what was paid says so': {
    messages: ['refund A17', "don't refund it"],
    calls: [],
    says: [/receipt R-1/, /stays paid/],
    never: /no money moved/,
  },
  'nothing to withdraw': {messages: ["don't refund A17"], calls: [], says: [/no refund to withdraw/]},
  'not this one but that one': {
    messages: ["don't refund A17, refund 5 € of B22"],
    calls: [look('B22'), refund('B22', 500)],
    says: [/B22/],
  },
  'rejected, with who and why': {
    messages: ['refund B22'],
    shop: refusing(denied({by: 'theo', note: 'Ask for a photo first.'})),
    calls: [look('B22'), refund('B22', 12900)],
    says: [/Theo rejected/, /Ask for a photo first/, /no money moved/],
    never: /Refunded/,
  },
  'refused by the server': {
    messages: ['refund A17'],
    shop: refusing(failed({code: 'not_authorised', reason: 'Maya may not refund this.'})),
    calls: [look('A17'), refund('A17', 4600)],
    says: [/server refused/, /Maya may not/],
    never: /Refunded/,
  },
  expired: {
    messages: ['refund B22'],
    shop: refusing(denied({reason: 'Nobody decided in time.'})),
    says: [/lapsed/],
  },
  'a cancelled run is not called a newer instruction': {
    messages: ['refund B22', 'what happened to the refund?'],
    shop: refusing(superseded('The run was cancelled.')),
    calls: [],
    says: [/was cancelled before it started/],
    never: /newer instruction/,
  },
  'a run that ended while money moved promises nothing': {
    messages: ['refund A17', 'what happened to the refund?'],
    shop: refusing(aborted('The run was ended while the operation was started; its outcome is not known here.')),
    calls: [],
    says: [/not known whether/],
    never: /no money moved/,
  },
  'uncertain is never called paid': {
    messages: ['refund A17'],
    shop: refusing(failed({status: 'uncertain'})),
    says: [/not known whether/],
    never: /no money moved/,
  },
  'stale: reads the order again before it offers anything': {
    messages: ['refund 20 € of A17'],
    shop: refusing(failed({code: 'stale', reason: 'The order was refunded meanwhile.'})),
    calls: [look('A17'), refund('A17', 2000), look('A17')],
    says: [/did not run/, /Shall I propose €20\.00 for A17 again\?/],
  },
  'offline without a copy': {
    messages: ['refund 20 € of A17'],
    shop: offline,
    calls: [look('A17')],
    says: [/cannot see order A17/],
    never: /€/,
  },
  'offline with a copy says how old it is': {
    messages: ['where is A17?'],
    shop: aged,
    calls: [look('A17')],
    says: [/as of 3 minutes ago, from this device's copy/],
  },
  'a list offline': {
    messages: ['orders of Lena Brandt'],
    shop: offline,
    says: [/cannot see the orders/],
  },
  'why was it rejected': {
    messages: ['refund B22', 'why was it not refunded?'],
    shop: refusing(denied({by: 'theo', note: 'No photo.'})),
    calls: [],
    says: [/No photo/],
  },
  'try again proposes the same once more': {
    messages: ['refund 20 € of A17', 'try again'],
    shop: refusing(denied({reason: 'Nobody decided in time.'})),
    calls: [look('A17'), refund('A17', 2000)],
    says: [/lapsed/],
  },
  'a failing lookup is not an unknown order': {
    messages: ['refund A17'],
    shop: shopWith([], {lookupOrder: () => failed({reason: 'time-out'})}),
    calls: [look('A17')],
    says: [/cannot see/],
  },
}

describe('the rules provider', () => {
  test.for(Object.entries(scenes))('%s', async ([, scene]) => {
    const seen = await play(scene.messages, scene.shop ?? shop)
    if (scene.calls) expect(seen.calls).toEqual(scene.calls)
    for (const words of scene.says) expect(seen.said.join('\n')).toMatch(words)
    if (scene.never) expect(seen.said.join('\n')).not.toMatch(scene.never)
  })

  test('two messages at once are not read as one: the newest counts, and that is said', async () => {
    const said = (text: string) => ({role: 'user' as const, content: [{type: 'text' as const, text}]})
    const parts = await partsFor([said('The mug in A17 arrived broken'), said('Where is B22?')])
    const calls = parts.filter(part => part.type === 'tool-call').map(part => part.input)
    expect(calls).toEqual(['{"orderId":"B22"}'])
    expect(parts.map(part => (part.type === 'text-delta' ? part.delta : '')).join('')).toMatch(/newest message/)
  })

  test('the same prompt gives the same parts, in the order the provider specification asks for', async () => {
    const prompt = [{role: 'user' as const, content: [{type: 'text' as const, text: 'refund A17'}]}]
    const parts = await partsFor(prompt)
    expect(await partsFor(prompt)).toEqual(parts)
    const types = parts.map(part => part.type).filter((type, i, all) => type !== all[i - 1])
    expect(types).toEqual([
      'stream-start',
      'text-start',
      'text-delta',
      'text-end',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-end',
      'tool-call',
      'finish',
    ])
    expect(parts.at(-1)).toMatchObject({
      finishReason: {unified: 'tool-calls'},
      usage: {inputTokens: {total: expect.any(Number)}},
    })
  })

  test('an abort ends the stream at once instead of at its end', async () => {
    const aborting = new AbortController()
    const prompt = [{role: 'user' as const, content: [{type: 'text' as const, text: 'help'}]}]
    const {stream} = await rulesModel({delayMs: 60_000}).doStream({prompt, abortSignal: aborting.signal})
    const reading = (async () => {
      for await (const _ of stream);
    })()
    aborting.abort(new Error('stopped'))
    await expect(reading).rejects.toThrow('stopped')
  })
})
