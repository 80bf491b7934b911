-- All steps of a session in Redis. One call of this script is one step: nothing else runs at the same time.
-- KEYS[1] is PREFIX:meta. All other keys begin with the same prefix, whose braces put them into the same slot.
-- ARGV has the step and its arguments; an empty argument means none. The answer is one text, with a NUL between
-- its parts.

local prefix = string.sub(KEYS[1], 1, -5)
local VERSION, REMEMBERED_MS, MOST_SHOWN = 1, 7 * 24 * 3600 * 1000, 1000
local MOST_ABOVE, MOST_PAST, MOST_LISTED = 8, 10000, 1000
local DAY_MS = 24 * 3600 * 1000
local ACCOUNT = {'total', 'window', 'result_pct', 'turn_pct', 'floor', 'used', 'reserved', 'window_used',
  'reserved_below', 'parent', 'renew', 'period_ms', 'ended_ms'}
-- An answer has all of them but the last one.
local ACCOUNT_TEXTS = 12
-- Numbers below this one are exact.
local MOST_EXACT = 2 ^ 53

local meta = redis.call('HMGET', KEYS[1], 'version', 'clock_offset_ms')
local time = redis.call('TIME')
-- Tests set the clock of a ledger forward or back.
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000) + (tonumber(meta[2] or 0) or 0)

local function key(kind, id) return prefix .. kind .. ':' .. id end
local function text(number) return string.format('%d', number) end
-- Arguments are text: the server takes longer to write a number.
local now = text(now_ms)
local function minus(tokens) return tokens == '0' and '0' or '-' .. tokens end
local function number(value) if value and value ~= '' then return tonumber(value) end end

local function session_of(name)
  return redis.call('HGET', prefix .. 'names', name)
end

-- An answer ends with the account of a session, and of those above it.
local function answer_with(found, values, above)
  for place = 1, ACCOUNT_TEXTS do
    values[place] = values[place] or ''
    found[#found + 1] = values[place]
  end
  for _, each in ipairs(above) do
    local row = redis.call('HMGET', key('session', each), 'name', 'total', 'used', 'reserved')
    for place = 1, 4 do found[#found + 1] = row[place] or '' end
  end
  return found
end

-- Remember that a step was done. False if it was done before.
local function remember(id)
  local is_new = redis.call('ZADD', prefix .. 'settled', 'NX', now, id) == 1
  -- Now and then is enough.
  if now_ms % 50 == 0 then
    redis.call('ZREMRANGEBYSCORE', prefix .. 'settled', '-inf', now_ms - REMEMBERED_MS)
  end
  return is_new
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

-- Grant what is asked for, or less, in a session with these numbers and in those above it. If nothing can be granted, or
-- the grant exists, the status of the answer is `refused`, and nothing is changed.
local function grant(session, row, above, id, requested, turn, lease_ms, ...)
  local given, used, reserved = {...}, number(row[6]), number(row[7])
  local taken = turn ~= '' and turn_taken(session, turn) or nil
  local least, is_plain = number(requested), not row[10] and not row[11]
  local function limit(tokens) if not least or tokens < least then least = tokens end end
  -- The numbers before this grant: the client adds it itself, and compares.
  local found = answer_with({'refused', '', taken and text(taken) or ''}, row, above)
  if row[1] ~= '' then
    local left = number(row[1]) - used - reserved
    if left <= 0 then return found end
    limit(left)
  end
  for _, each in ipairs(above) do
    local numbers = redis.call('HMGET', key('session', each), 'total', 'used', 'reserved')
    if numbers[1] then
      local left = tonumber(numbers[1]) - tonumber(numbers[2]) - tonumber(numbers[3])
      if left <= 0 then return found end
      limit(left)
    end
  end
  -- The window of the call replaces that of the session; its shares fill in what the session was not given.
  local window, result, of_turn, floor = number(given[1]), number(given[2]), number(given[3]), number(given[4])
  if not window and row[2] ~= '' then
    local own = redis.call('HMGET', key('session', session), 'result_millionths', 'turn_millionths')
    window = number(row[2])
    result = number(own[1]) or number(given[5])
    of_turn = number(own[2]) or number(given[6])
    floor = number(row[5]) or number(given[7])
  end
  if window then
    local left = math.max(window - number(row[8]) - reserved + (number(row[9]) or 0), 0)
    if taken then
      local left_of_turn = share_of(window, of_turn) - taken
      if left_of_turn <= 0 then return found end
      limit(left_of_turn)
    end
    limit(math.max(floor, math.min(share_of(window, result), left)))
  end
  if least == 0 and requested ~= '0' then return found end
  local granted, tokens = least and text(least) or '', text(least or 0)
  if redis.call('ZADD', prefix .. 'leases', 'NX', text(now_ms + lease_ms), id) == 0 then return found end
  found[1], found[2] = 'ok', granted
  redis.call('HSET', key('grant', id), 'session', session, 'tokens', tokens, 'granted', granted, 'turn', turn,
    'announced', '0', 'lease_ms', lease_ms, 'above', table.concat(above, ' '), 'holder', given[8],
    'since_ms', now, 'plain', is_plain and '1' or '')
  redis.call('HINCRBY', key('session', session), 'reserved', tokens)
  if turn ~= '' then redis.call('HINCRBY', key('held', session), turn, tokens) end
  for _, each in ipairs(above) do
    redis.call('HINCRBY', key('session', each), 'reserved', tokens)
    redis.call('HINCRBY', key('session', each), 'reserved_below', tokens)
  end
  return found
end

-- The steps of every call come first, because the script runs from its beginning each time: making the functions of all
-- other steps takes as long as eight commands.
local is_newer = meta[1] and tonumber(meta[1]) > VERSION
local has_expired = #redis.call('ZRANGEBYSCORE', prefix .. 'leases', '-inf', now, 'LIMIT', '0', '1') > 0
local quick = {}

-- Reserve in a session that has none above it and is not renewed. Nil, and nothing is changed, if it is another one, if
-- the grant exists, or if nothing can be granted.
function quick.reserve(name, id, ...)
  local session = session_of(name)
  if not session then return end
  local row = redis.call('HMGET', key('session', session), unpack(ACCOUNT))
  if row[10] or row[11] then return end
  local found = grant(session, row, {}, id, ...)
  return found[1] == 'ok' and found or nil
end

-- Settle a grant whose session has none above and is not renewed, with as few commands as possible. Nil, and nothing
-- is changed, if it is another one, was settled before, or its session has ended.
function quick.settle(_, id, turn, tokens)
  local found = redis.call('HMGET', key('grant', id), 'plain', 'session', 'tokens')
  if found[1] ~= '1' then return end
  local place = key('session', found[2])
  local row = redis.call('HMGET', place, unpack(ACCOUNT))
  if row[13] or not row[6] then return end
  local used, reserved, window_used = row[6] + tokens, row[7] - found[3], row[8] + tokens
  if used >= MOST_EXACT or window_used >= MOST_EXACT or not remember(id) then return end
  row[6], row[7], row[8] = text(used), text(reserved), text(window_used)
  redis.call('DEL', key('grant', id))
  redis.call('ZREM', prefix .. 'leases', id)
  redis.call('HSET', place, 'used', row[6], 'reserved', row[7], 'window_used', row[8])
  if turn ~= '' then
    redis.call('HINCRBY', key('turns', found[2]), turn, tokens)
    redis.call('HINCRBY', key('held', found[2]), turn, minus(found[3]))
  end
  return answer_with({'ok'}, row, {})
end

if quick[ARGV[1]] and not is_newer and not has_expired then
  local found = quick[ARGV[1]](unpack(ARGV, 2))
  if found then return table.concat(found, '\0') end
end

-- The history: periods that are over, in two hashes, so that many ended sessions do not push out periods.
local function keep(kind, id, entry)
  redis.call('HSET', prefix .. kind, id, cjson.encode(entry))
  redis.call('ZADD', prefix .. kind .. '_order', now_ms, id)
  if redis.call('ZCARD', prefix .. kind .. '_order') > MOST_PAST then
    redis.call('HDEL', prefix .. kind, redis.call('ZPOPMIN', prefix .. kind .. '_order')[1])
  end
end

local function amend(kind, id, tokens)
  local found = redis.call('HGET', prefix .. kind, id)
  if not found then return end
  local entry = cjson.decode(found)
  entry[5] = text(tonumber(entry[5]) + tonumber(tokens))
  redis.call('HSET', prefix .. kind, id, cjson.encode(entry))
end

-- When a period began, in UTC. 1970-01-01 was a Thursday.
local starts = {}
function starts.day(ms) return ms - ms % DAY_MS end
function starts.week(ms) return ms - (ms + 3 * DAY_MS) % (7 * DAY_MS) end
function starts.month(ms)
  -- Count days from the first of March of the year 0, in eras of 400 years.
  local days = math.floor(ms / DAY_MS)
  local in_era = (days + 719468) % 146097
  local year = math.floor((in_era - math.floor(in_era / 1460) + math.floor(in_era / 36524)
    - math.floor(in_era / 146096)) / 365)
  local in_year = in_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * in_year + 2) / 153)
  return (days - (in_year - math.floor((153 * month + 2) / 5))) * DAY_MS
end
local LONGER_THAN_ONE = {day = 1, week = 7, month = 32}

local function past_entry(session, ended_ms, how)
  local row = redis.call('HMGET', key('session', session), 'name', 'created_ms', 'period_ms', 'total', 'used', 'period')
  return {row[1], row[3] or row[2], text(ended_ms), row[4] or '', row[5], how}, session .. '.' .. (row[6] or '0')
end

-- Begin a new period of a running session if its present one is over.
local function renewed(session)
  local row = redis.call('HMGET', key('session', session), 'renew', 'period_ms', 'ended_ms')
  if not row[1] or row[3] then return session end
  local began, start = tonumber(row[2]), starts[row[1]](now_ms)
  if start > began then
    local ended = starts[row[1]](starts[row[1]](began) + LONGER_THAN_ONE[row[1]] * DAY_MS)
    local entry, id = past_entry(session, ended, 'renewed')
    keep('periods', id, entry)
    redis.call('HSET', key('session', session), 'used', 0, 'period_ms', text(start))
    redis.call('HINCRBY', key('session', session), 'period', 1)
  end
  return session
end

-- The sessions above a running one, the nearest first, in their present periods. Nil and a name if one is lost.
local function above_of(session)
  local found, parent = {}, redis.call('HGET', key('session', session), 'parent')
  while parent do
    local above = session_of(parent)
    if not above or #found > MOST_ABOVE then return nil, parent end
    found[#found + 1] = renewed(above)
    parent = redis.call('HGET', key('session', above), 'parent')
  end
  return found
end

local function account(session)
  local values = redis.call('HMGET', key('session', session), unpack(ACCOUNT, 1, ACCOUNT_TEXTS))
  for place = 1, ACCOUNT_TEXTS do values[place] = values[place] or '' end
  return values
end

local function answer_of(found, session, above)
  return answer_with(found, account(session), above)
end

local function answer(status, session, ...)
  local above, lost = above_of(session)
  if not above then return {'orphan', redis.call('HGET', key('session', session), 'name'), lost} end
  return answer_of({status, ...}, renewed(session), above)
end

-- The answer about a running session of this name, if there is one.
local function answer_named(name)
  local session = session_of(name)
  return session and answer('ok', session) or {'none'}
end

local function is_settled(id) return redis.call('ZSCORE', prefix .. 'settled', id) end

-- Count tokens in one session: in its present period, also after its end.
local function count(session, tokens)
  local row = redis.call('HMGET', key('session', renewed(session)), 'name', 'ended_ms', 'period')
  -- A session that ended long ago is forgotten.
  if not row[1] then return end
  redis.call('HINCRBY', key('session', session), 'used', tokens)
  if row[2] then amend('past', session .. '.' .. (row[3] or '0'), tokens) end
end

-- Note that the model was shown tokens of a session, or take it back.
local function show(session, turn, tokens)
  local place = key('session', session)
  if redis.call('HEXISTS', place, 'name') == 0 then return end
  -- A context that was compacted since holds less than what is taken back.
  if redis.call('HINCRBY', place, 'window_used', tokens) < 0 then redis.call('HSET', place, 'window_used', 0) end
  if turn ~= '' then redis.call('HINCRBY', key('turns', session), turn, tokens) end
end

local function use(sessions, turn, tokens)
  for _, each in ipairs(sessions) do count(each, tokens) end
  show(sessions[1], turn, tokens)
end

local function split(ids)
  local found = {}
  for id in string.gmatch(ids, '%S+') do found[#found + 1] = id end
  return found
end

-- Reserve tokens in a session and in those above it, or free them if they are less than 0.
local function hold(sessions, turn, tokens)
  for place, each in ipairs(sessions) do
    -- A session that ended long ago is forgotten.
    if redis.call('HEXISTS', key('session', each), 'name') == 1 then
      redis.call('HINCRBY', key('session', each), 'reserved', tokens)
      if place > 1 then redis.call('HINCRBY', key('session', each), 'reserved_below', tokens) end
      if place == 1 and turn ~= '' then redis.call('HINCRBY', key('held', each), turn, tokens) end
    end
  end
end

-- Free a grant. Return its session and those above it, its turn and what it announced; nothing if it is gone.
local function free(id)
  local found = redis.call('HMGET', key('grant', id), 'session', 'tokens', 'turn', 'announced', 'above')
  if not found[1] then return end
  redis.call('DEL', key('grant', id))
  redis.call('ZREM', prefix .. 'leases', id)
  local sessions = split(found[1] .. ' ' .. found[5])
  hold(sessions, found[3], minus(found[2]))
  return sessions, found[3], found[4]
end

-- Free a grant that was not settled, and count what it announced. It may still be settled.
local function give_up(id)
  local sessions, turn, announced = free(id)
  if not sessions then return end
  use(sessions, turn, announced)
  local counted_in = {}
  for place, each in ipairs(sessions) do
    counted_in[place] = each .. '.' .. (redis.call('HGET', key('session', each), 'period') or '0')
  end
  redis.call('HSET', key('unsettled', id), 'turn', turn, 'tokens', announced,
    'counted_in', table.concat(counted_in, ' '))
  redis.call('PEXPIRE', key('unsettled', id), REMEMBERED_MS)
end

-- Replace what was counted for a grant that was given up, in the periods in which it was counted.
local function correct(counted_in, turn, before, tokens)
  local sessions, more = {}, text(tonumber(tokens) - tonumber(before))
  for place, id in ipairs(split(counted_in)) do
    local session, period = string.match(id, '(%d+)%.(%d+)')
    sessions[place] = renewed(session)
    if (redis.call('HGET', key('session', session), 'period') or '0') == period then
      count(session, more)
    else
      amend('periods', id, more)
    end
  end
  show(sessions[1], turn, minus(before))
  show(sessions[1], turn, tokens)
  return sessions
end

local function free_expired()
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'leases', '-inf', now, 'LIMIT', '0', '1000')) do
    give_up(id)
  end
end

local steps = {}

function steps.reserve(name, id, ...)
  local session = session_of(name)
  if not session then return {'none'} end
  -- The answer to an earlier attempt may have been lost.
  local held = redis.call('HGET', key('grant', id), 'granted')
  if held then return answer('again', session, held, '') end
  local above, lost = above_of(renewed(session))
  if not above then return {'orphan', name, lost} end
  return grant(session, redis.call('HMGET', key('session', session), unpack(ACCOUNT)), above, id, ...)
end

function steps.renew(id)
  local lease_ms = redis.call('HGET', key('grant', id), 'lease_ms')
  if lease_ms then redis.call('ZADD', prefix .. 'leases', text(now_ms + lease_ms), id) end
  return {'ok'}
end

function steps.announce(id, tokens)
  local announced = number(redis.call('HGET', key('grant', id), 'announced'))
  if announced and announced < tonumber(tokens) then redis.call('HSET', key('grant', id), 'announced', tokens) end
  return steps.renew(id)
end

function steps.settle(name, id, turn, tokens)
  if is_settled(id) then return answer_named(name) end
  local sessions, status = free(id), 'ok'
  if sessions then
    use(sessions, turn, tokens)
  else
    local before = redis.call('HMGET', key('unsettled', id), 'counted_in', 'turn', 'tokens')
    if before[1] then
      sessions = correct(before[1], before[2], before[3], tokens)
      redis.call('DEL', key('unsettled', id))
    else
      local session, above, lost = session_of(name), nil, nil
      if not session then return {'none'} end
      above, lost = above_of(session)
      if not above then return {'orphan', name, lost} end
      sessions, status = {session, unpack(above)}, 'unknown'
      use(sessions, turn, tokens)
    end
  end
  remember(id)
  return answer_of({status}, sessions[1], {unpack(sessions, 2)})
end

local function forget_shown(session)
  redis.call('DEL', key('shown', session), key('shown_order', session))
end

local SETTINGS = {'total', 'window', 'result_pct', 'turn_pct', 'floor', 'result_millionths', 'turn_millionths',
  'parent', 'renew'}

-- Start a session with settings that come in the order of SETTINGS.
local function begin(name, values)
  local session = redis.call('INCR', prefix .. 'last_session')
  redis.call('HSET', prefix .. 'names', name, session)
  local fields = {}
  for place, field in ipairs(SETTINGS) do
    if values[place] and values[place] ~= '' then
      fields[#fields + 1] = field; fields[#fields + 1] = values[place]
      if field == 'parent' then redis.call('SADD', key('children', values[place]), name) end
      if field == 'renew' then fields[#fields + 1] = 'period_ms'; fields[#fields + 1] = text(now_ms) end
    end
  end
  redis.call('HSET', key('session', session), 'name', name, 'created_ms', text(now_ms), 'context', 0,
    'used', 0, 'reserved', 0, 'window_used', 0, unpack(fields))
  return session
end

local function finish(session, name, how)
  local entry, id = past_entry(session, now_ms, how)
  keep('past', id, entry)
  local parent = redis.call('HGET', key('session', session), 'parent')
  if parent then redis.call('SREM', key('children', parent), name) end
  redis.call('HDEL', prefix .. 'names', name)
  redis.call('HSET', key('session', session), 'ended_ms', text(now_ms))
  -- Grants that are still held are settled in the session that made them.
  for _, kind in ipairs({'session', 'turns', 'held'}) do
    redis.call('PEXPIRE', key(kind, session), REMEMBERED_MS)
  end
  redis.call('DEL', key('records', session))
  forget_shown(session)
end

-- The names of all sessions below one.
local function names_below(name)
  local found, place = {name}, 1
  while found[place] do
    local below = redis.call('SMEMBERS', key('children', found[place]))
    table.sort(below)
    for _, each in ipairs(below) do found[#found + 1] = each end
    place = place + 1
  end
  table.remove(found, 1)
  return found
end

function steps.start(name, ...)
  local found = session_of(name)
  if found then return answer('exists', found) end
  local values = {...}
  if values[8] ~= '' then
    local parent = session_of(values[8])
    if not parent then return {'no_parent'} end
    if #(above_of(parent) or {}) >= MOST_ABOVE then return {'too_deep'} end
  end
  redis.call('HSET', KEYS[1], 'version', VERSION)
  return answer('ok', begin(name, values))
end

steps['end'] = function(name, id, tree)
  -- The answer to the first attempt may have been lost.
  local ended = redis.call('GET', key('ended', id))
  if ended then return answer_of({'ok'}, ended, above_of(ended) or {}) end
  local session = session_of(name)
  if not session then return {'none'} end
  local below = names_below(name)
  if #below > 0 and tree == '' then return {'children', unpack(below, 1, 10)} end
  local found = answer('ok', session)
  for _, each in ipairs(below) do finish(session_of(each), each, 'ended') end
  finish(session, name, 'ended')
  redis.call('SET', key('ended', id), session, 'PX', REMEMBERED_MS)
  return found
end

function steps.reset(name, id)
  local session = session_of(name)
  if not session then return {'none'} end
  if is_settled(id) then return answer('ok', session) end
  finish(renewed(session), name, 'reset')
  remember(id)
  return answer('ok', begin(name, redis.call('HMGET', key('session', session), unpack(SETTINGS))))
end

function steps.list()
  local found, ids = {'ok'}, {}
  for place, value in ipairs(redis.call('HVALS', prefix .. 'names')) do ids[place] = tonumber(value) end
  table.sort(ids)
  for _, session in ipairs(ids) do
    local row = redis.call('HMGET', key('session', session), 'name', 'created_ms')
    found[#found + 1] = row[1]
    found[#found + 1] = row[2]
    for _, value in ipairs(account(renewed(session))) do found[#found + 1] = value end
  end
  return found
end

function steps.held()
  local found, rows = {'ok'}, {}
  for _, id in ipairs(redis.call('ZRANGE', prefix .. 'leases', 0, MOST_LISTED - 1)) do
    local row = redis.call('HMGET', key('grant', id), 'session', 'tokens', 'announced', 'holder', 'since_ms')
    if row[1] then
      rows[#rows + 1] = {redis.call('HGET', key('session', row[1]), 'name') or '', row[2], row[3], row[4],
        text(now_ms - tonumber(row[5]))}
    end
  end
  table.sort(rows, function(one, other) return tonumber(one[5]) > tonumber(other[5]) end)
  for _, row in ipairs(rows) do
    for place = 1, 5 do found[#found + 1] = row[place] end
  end
  return found
end

function steps.history(name)
  for _, session in ipairs(redis.call('HVALS', prefix .. 'names')) do renewed(session) end
  local rows, found = {}, {'ok'}
  for _, kind in ipairs({'past', 'periods'}) do
    for _, value in ipairs(redis.call('HVALS', prefix .. kind)) do
      local entry = cjson.decode(value)
      if name == '' or entry[1] == name then rows[#rows + 1] = entry end
    end
  end
  table.sort(rows, function(one, other)
    if one[3] ~= other[3] then return tonumber(one[3]) < tonumber(other[3]) end
    return tonumber(one[2]) < tonumber(other[2])
  end)
  for number = math.max(#rows - MOST_LISTED + 1, 1), #rows do
    for place = 1, 6 do found[#found + 1] = rows[number][place] end
  end
  return found
end

function steps.release(name, id)
  give_up(id)
  return answer_named(name)
end

function steps.record(name, id, tokens, of_key)
  local session = session_of(name)
  if not session then return {'none'} end
  if is_settled(id) then return answer('ok', session) end
  local above, lost = above_of(session)
  if not above then return {'orphan', name, lost} end
  if of_key ~= '' and redis.call('SADD', key('records', session), of_key) == 0 then
    return answer('before', session)
  end
  for _, each in ipairs({session, unpack(above)}) do count(each, tokens) end
  local place = key('session', session)
  if number(redis.call('HGET', place, 'window_used')) < tonumber(tokens) then
    redis.call('HSET', place, 'window_used', tokens)
  end
  remember(id)
  return answer_of({'ok'}, session, above)
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
  return answer_named(name)
end

-- Take the step that was asked for.
if is_newer then return table.concat({'newer', meta[1], text(VERSION)}, '\0') end
if has_expired then free_expired() end
return table.concat(steps[ARGV[1]](unpack(ARGV, 2)), '\0')
