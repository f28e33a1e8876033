#!/bin/sh
# Starts a Redis that loses nothing that it has acknowledged.
set -eu
cd "${REDIS_DATA:-/data}"

# A power cut can leave half a transaction at the end of the log. Redis drops
# what is torn, but the start after that would execute the half that is left:
# so the log is cut back to its last whole transaction first.
if [ -f appendonlydir/appendonly.aof.manifest ]; then
  yes | redis-check-aof --fix appendonlydir/appendonly.aof.manifest
fi

exec redis-server \
  --appendonly yes \
  --appendfsync always \
  --maxmemory-policy noeviction \
  --maxmemory "${REDIS_MAXMEMORY:-512mb}" \
  --save "" \
  ${REDIS_PASSWORD:+--requirepass "$REDIS_PASSWORD"} \
  "$@"
