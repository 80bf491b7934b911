-- All steps of a session in Redis. One call of this script is one step: nothing else runs at the same time.
-- KEYS[1] is PREFIX:meta. All other keys begin with the same prefix, whose braces put them into the same slot.
-- ARGV has the step and its arguments; an empty argument means none. Values are returned as text.

local prefix = string.sub(KEYS[1], 1, -5)
local VERSION, REMEMBERED_MS, MOST_SHOWN = 1, 7 * 24 * 3600 * 1000, 1000
local ACCOUNT = {'total', 'window', 'result_pct', 'turn_pct', 'floor', 'used', 'reserved', 'window_used'}

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local function key(kind, id) return prefix .. kind .. ':' .. id end
local function text(number) return string.format('%.0f', number) end
local function minus(tokens) return tokens == '0' and '0' or '-' .. tokens end
local function number(value) if value and value ~= '' then return tonumber(value) end end

local function session_of(name)
  return redis.call('HGET', prefix .. 'names', name)
end

local function account(session)
  local values = redis.call('HMGET', key('session', session), unpack(ACCOUNT))
  for place = 1, #ACCOUNT do values[place] = values[place] or '' end
  return values
end

local function answer(status, session, ...)
  local values = account(session)
  local found = {status, ...}
  for place = 1, #values do found[#found + 1] = values[place] end
  return found
end

local function remember(id)
  redis.call('ZADD', prefix .. 'settled', now_ms, id)
  redis.call('ZREMRANGEBYSCORE', prefix .. 'settled', '-inf', now_ms - REMEMBERED_MS)
end

local function is_settled(id) return redis.call('ZSCORE', prefix .. 'settled', id) end

local function use(session, turn, tokens)
  local place = key('session', session)
  redis.call('HINCRBY', place, 'used', tokens)
  -- A context that was compacted since holds less than what is taken back.
  if redis.call('HINCRBY', place, 'window_used', tokens) < 0 then redis.call('HSET', place, 'window_used', 0) end
  if turn ~= '' then redis.call('HINCRBY', key('turns', session), turn, tokens) end
end

-- Free a grant. Return its session, its turn and what it announced; nothing if it is gone.
local function free(id)
  local found = redis.call('HMGET', key('grant', id), 'session', 'tokens', 'turn', 'announced')
  if not found[1] then return end
  redis.call('DEL', key('grant', id))
  redis.call('ZREM', prefix .. 'leases', id)
  redis.call('HINCRBY', key('session', found[1]), 'reserved', minus(found[2]))
  if found[3] ~= '' then redis.call('HINCRBY', key('held', found[1]), found[3], minus(found[2])) end
  return found[1], found[3], found[4]
end

-- Free a grant that was not settled, and count what it announced. It may still be settled.
local function give_up(id)
  local session, turn, announced = free(id)
  if not session then return end
  use(session, turn, announced)
  redis.call('HSET', key('unsettled', id), 'session', session, 'turn', turn, 'tokens', announced)
  redis.call('PEXPIRE', key('unsettled', id), REMEMBERED_MS)
end

local function free_expired()
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'leases', '-inf', now_ms, 'LIMIT', 0, 1000)) do
    give_up(id)
  end
end

local function share_of(tokens, millionths)
  -- In two parts: the product of both could be too large for an exact number.
  local millions, rest = math.floor(tokens / 1000000), tokens % 1000000
  return millions * millionths + math.floor(rest * millionths / 1000000)
end

local function turn_taken(session, turn)
  return (number(redis.call('HGET', key('turns', session), turn)) or 0)
    + (number(redis.call('HGET', key('held', session), turn)) or 0)
end

local function forget_shown(session)
  redis.call('DEL', key('shown', session), key('shown_order', session))
end

local function begin(name, settings)
  local session = redis.call('INCR', prefix .. 'last_session')
  redis.call('HSET', prefix .. 'names', name, session)
  redis.call('HSET', key('session', session), 'name', name, 'created_ms', now_ms, 'context', 0,
    'used', 0, 'reserved', 0, 'window_used', 0, unpack(settings))
  return session
end

local function finish(session, name)
  redis.call('HDEL', prefix .. 'names', name)
  redis.call('HSET', key('session', session), 'ended_ms', now_ms)
  -- Grants that are still held are settled in the session that made them.
  for _, kind in ipairs({'session', 'turns', 'held'}) do
    redis.call('PEXPIRE', key(kind, session), REMEMBERED_MS)
  end
  redis.call('DEL', key('records', session))
  forget_shown(session)
end

local SETTINGS = {'total', 'window', 'result_pct', 'turn_pct', 'floor', 'result_millionths', 'turn_millionths'}

local function settings_of(session)
  local values = redis.call('HMGET', key('session', session), unpack(SETTINGS))
  local found = {}
  for place, name in ipairs(SETTINGS) do
    if values[place] then found[#found + 1] = name; found[#found + 1] = values[place] end
  end
  return found
end

local steps = {}

function steps.start(name, ...)
  local found = session_of(name)
  if found then return answer('exists', found) end
  local settings, values = {}, {...}
  for place, field in ipairs(SETTINGS) do
    if values[place] ~= '' then settings[#settings + 1] = field; settings[#settings + 1] = values[place] end
  end
  redis.call('HSET', KEYS[1], 'version', VERSION)
  return answer('ok', begin(name, settings))
end

steps['end'] = function(name, id)
  -- The answer to the first attempt may have been lost.
  local session = redis.call('GET', key('ended', id)) or session_of(name)
  if not session then return {'none'} end
  if not redis.call('GET', key('ended', id)) then
    finish(session, name)
    redis.call('SET', key('ended', id), session, 'PX', REMEMBERED_MS)
  end
  return answer('ok', session)
end

function steps.reset(name, id)
  local session = session_of(name)
  if not session then return {'none'} end
  if is_settled(id) then return answer('ok', session) end
  finish(session, name)
  remember(id)
  return answer('ok', begin(name, settings_of(session)))
end

function steps.list()
  local found, ids = {'ok'}, {}
  for place, value in ipairs(redis.call('HVALS', prefix .. 'names')) do ids[place] = tonumber(value) end
  table.sort(ids)
  for _, session in ipairs(ids) do
    local row = redis.call('HMGET', key('session', session), 'name', 'created_ms')
    found[#found + 1] = row[1]
    found[#found + 1] = row[2]
    for _, value in ipairs(account(session)) do found[#found + 1] = value end
  end
  return found
end

function steps.reserve(name, id, requested, turn, lease_ms, ...)
  local session = session_of(name)
  if not session then return {'none'} end
  local held = redis.call('HGET', key('grant', id), 'granted')
  if held then return answer('again', session, held, '') end
  local given = {...}
  local row = redis.call('HMGET', key('session', session), 'total', 'used', 'reserved', 'window_used', 'window',
    'result_millionths', 'turn_millionths', 'floor')
  local used, reserved = number(row[2]), number(row[3])
  local taken = turn ~= '' and turn_taken(session, turn) or nil
  local least = number(requested)
  local function limit(tokens) if not least or tokens < least then least = tokens end end
  local refused = answer('refused', session, '', taken and text(taken) or '')
  if row[1] then
    local left = number(row[1]) - used - reserved
    if left <= 0 then return refused end
    limit(left)
  end
  -- The window of the call replaces that of the session; its shares fill in what the session was not given.
  local window, result, of_turn, floor = number(given[1]), number(given[2]), number(given[3]), number(given[4])
  if not window and row[5] then
    window = number(row[5])
    result = number(row[6]) or number(given[5])
    of_turn = number(row[7]) or number(given[6])
    floor = number(row[8]) or number(given[7])
  end
  if window then
    local left = math.max(window - number(row[4]) - reserved, 0)
    if taken then
      local left_of_turn = share_of(window, of_turn) - taken
      if left_of_turn <= 0 then return refused end
      limit(left_of_turn)
    end
    limit(math.max(floor, math.min(share_of(window, result), left)))
  end
  if least == 0 and requested ~= '0' then return refused end
  local granted, tokens = least and text(least) or '', text(least or 0)
  local found = answer('ok', session, granted, taken and text(taken) or '')
  redis.call('HSET', key('grant', id), 'session', session, 'tokens', tokens, 'granted', granted, 'turn', turn,
    'announced', '0', 'lease_ms', lease_ms)
  redis.call('ZADD', prefix .. 'leases', now_ms + lease_ms, id)
  redis.call('HINCRBY', key('session', session), 'reserved', tokens)
  if turn ~= '' then redis.call('HINCRBY', key('held', session), turn, tokens) end
  return found
end

function steps.renew(id)
  local lease_ms = redis.call('HGET', key('grant', id), 'lease_ms')
  if lease_ms then redis.call('ZADD', prefix .. 'leases', now_ms + lease_ms, id) end
  return {'ok'}
end

function steps.announce(id, tokens)
  local announced = number(redis.call('HGET', key('grant', id), 'announced'))
  if announced and announced < tonumber(tokens) then redis.call('HSET', key('grant', id), 'announced', tokens) end
  return steps.renew(id)
end

function steps.settle(name, id, turn, tokens)
  local current = session_of(name)
  if is_settled(id) then return current and answer('ok', current) or {'none'} end
  local session = free(id)
  local status = 'ok'
  if not session then
    local before = redis.call('HMGET', key('unsettled', id), 'session', 'turn', 'tokens')
    if before[1] then
      session = before[1]
      use(session, before[2], minus(before[3]))
      redis.call('DEL', key('unsettled', id))
    else
      session, status = current, 'unknown'
    end
  end
  if not session then return {'none'} end
  use(session, turn, tokens)
  remember(id)
  return answer(status, session)
end

function steps.release(name, id)
  give_up(id)
  local session = session_of(name)
  return session and answer('ok', session) or {'none'}
end

function steps.record(name, id, tokens, of_key)
  local session = session_of(name)
  if not session then return {'none'} end
  if is_settled(id) then return answer('ok', session) end
  if of_key ~= '' and redis.call('SADD', key('records', session), of_key) == 0 then
    return answer('before', session)
  end
  local place = key('session', session)
  redis.call('HINCRBY', place, 'used', tokens)
  if number(redis.call('HGET', place, 'window_used')) < tonumber(tokens) then
    redis.call('HSET', place, 'window_used', tokens)
  end
  remember(id)
  return answer('ok', session)
end

function steps.compacted(name, used)
  local session = session_of(name)
  if not session then return {'none'} end
  redis.call('HSET', key('session', session), 'window_used', used)
  redis.call('HINCRBY', key('session', session), 'context', 1)
  forget_shown(session)
  return answer('ok', session)
end

local function context_of(session)
  return session .. '.' .. redis.call('HGET', key('session', session), 'context')
end

function steps.shown(name, ...)
  local session = session_of(name)
  if not session then return {'none'} end
  local found = {'ok', context_of(session)}
  for _, of_key in ipairs({...}) do
    found[#found + 1] = redis.call('HGET', key('shown', session), of_key) or ''
  end
  return found
end

function steps.note_shown(name, context, ...)
  local session = session_of(name)
  if not session then return {'none'} end
  if context_of(session) ~= context then return {'gone'} end
  local given, order = {...}, key('shown_order', session)
  for place = 1, #given, 2 do
    redis.call('HSET', key('shown', session), given[place], given[place + 1])
    redis.call('ZADD', order, redis.call('HINCRBY', key('session', session), 'noted', 1), given[place])
  end
  local too_many = redis.call('ZCARD', order) - MOST_SHOWN
  if too_many > 0 then
    for _, of_key in ipairs(redis.call('ZRANGE', order, 0, too_many - 1)) do
      redis.call('HDEL', key('shown', session), of_key)
      redis.call('ZREM', order, of_key)
    end
  end
  return {'ok'}
end

function steps.turn(name, turn)
  local session = session_of(name)
  if not session then return {'none'} end
  return {'ok', text(turn_taken(session, turn))}
end

function steps.read(name)
  local session = session_of(name)
  return session and answer('ok', session) or {'none'}
end

local version = redis.call('HGET', KEYS[1], 'version')
if version and tonumber(version) > VERSION then return {'newer', version, text(VERSION)} end
free_expired()
return steps[ARGV[1]](unpack(ARGV, 2))
