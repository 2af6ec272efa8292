import {afterEach, expect, test} from 'vitest'
import {type Feed, openFeed} from '../../runtime/platform/feed.ts'

const feeds: Feed[] = []
afterEach(() => {
  for (const feed of feeds.splice(0)) feed.close()
})

function open(name: string): Feed {
  const feed = openFeed(name)
  feeds.push(feed)
  return feed
}

const next = (feed: Feed, topic: string) =>
  new Promise(resolve => {
    const stop = feed.listen(topic, frame => {
      stop()
      resolve(frame)
    })
  })

test('a frame reaches listeners in this context and in others', async () => {
  const [leader, page] = [open('desk'), open('desk')]
  const heard = [next(leader, 'a'), next(page, 'a')]
  leader.publish('a', {seq: 1})
  expect(await Promise.all(heard)).toEqual([{seq: 1}, {seq: 1}])
})

test('topics and names do not mix', async () => {
  const [leader, page, stranger] = [open('desk'), open('desk'), open('other')]
  const heard: unknown[] = []
  page.listen('b', frame => heard.push(frame))
  stranger.listen('a', frame => heard.push(frame))
  const arrived = next(page, 'a')
  leader.publish('a', 1)
  await arrived
  expect(heard).toEqual([])
})

test('who stopped listening hears nothing more', async () => {
  const feed = open('desk')
  const heard: unknown[] = []
  const stop = feed.listen('a', frame => heard.push(frame))
  feed.publish('a', 1)
  stop()
  feed.publish('a', 2)
  expect(heard).toEqual([1])
})

test('a paused feed is deaf, and hears again once resumed', async () => {
  const [leader, page] = [open('desk'), open('desk')]
  const heard: unknown[] = []
  page.listen('a', frame => heard.push(frame))
  page.pause()
  leader.publish('a', 'lost')
  page.resume()
  const arrived = next(page, 'a')
  leader.publish('a', 'heard')
  await arrived
  expect(heard).toEqual(['heard'])
})
