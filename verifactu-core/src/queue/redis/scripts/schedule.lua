-- Makes a chain due at a time, or earlier if it already was. While it is taken, the time waits beside
-- the lease. Sleepers are told only of a chain that comes before all others.
-- KEYS due, leases, waiting; ARGV chain, time, channel.
local chain, time = ARGV[1], ARGV[2]
local at = redis.call('ZSCORE', KEYS[1], chain)
if at and redis.call('HEXISTS', KEYS[2], chain) == 1 then
    local waiting = redis.call('HGET', KEYS[3], chain)
    if not waiting or tonumber(time) < tonumber(waiting) then
        redis.call('HSET', KEYS[3], chain, time)
    end
    return 0
end
if at and tonumber(at) <= tonumber(time) then
    return 0
end
redis.call('ZADD', KEYS[1], time, chain)
-- What an eviction may have left of an older lease.
redis.call('HDEL', KEYS[2], chain)
redis.call('HDEL', KEYS[3], chain)
if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == chain then
    redis.call('PUBLISH', ARGV[3], '')
end
return 0
