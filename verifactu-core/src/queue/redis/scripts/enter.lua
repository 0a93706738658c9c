-- Marks a request as under way, unless another holder has.
-- KEYS mark; ARGV holder, now, end, life in milliseconds.
local mark = redis.call('GET', KEYS[1])
if mark then
    local holder, till = string.match(mark, '^([^:]*):(%d+)$')
    if holder ~= ARGV[1] and tonumber(till) > tonumber(ARGV[2]) then
        return 0
    end
end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[3], 'PX', ARGV[4])
return 1
