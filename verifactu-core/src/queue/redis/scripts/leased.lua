-- When the lease on a chain ends, or nothing.
-- KEYS due, leases; ARGV chain.
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then
    return false
end
return redis.call('ZSCORE', KEYS[1], ARGV[1])
