import {HoldfastError} from '../../runtime/index.ts'

/** Why the conversation that an address names is not shown, and what the person can do. */
export type Missing = {title: string; detail: string}

export function missingWords(error: unknown): Missing {
  if (HoldfastError.is(error, 'bad_input'))
    return {
      title: 'This address names no conversation',
      detail: 'The link may be incomplete. Choose a conversation from the list, or begin a new one.',
    }
  if (HoldfastError.is(error, 'not_found', 'forbidden'))
    return {
      title: 'There is no such conversation, or it is not yours',
      detail: 'Choose a conversation from the list, or begin a new one.',
    }
  if (HoldfastError.is(error, 'erased'))
    return {title: 'This conversation was erased', detail: 'Nothing of it is left. You can begin a new one.'}
  if (HoldfastError.is(error, 'offline', 'deadline', 'peer_gone', 'unauthenticated'))
    return {
      title: 'This device does not have this conversation yet',
      detail: 'The server has to bring it and cannot be asked now. It opens here once there is a connection.',
    }
  return {
    title: 'This conversation could not be opened',
    detail: 'Nothing of it is lost. Reload the page to try again, or choose another conversation.',
  }
}
