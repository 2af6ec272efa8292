import {expect, test} from 'vitest'
import {contextOverflow} from '../../runtime/protocol/context-overflow.ts'

const apiError = (statusCode: number, body: unknown, message = 'Bad Request') =>
  Object.assign(new Error(message), {
    name: 'AI_APICallError',
    statusCode,
    isRetryable: false,
    url: 'https://example.test/v1',
    requestBodyValues: {messages: ['what does "maximum context length" mean?']},
    responseBody: typeof body === 'string' ? body : JSON.stringify(body),
  })

test.each<[string, unknown, {limit: number | null; counted: number | null}]>([
  [
    'OpenAI chat',
    apiError(400, {
      error: {
        message:
          "This model's maximum context length is 8192 tokens. However, your messages resulted in 12000 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    }),
    {limit: 8192, counted: 12000},
  ],
  [
    'OpenAI responses',
    apiError(400, {
      error: {
        message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
        code: 'context_length_exceeded',
      },
    }),
    {limit: null, counted: null},
  ],
  [
    'OpenAI, one request over the rate',
    apiError(429, {
      error: {
        message:
          'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced in order to run successfully.',
        code: 'rate_limit_exceeded',
      },
    }),
    {limit: 30000, counted: 41000},
  ],
  [
    'Azure',
    apiError(400, {
      error: {
        code: 'context_length_exceeded',
        message:
          'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.',
      },
    }),
    {limit: 272000, counted: 300000},
  ],
  [
    'Anthropic',
    apiError(400, {
      type: 'error',
      error: {type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum'},
    }),
    {limit: 200000, counted: 213462},
  ],
  [
    'Anthropic with the reply',
    apiError(400, {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
      },
    }),
    {limit: 200000, counted: 188240},
  ],
  [
    'Anthropic, bytes',
    apiError(413, {type: 'error', error: {type: 'request_too_large', message: 'Request exceeds the maximum size'}}),
    {limit: null, counted: null},
  ],
  [
    'Google',
    apiError(400, {
      error: {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
      },
    }),
    {limit: 1048575, counted: 1196265},
  ],
  [
    'Vertex',
    apiError(400, {
      error: {
        code: 400,
        message:
          'Unable to submit request because the input token count is 50000 but the model only supports up to 32768. Reduce the input token count and try again.',
      },
    }),
    {limit: 32768, counted: 50000},
  ],
  [
    'Mistral',
    apiError(400, {
      object: 'error',
      message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      code: '3051',
    }),
    {limit: null, counted: null},
  ],
  [
    'Bedrock',
    apiError(400, {message: 'Input is too long for requested model.'}, 'ValidationException'),
    {limit: null, counted: null},
  ],
  [
    'xAI',
    apiError(400, {error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),
    {limit: 131072, counted: 537812},
  ],
  [
    'Groq',
    apiError(400, {
      error: {message: 'Please reduce the length of the messages or completion.', code: 'context_length_exceeded'},
    }),
    {limit: null, counted: null},
  ],
  [
    'OpenRouter',
    apiError(400, {
      error: {
        message:
          "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 of text input, 1000 of tool input). Please reduce the length of either one.",
        code: 400,
      },
    }),
    {limit: 131072, counted: 140000},
  ],
  [
    'vLLM',
    apiError(400, {
      object: 'error',
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion). Please reduce the length of the messages or completion.",
      type: 'BadRequestError',
      code: 400,
    }),
    {limit: 4096, counted: 5000},
  ],
  [
    'vLLM, another version',
    apiError(400, {
      error: {
        message:
          'The decoder prompt (length 12000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
        type: 'BadRequestError',
        code: 400,
      },
    }),
    {limit: 8192, counted: 12000},
  ],
  [
    'llama.cpp',
    apiError(400, {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 6200,
        n_ctx: 4096,
      },
    }),
    {limit: 4096, counted: 6200},
  ],
  [
    'llama.cpp, newer words',
    apiError(400, {
      error: {
        code: 400,
        message: 'request (6200 tokens) exceeds the available context size (4096 tokens), try increasing it',
      },
    }),
    {limit: 4096, counted: 6200},
  ],
  [
    'Ollama',
    apiError(400, {error: 'prompt too long; exceeded max context length by 4 tokens'}),
    {limit: null, counted: null},
  ],
  [
    'LM Studio',
    apiError(400, {
      error:
        'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
    }),
    {limit: null, counted: null},
  ],
  [
    'text generation inference',
    apiError(422, {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`',
      error_type: 'validation',
    }),
    {limit: 4096, counted: 5000},
  ],
  [
    'Chrome and WebLLM',
    Object.assign(new Error('The input is too large.'), {name: 'QuotaExceededError'}),
    {limit: null, counted: null},
  ],
  [
    'WebLLM',
    Object.assign(
      new Error('Prompt tokens exceed context window size: number of prompt tokens: 5000; context window size: 4096'),
      {name: 'ContextWindowSizeExceededError'},
    ),
    {limit: null, counted: null},
  ],
  ['a proxy', apiError(413, '<html><h1>413 Request Entity Too Large</h1></html>'), {limit: null, counted: null}],
  [
    'an error part in mid-stream',
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        message: 'Your input exceeds the context window of this model.',
      },
    },
    {limit: null, counted: null},
  ],
  ['words alone', 'prompt is too long: 9000 tokens > 8000 maximum', {limit: 8000, counted: 9000}],
  [
    'a cause',
    new Error('stream failed', {cause: apiError(400, {error: {code: 'context_length_exceeded', message: ''}})}),
    {limit: null, counted: null},
  ],
])('[VIEW-4] %s says that the prompt is too long', (_, error, expected) => {
  const found = contextOverflow(error)
  expect(found).not.toBeNull()
  if (expected.limit !== null) expect(found).toEqual(expected)
})

test.each<[string, unknown]>([
  [
    'a rate limit',
    apiError(429, {
      error: {
        message:
          'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.',
        code: 'rate_limit_exceeded',
      },
    }),
  ],
  [
    'a quota',
    apiError(429, {
      error: {message: 'You exceeded your current quota, please check your plan.', code: 'insufficient_quota'},
    }),
  ],
  [
    'a reply bound that is too high',
    apiError(400, {
      error: {
        message:
          'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
      },
    }),
  ],
  [
    'a long id',
    apiError(400, {
      error: {
        message:
          "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 52 instead.",
        code: 'string_above_max_length',
      },
    }),
  ],
  ['a key', apiError(401, {error: {message: 'Incorrect API key provided.'}})],
  [
    'too many tokens a minute',
    apiError(429, {message: 'Too many tokens per day, please wait before trying again.'}, 'ThrottlingException'),
  ],
  ['a network', new TypeError('fetch failed')],
  ['what the prompt itself says', apiError(400, {error: {message: 'Invalid schema for function "x".'}})],
  ['nothing', null],
])('[VIEW-4] %s does not', (_, error) => {
  expect(contextOverflow(error)).toBeNull()
})

test('[VIEW-4] an error that refers to itself comes to an end', () => {
  const error: Record<string, unknown> = {message: 'x'}
  error.cause = error
  expect(contextOverflow(error)).toBeNull()
})
