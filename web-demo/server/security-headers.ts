import {secureHeaders} from 'hono/secure-headers'

/** Nothing inline, nothing from elsewhere; WebAssembly may be compiled, text may never be run as code. */
export function securityHeaders() {
  return secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'self'"],
      scriptSrc: ["'self'", "'wasm-unsafe-eval'"],
      workerSrc: ["'self'"],
      connectSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      styleSrc: ["'self'"],
      manifestSrc: ["'self'"],
      objectSrc: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
    xFrameOptions: 'DENY',
    // A desk on plain localhost must not teach the browser to refuse it.
    strictTransportSecurity: false,
    permissionsPolicy: {camera: [], geolocation: [], microphone: []},
  })
}
