import type {Event} from '../../runtime/protocol/event.ts'
import type {Pool} from './remember.ts'
import type {Device, Packet, World} from './world.ts'

/**
 * What the future of a world depends on, as one short text. Of the confirmed log that is the part some device still
 * lacks and where the events stand that are pending or on the wire; the rest lives on in the folded states.
 */
export function fingerprinter({number}: Pool): (world: World) => string {
  const many = (events: readonly object[]) => events.map(number).join('.')
  const deviceText = (device: Device, log: readonly Event[]) => {
    const {deviceSeq, confirmed, current, pending, rejected, busy, answered} = device
    const doing = busy ? `${number(busy.step)}@${number(busy.before)}${busy.at === current ? '=' : ''}` : ''
    const stands = pending.map(event => standing(log, event)).join('.')
    const heard = answered ? number(answered) : ''
    return `${deviceSeq},${number(confirmed)},${number(current)},${many(pending)},${stands},${rejected},${doing},${heard}`
  }
  const packetText = (packet: Packet, log: readonly Event[]) => {
    if (packet.type === 'claim') return `c${packet.from}${packet.sawEpoch}`
    const batch = `${many(packet.batch)},${packet.batch.map(event => standing(log, event)).join('.')}`
    return packet.type === 'push' ? `p${packet.live}${packet.from},${batch}` : `a${packet.to},${number(packet.answer)}`
  }
  return ({devices, server, wire, left, now}) => {
    const least = Math.min(devices[0].confirmed.head, devices[1].confirmed.head)
    const asked = server.log.flatMap(event => (event.kind === 'approval.requested' ? event.data.approval : []))
    const packets = wire.map(packet => packetText(packet, server.log)).sort()
    return [
      number(server.state),
      number(server.history),
      server.calling ?? '',
      server.fact,
      now,
      server.overdue.join(),
      asked.join(),
      many(server.log.slice(least)),
      deviceText(devices[0], server.log),
      deviceText(devices[1], server.log),
      packets.join('/'),
      Object.values(left).join(''),
    ].join('|')
  }
}

function standing(log: readonly Event[], event: Event): number {
  return log.findIndex(other => other.id === event.id)
}
