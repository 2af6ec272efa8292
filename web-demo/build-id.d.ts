/** When this page was built, ISO 8601; written in by the build. */
declare const __BUILD__: string
