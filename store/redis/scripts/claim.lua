-- Says whose prefix this is: the bot's id for an account.
redis.call('HSETNX', KEYS[1], 'bot:' .. ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], 'bot:' .. ARGV[1])
