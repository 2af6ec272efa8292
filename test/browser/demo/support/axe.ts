import {AxeBuilder} from '@axe-core/playwright'
import type {Page} from 'playwright-core'

/** Whatever axe calls serious or critical, in light and dark, on a phone and on a desk. */
export async function faultsOf(page: Page, widths = [390, 1440]): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({colorScheme, reducedMotion: 'reduce'})
    for (const width of widths) {
      await page.setViewportSize({width, height: 900})
      // The page has no frames, so axe need not open a tab of its own to put their results together.
      const {violations} = await new AxeBuilder({page}).setLegacyMode().analyze()
      for (const {id, impact, nodes} of violations) {
        if (impact !== 'serious' && impact !== 'critical') continue
        faults.push(...nodes.map(node => `${colorScheme} ${width}: ${id} at ${node.target.join(' ')}`))
      }
    }
  }
  return faults
}
