import {watchForUpdates} from './updates.ts'

/** Keeps the page on the device, so that it opens with the server stopped; development has no service worker. */
export function registerServiceWorker(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  // Without one the page still works while the server is there, so a failure is worth a note and no more.
  const register = () =>
    navigator.serviceWorker
      .register('/sw.js')
      .then(watchForUpdates)
      .catch(error => console.warn('No offline copy:', error))
  if (document.readyState === 'complete') void register()
  else addEventListener('load', () => void register(), {once: true})
}
