import webpack from 'webpack'
import config from './webpack.config.mjs'

const output = {path: `${import.meta.dirname}/dist`}
webpack({mode: 'production', ...config, output}, (error, stats) => {
  if (error || stats.hasErrors()) throw error ?? new Error(stats.toString({all: false, errors: true}))
})
