-- Takes one from a bucket, of which the time is kept when it is full again. A time that no rate leads to
-- is that of another clock.
-- KEYS bucket; ARGV now, time of one, time of a filling. Answers whether there was one, and the time.
local now, one, filling = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full = tonumber(redis.call('GET', KEYS[1]))
if not full or full < now or full > now + 2 * filling then
    full = now
end
if full + one - now > filling then
    return {0, full}
end
full = full + one
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return {1, full}
