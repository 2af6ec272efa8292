/** Deletes a wrong file from this origin's caches, so that the next request reaches the server. */
export async function forgetCached(url: string): Promise<void> {
  if (typeof caches === 'undefined') return
  try {
    for (const name of await caches.keys()) await (await caches.open(name)).delete(url, {ignoreSearch: true})
  } catch {
    // Without access to the caches, none of them can serve the wrong file.
  }
}
