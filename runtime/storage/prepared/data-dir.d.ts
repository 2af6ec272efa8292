declare module 'virtual:holdfast-data-dir' {
  /** The URL of the prepared data directory, a gzipped tar. */
  const url: string
  export default url
}
