-- Change rows of a ledger, if nobody has changed them since they were read.
-- KEYS: a lock, the rows that were read, then the others that change. ARGV: who asks (empty: nobody who wants the
-- lock), how many rows were read, the stamp that each of them had (empty: there was none), then for each row that
-- changes: its place in KEYS, its new text (empty: remove it), how many milliseconds it is kept (0: for ever), and
-- the list that it belongs to (empty: none).
-- The answer is 1, or the present texts of the rows that were read, the time, and who has the lock. While somebody
-- has it, for a moment at most, nobody else may change rows.

local asker, last_read = ARGV[1], 1 + tonumber(ARGV[2])
local owner = redis.call('GET', KEYS[1])
local is_free = not owner or owner == asker
for place = 2, last_read do
  is_free = is_free and redis.call('GETRANGE', KEYS[place], 0, 15) == ARGV[place + 1]
end
if not is_free then
  if asker ~= '' then redis.call('SET', KEYS[1], asker, 'NX', 'PX', 200) end
  return {redis.call('MGET', unpack(KEYS, 2, last_read)), redis.call('TIME'), redis.call('GET', KEYS[1])}
end
if owner then redis.call('DEL', KEYS[1]) end
for at = last_read + 2, #ARGV, 4 do
  local key, text, kept_ms, list = KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if text == '' then
    redis.call('DEL', key)
  elseif kept_ms == '0' then
    redis.call('SET', key, text)
  else
    redis.call('SET', key, text, 'PX', kept_ms)
  end
  if list ~= '' and text == '' then redis.call('ZREM', list, key) end
  -- The newest row has the greatest number.
  if list ~= '' and text ~= '' then redis.call('ZADD', list, 'NX', redis.call('TIME')[1], key) end
end
return 1
