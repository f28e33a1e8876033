package redis

import (
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	dialTimeout = 2 * time.Second
	// callTimeout bounds one attempt. It is long beside a slow disk's fsync and
	// short beside a lease.
	callTimeout = 3 * time.Second
	poolSize    = 32
	bufferSize  = 8 << 10
)

// connect makes the client; it dials when first used. The library's own retries
// are off: it would repeat what must not be repeated blindly, and not what must.
func connect(t *target) (client goredis.UniversalClient) {
	o := &goredis.UniversalOptions{
		Addrs: t.addrs, Username: t.user, Password: t.password, DB: t.db,
		MasterName: t.master, SentinelUsername: t.sentinelUser, SentinelPassword: t.sentinelPassword,
		TLSConfig: t.tls, IsClusterMode: t.kind == "cluster",

		Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, ContextTimeoutEnabled: true,
		DialTimeout: dialTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout, PoolTimeout: callTimeout,
		DialerRetries: 1,
		PoolSize:      poolSize, ConnMaxIdleTime: 5 * time.Minute,
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
		PipelineReadBufferSize: bufferSize, PipelineWriteBufferSize: bufferSize,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch t.kind {
	case "sentinel":
		return goredis.NewFailoverClient(o.Failover())
	case "cluster":
		return goredis.NewClusterClient(o.Cluster())
	}
	return goredis.NewClient(o.Simple())
}
