-- Takes the chain that has been due longest. Its place among the due ones becomes the end of the lease.
-- KEYS due, leases, waiting; ARGV now, end of the lease, token.
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if not first[1] or tonumber(first[2]) > tonumber(ARGV[1]) then
    return false
end
redis.call('ZADD', KEYS[1], ARGV[2], first[1])
redis.call('HSET', KEYS[2], first[1], ARGV[3])
redis.call('HDEL', KEYS[3], first[1])
return first[1]
