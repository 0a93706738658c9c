-- Prolongs a lease that is still its holder's.
-- KEYS due, leases; ARGV chain, token, end of the lease.
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then
    return 0
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
