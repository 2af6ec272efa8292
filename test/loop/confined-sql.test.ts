import {expect, test} from 'vitest'
import {sqlFault} from '../../runtime/loop/confined-sql.ts'

test.each([
  'select * from notes',
  ' insert into notes (text) values ($1) returning id',
  '-- why\nupdate notes set text = $1',
  'with n as (select 1) select * from n',
  '(select 1) union (select 2)',
  'create table if not exists notes (text text)',
  'create unique index on notes (text)',
  'alter table notes add column at bigint',
  'drop table if exists notes',
  'create temp table t as select 1',
  'explain select 1',
  '/* a /* b */ c */ select lo_price from notes',
])('[OP-1] a local tool may ask %j', query => expect(sqlFault(query)).toBeNull())

test.each([
  'delete from holdfast_events',
  'DELETE FROM "holdfast_events"',
  'delete from public."HOLDFAST_events"',
  'with x as (delete from holdfast_events returning 1) select * from x',
  'drop table holdfast_events',
  'delete from U&"\\0068oldfast_events"',
  "select query_to_xml('delete from hold' || 'fast_events', true, true, '')",
  "select ts_stat('select body from hold' || 'fast_events')",
  "select set_config/* x */('role', 'postgres', true)",
  "select query_to_xml--\n('delete from hold' || 'fast_events', true, true, '')",
  '/* /* */ select */ commit',
  '/* select',
  'commit',
  '/* x */ COMMIT',
  '; rollback',
  'begin',
  'savepoint a',
  'set role postgres',
  "select set_config('role', 'postgres', true)",
  'do $$ begin delete from notes; end $$',
  'create function f() returns void language sql as $$ select 1 $$',
  'create trigger t before insert on notes execute function f()',
  'copy notes to stdout',
  'vacuum full',
  'delete from pg_class',
  '',
])('[OP-1] a local tool may not ask %j, and is told why', query => {
  expect(sqlFault(query)).toMatch(/^sql: /)
})
