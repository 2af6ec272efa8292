const allowed = /^(select|insert|update|delete|with|values|table|merge|truncate|explain)$/
/**
 * Data definition for the application's tables. Functions and triggers are excluded: the database would run them later,
 * outside of the call.
 */
const definition =
  /^(create|alter|drop|comment)\s+(or\s+replace\s+|unique\s+|temp\w*\s+|unlogged\s+|on\s+)*(table|index|view|type|sequence|column)\b/i

/** Functions that run a text as a query, change settings, or reach large objects; with any comment before their "(". */
const runsText =
  /\b(set_config|\w+_to_xml\w*|ts_stat|ts_rewrite|lo_(creat|create|export|from_bytea|get|import|open|put|truncate|unlink)|lo(read|write))\b|\bU&/i

/**
 * Returns why a query of a local tool is refused; null if it stays within the application's tables. A tool's result
 * must commit with its writes, so the tool may not end the transaction or change its settings, and only Holdfast writes
 * Holdfast's tables. The database accepts one statement per query. [OP-1, LOG-1]
 *
 * A role of the database (`SET LOCAL ROLE`) cannot replace this check: `RESET ROLE`, `SET ROLE`, `set_config` and `DO`
 * leave the role again, since the session stays a superuser's.
 */
export function sqlFault(query: string): string | null {
  // String literals are checked too, because some functions execute a string. Such a value belongs in a parameter.
  const names = query.replaceAll('"', '')
  const own = /\bholdfast_\w*|\bpg_\w+|\binformation_schema\b/i.exec(names)
  if (own) return `sql: expected tables of the application, got "${own[0].toLowerCase()}"`
  const system = runsText.exec(names)
  if (system) return `sql: "${system[0]}" is not available to a tool`
  const statement = withoutLeadingComments(query)
  const verb = /^[a-z]*/i.exec(statement)?.[0].toLowerCase() ?? ''
  if (allowed.test(verb) || definition.test(statement)) return null
  return `sql: expected a query of rows or tables, got "${verb}"; the transaction belongs to the call`
}

/** The statement from its first word: comments of Postgres nest, so that a shorter reading would show another word. */
function withoutLeadingComments(query: string): string {
  let rest = query
  for (;;) {
    rest = rest.replace(/^[\s(;]+/, '')
    if (rest.startsWith('--')) rest = rest.replace(/^--[^\n\r]*/, '')
    else if (rest.startsWith('/*')) rest = afterComment(rest)
    else return rest
  }
}

function afterComment(text: string): string {
  let depth = 0
  for (const {0: mark, index} of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return text.slice(index + 2)
  }
  return ''
}
