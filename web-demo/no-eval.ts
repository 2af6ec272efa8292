import * as z from 'zod'

// Zod would try whether text may be run as code, and a browser reports the try against the policy that forbids it.
// It has to be told before the first schema is made, so this is the first import of the page and of the worker.
z.config({jitless: true})
