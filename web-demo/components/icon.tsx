const shapes = {
  clock: 'M8 4.5V8l2.3 1.6M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z',
  check: 'm3 8.5 3.2 3.2L13 5',
  warning: 'M8 6v3.2M8 11.6v.1M8 2.4 14.2 13H1.8Z',
  send: 'M8 13V3.5M3.8 7.6 8 3.4l4.2 4.2',
  stop: 'M4.5 4.5h7v7h-7Z',
  plus: 'M8 3v10M3 8h10',
  branch: 'M4.5 3v10M4.5 9.5c4 0 7-1 7-4.5M11.5 5 9.7 6.9M11.5 5l1.8 1.9',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  chevron: 'm6 4 4 4-4 4',
  list: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h7',
  panel: 'M2.5 3h11v10h-11ZM9.5 3v10',
  close: 'm4 4 8 8M12 4l-8 8',
  search: 'M11 11l3 3M12 7.2a4.8 4.8 0 1 1-9.6 0 4.8 4.8 0 0 1 9.6 0Z',
  pen: 'm3 13 .7-3L10.6 3 13 5.4 6 12.3Z',
  coins:
    'M8 2.5v11M11 5c-.6-.9-1.700-1.300-3-1.300-1.700 0-3 .8-3 2.100 0 3 6.200 1.300 6.200 4.300 0 1.400-1.400 2.200-3.200 2.200-1.500 0-2.700-.5-3.300-1.500',
} as const
export type IconName = keyof typeof shapes

/** Decoration only: whatever stands beside it says the same in words. */
export function Icon({name}: {name: IconName}) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={shapes[name]} />
    </svg>
  )
}
