-- Takes a mark away that is still its holder's.
-- KEYS mark; ARGV holder.
local mark = redis.call('GET', KEYS[1])
if mark and string.match(mark, '^[^:]*') == ARGV[1] then
    redis.call('DEL', KEYS[1])
end
return 0
