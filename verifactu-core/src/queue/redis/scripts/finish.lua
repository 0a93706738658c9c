-- Ends a lease that is still its holder's. The chain is due at the sooner of the time it is given back
-- for and the one that waited, or gone.
-- KEYS due, leases, waiting; ARGV chain, token, time or nothing, channel.
local chain, time = ARGV[1], ARGV[3]
if redis.call('HGET', KEYS[2], chain) ~= ARGV[2] then
    return 0
end
local waiting = redis.call('HGET', KEYS[3], chain)
redis.call('HDEL', KEYS[2], chain)
redis.call('HDEL', KEYS[3], chain)
if waiting and (time == '' or tonumber(waiting) < tonumber(time)) then
    time = waiting
end
if time == '' then
    redis.call('ZREM', KEYS[1], chain)
    return 0
end
redis.call('ZADD', KEYS[1], time, chain)
if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == chain then
    redis.call('PUBLISH', ARGV[4], '')
end
return 0
