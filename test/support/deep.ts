/**
 * How much the widest tests try. `npm run test:deep` sets `HOLDFAST_DEEP=1`: they try all that they can, for hours;
 * with `HOLDFAST_DEEP=10`, every tenth of it. Null in `npm test`, where each tries a fixed sample.
 */
export const deepStride: number | null = process.env.HOLDFAST_DEEP ? Number(process.env.HOLDFAST_DEEP) : null
