import {expect, test} from 'vitest'
import {foldPending} from '../../runtime/storage/fold-log.ts'
import {fold, repliedEvents, scribe} from '../support/events.ts'

test('[CUS-1] a device builds nothing on pending run events that moved custody has fenced off, even when it holds again', () => {
  const desk = scribe()
  const [opened, posted, ...pending] = repliedEvents(desk)
  const away = fold([opened!, posted!, desk.event('custody.granted')])
  const back = fold(
    [desk.event('custody.granted', {data: {holder: desk.names.device, epoch: 3, reason: 'requested'}})],
    away,
  )
  for (const confirmed of [away, back]) expect(foldPending(confirmed, pending)).toEqual(confirmed)
  const said = desk.event('message.posted')
  expect(foldPending(back, [...pending, said]).unanswered).toEqual([posted!.id, said.id])
})
