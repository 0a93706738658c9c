-- When the first chain is due, or nothing.
-- KEYS due.
return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
