import {openRuntime} from 'holdfast'

const worker = () => new Worker(new URL('./agent.worker.js', import.meta.url), {type: 'module'})
const runtime = await openRuntime({worker})
const session = await runtime.openSession({agent: 'greeter'})
await session.send('Hi.')
const view = await session.settled()
document.title = view.entries.map(({text}) => text).join(' / ')
